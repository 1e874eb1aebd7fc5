import pytest

from barnabas.base.errors import InvalidRegularExpression
from barnabas.base.pattern_cost import estimated_cost
from barnabas.base.topic_regex import MAX_PROGRAM_SIZE, compile_topic_regex


@pytest.mark.parametrize(
    "pattern",
    [
        "x?" * 4000,
        "x{0,1000}" * 5,
        "x{0,9}" * 1300,
        "((x{0,31}){0,31})" * 100,
        r"\pL" * 2700,
        r"(?i)" + r"\pL*" * 1900,
        "[" + r"\pL" * 2700 + "]",
        "[^" + r"\PL" * 2700 + "]",
        ".{0,249}" * 20,
        "(x?){1000}" * 8,
    ],
)
def test_pattern_that_takes_long_to_compile_is_refused_before(
    pattern: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import re2  # type: ignore[import-untyped]

    def compiled(*_: object) -> None:
        raise AssertionError("it was compiled")

    monkeypatch.setattr(re2, "compile", compiled)
    with pytest.raises(InvalidRegularExpression, match="instructions"):
        compile_topic_regex(pattern)


@pytest.mark.parametrize(
    "pattern",
    [
        "",
        "orders",
        r"^(orders|payments)-[a-z0-9]{3,20}\.(dead-letter|retry)?.*$",
        "(?i)audit.*",
        r"\pL+-\d+",
        "[^.]+[.]events",
        "|".join(f"topic-{number:04}" for number in range(740)),
        "a{,3}",
        "[]a]",
        "((a",
        "a)",
        "\\",
        "[a",
    ],
)
def test_ordinary_pattern_is_far_below_the_limit(pattern: str) -> None:
    assert estimated_cost(pattern) <= max(MAX_PROGRAM_SIZE // 5, len(pattern))


def test_nested_repetitions_multiply() -> None:
    assert estimated_cost("(x{10}){10}") >= 100
    assert estimated_cost("(ab){100}") >= 200
