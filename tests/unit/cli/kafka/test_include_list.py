import pytest

from barnabas.cli.kafka.include_list import IncludeList
from barnabas.cli.tool_errors import ToolError


@pytest.mark.parametrize(
    ("text", "allowed", "refused"),
    [
        ("orders", "orders", "orders2"),
        ("orders", "orders", "my-orders"),
        ("a,b", "b", "ab"),
        (" a , b ", "a", "c"),
        ("'a.*'", "abc", "ba"),
        ('"a|b"', "b", "c"),
        (".*", "anything", "\n"),
        ("test[0-9]+", "test12", "test"),
    ],
)
def test_whole_names_are_matched(text: str, allowed: str, refused: str) -> None:
    included = IncludeList(text)
    assert included.allows(allowed)
    assert not included.allows(refused)


def test_what_is_no_expression_is_an_error() -> None:
    with pytest.raises(ToolError, match=r"^\[a is an invalid regex\.$"):
        IncludeList("[a")
