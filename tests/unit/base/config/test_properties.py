from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.base.config.properties import load_properties, parse_properties
from barnabas.base.errors import InvalidConfig


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("a=b", {"a": "b"}),
        ("a = b", {"a": "b"}),
        ("a:b", {"a": "b"}),
        ("a b", {"a": "b"}),
        ("  a\t=\tb c ", {"a": "b c "}),
        ("a", {"a": ""}),
        ("a=", {"a": ""}),
        ("a==b", {"a": "=b"}),
        ("a = = b", {"a": "= b"}),
        ("=b", {"": "b"}),
        (r"a\=b=c", {"a=b": "c"}),
        (r"a\ b c", {"a b": "c"}),
        (r"a=\u00e9\t\n\\\q", {"a": "\xe9\t\n\\q"}),
        ("# a=b", {}),
        ("  ! a=b", {}),
        ("", {}),
    ],
)
def test_lines_read_as_java_reads_them(line: str, expected: dict[str, str]) -> None:
    assert parse_properties(line) == expected


def test_backslash_continues_a_line_and_drops_the_next_indent() -> None:
    assert parse_properties("a=b,\\\n    c,\\\n  d\ne=f") == {"a": "b,c,d", "e": "f"}


def test_even_backslashes_do_not_continue_a_line() -> None:
    assert parse_properties("a=b\\\\\nc=d") == {"a": "b\\", "c": "d"}


def test_comment_line_is_not_continued() -> None:
    assert parse_properties("# comment \\\na=b") == {"a": "b"}


def test_continuation_at_the_end_of_the_file_is_kept() -> None:
    assert parse_properties("a=b\\") == {"a": "b"}


def test_last_of_equal_keys_wins() -> None:
    assert parse_properties("a=1\na=2") == {"a": "2"}


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_every_line_end_is_understood(end: str) -> None:
    assert parse_properties(f"a=1{end}b=2{end}") == {"a": "1", "b": "2"}


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("a=24*7   # a week", "24*7"),
        ("a=b\t# c", "b"),
        ("a= # nothing", ""),
        ("a=#b", "#b"),
        ("a=b#c", "b#c"),
        (r"a=b \# c", "b # c"),
        ('a=password="x #y"; # end', 'password="x #y";'),
    ],
)
def test_hash_after_white_space_ends_a_value(line: str, value: str) -> None:
    assert parse_properties(line) == {"a": value}


def test_malformed_unicode_escape_names_the_line() -> None:
    with pytest.raises(InvalidConfig, match=r"server.properties, line 2: "):
        parse_properties("a=b\nc=\\u00g1", source="server.properties")


def test_file_is_utf8_or_else_latin1(tmp_path: Path) -> None:
    path = tmp_path / "server.properties"
    path.write_bytes("a=日本".encode())
    assert load_properties(path) == {"a": "日本"}
    path.write_bytes("a=é".encode("iso-8859-1"))
    assert load_properties(path) == {"a": "é"}


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        properties = parse_properties(text)
    except InvalidConfig:
        properties = {}
    assert all(isinstance(value, str) for value in properties.values())
