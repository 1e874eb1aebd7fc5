import pytest

from barnabas.cli.kafka.get_offsets import parse_rules, parse_time
from barnabas.cli.tool_errors import ToolError


def _allowed(text: str, topics: str = "a b", partitions: int = 6) -> list[str]:
    rules = parse_rules(text)
    return [
        f"{topic}{number}"
        for topic in topics.split()
        for number in range(partitions)
        if any(rule.allows(topic, number) for rule in rules)
    ]


@pytest.mark.parametrize(
    ("text", "allowed"),
    [
        ("a:3", "a3"),
        ("a:2-4", "a2 a3"),
        ("a:4-", "a4 a5"),
        ("a:-2", "a0 a1"),
        ("a:3-3", ""),
        ("a:0,b:5", "a0 b5"),
        (":5", "a5 b5"),
        ("[ab]:1", "a1 b1"),
        ("a:", "a0 a1 a2 a3 a4 a5"),
        ("a:-", "a0 a1 a2 a3 a4 a5"),
        ("b", "b0 b1 b2 b3 b4 b5"),
        ("b,,", "b0 b1 b2 b3 b4 b5"),
        ("c:1", ""),
    ],
)
def test_pattern_allows_partitions(text: str, allowed: str) -> None:
    assert _allowed(text) == allowed.split()


def test_empty_pattern_between_others_allows_everything() -> None:
    assert len(_allowed("a:0,,b:1")) == 12


@pytest.mark.parametrize("text", ["a:b", "a:1-2-3", "a:1:2", "a:0,b:x"])
def test_pattern_that_is_none_is_named(text: str) -> None:
    with pytest.raises(ToolError, match=r"Invalid rule specification: \w:"):
        parse_rules(text)


def test_topic_that_is_no_expression_is_refused() -> None:
    with pytest.raises(ToolError, match=r"is an invalid regex"):
        parse_rules("(:0")


@pytest.mark.parametrize(
    ("text", "timestamp"),
    [
        ("latest", -1),
        ("earliest", -2),
        ("max-timestamp", -3),
        ("earliest-local", -4),
        ("latest-tiered", -5),
        ("earliest-pending-upload", -6),
        ("-6", -6),
        ("-7", -7),
        ("+5", 5),
        ("1700000000000", 1700000000000),
    ],
)
def test_time_by_name_or_number(text: str, timestamp: int) -> None:
    assert parse_time(text) == timestamp


@pytest.mark.parametrize("text", ["", "LATEST", "1_000", "1.5", "now"])
def test_time_that_is_malformed_lists_the_names(text: str) -> None:
    with pytest.raises(
        ToolError, match=r"^Malformed time argument .*\. Please use -1 or latest / -2 or earl"
    ):
        parse_time(text)
