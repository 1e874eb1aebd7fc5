import subprocess
import sys

import pytest

from barnabas.base.errors import ErrorCode, InvalidRegularExpression
from barnabas.base.topic_regex import MAX_PATTERN_BYTES, compile_topic_regex

NAMES = [
    "orders",
    "orders-1",
    "orders.eu",
    "payments",
    "ORDERS",
    "a",
    "aa",
    "ab",
    "x-y_z.9",
    "__consumer_offsets",
]


# What RE2/J 1.8, Kafka's library, matches of the same names.
@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("orders", {"orders"}),
        ("order", set()),
        ("ders$", set()),
        ("^orders$", {"orders"}),
        ("orders.*", {"orders", "orders-1", "orders.eu"}),
        (r"orders\..*", {"orders.eu"}),
        ("orders|payments", {"orders", "payments"}),
        ("a|ab", {"a", "ab"}),
        ("(?i)orders", {"orders", "ORDERS"}),
        ("a{1,}", {"a", "aa"}),
        (r"\Qorders.eu\E", {"orders.eu"}),
        (r"\p{Lu}+", {"ORDERS"}),
        ("__.*", {"__consumer_offsets"}),
        (r"[\w.-]+", set(NAMES)),
        ("(?P<region>a)b", {"ab"}),
        ("", set()),
    ],
)
def test_whole_names_are_matched(pattern: str, expected: set[str]) -> None:
    assert compile_topic_regex(pattern).matching(NAMES) == expected


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("(a", "missing )"),
        ("[a", "missing ]"),
        ("*", "no argument for repetition operator"),
        ("a**", "bad repetition operator"),
        ("a{1001}", "invalid repetition size"),
        ("[z-a]", "invalid character class range"),
        (r"\1", "invalid escape sequence"),
        ("(?=a)", "invalid perl operator"),
        ("(?<!a)b", "invalid"),
        ("\\", "trailing \\"),
        ("a\ud800", "not Unicode text"),
    ],
)
def test_invalid_pattern_is_refused_with_the_reason(pattern: str, reason: str) -> None:
    with pytest.raises(InvalidRegularExpression, match=r"SubscribedTopicRegex `.*` is not a valid") as caught:
        compile_topic_regex(pattern)
    assert caught.value.code is ErrorCode.invalid_regular_expression
    assert reason in caught.value.message


def test_invalid_pattern_writes_nothing_to_the_terminal(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(InvalidRegularExpression):
        compile_topic_regex("(quiet")
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    "pattern",
    [
        "x" * (MAX_PATTERN_BYTES + 1),
        "é" * (MAX_PATTERN_BYTES // 2 + 1),
        "(?:[a-z]?[m-z]?){500}" * 5,
        r"\pL{1000}",
    ],
    ids=["long", "long in bytes", "large program", "too large for RE2"],
)
def test_pattern_that_costs_too_much_is_refused_shortly(pattern: str) -> None:
    with pytest.raises(InvalidRegularExpression) as caught:
        compile_topic_regex(pattern)
    assert len(caught.value.message) < 600


def test_longest_pattern_is_accepted() -> None:
    name = "x" * MAX_PATTERN_BYTES
    assert compile_topic_regex(name).matching([name, "x"]) == {name}


@pytest.mark.parametrize("pattern", ["(a*)*b", "(a|a)*b", "(a|aa)+b", "(.*a){20}b"])
def test_pattern_that_would_make_a_backtracking_matcher_hang_is_harmless(pattern: str) -> None:
    assert compile_topic_regex(pattern).matching(["a" * 249, "a" * 20 + "b"]) == {"a" * 20 + "b"}


def test_same_pattern_may_be_used_again_and_knows_its_text() -> None:
    regex = compile_topic_regex("a+")
    assert regex.pattern == "a+"
    assert regex.matching(name for name in ["a", "b"]) == {"a"}
    assert regex.matching([]) == frozenset()


def test_the_library_is_loaded_with_the_first_pattern_only() -> None:
    script = (
        "import sys, barnabas.base.topic_regex as t; assert 're2' not in sys.modules;"
        "t.compile_topic_regex('a'); assert 're2' in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
