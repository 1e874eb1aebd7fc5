import pytest

from barnabas.cli.kafka.configuration.altering import parse_pairs, parse_quota
from barnabas.cli.tool_errors import ToolError


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a=1", {"a": "1"}),
        ("a=1,b=[x,y],c=", {"a": "1", "b": "x,y", "c": ""}),
        (" a = 1 ,b=2,", {"a": "1", "b": "2"}),
        ("S=[iterations=8192,password=x]", {"S": "iterations=8192,password=x"}),
        ("a=[x,y],b=[z]", {"a": "x,y", "b": "z"}),
        ("a=1,a=2", {"a": "2"}),
    ],
)
def test_pairs_are_split_outside_brackets(text: str, expected: dict[str, str]) -> None:
    assert parse_pairs(text) == expected


@pytest.mark.parametrize("text", ["a", "", "a=1,b", "a=1=2", "a=x,y"])
def test_what_is_no_pair_is_refused(text: str) -> None:
    with pytest.raises(ToolError, match=r"^requirement failed: Invalid entity config"):
        parse_pairs(text)


@pytest.mark.parametrize(
    ("text", "value"), [("10", 10.0), ("1e6", 1e6), (".5", 0.5), ("3d", 3.0), ("-1", -1.0)]
)
def test_quotas_are_numbers_as_java_reads_them(text: str, value: float) -> None:
    assert parse_quota("k", text) == value


@pytest.mark.parametrize("text", ["", "x", "1_000", "inf", "1,5"])
def test_a_quota_that_is_no_number_is_refused(text: str) -> None:
    with pytest.raises(ToolError, match=rf"^Cannot parse quota configuration value for k: {text}$"):
        parse_quota("k", text)
