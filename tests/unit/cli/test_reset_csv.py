import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.cli.reset_csv import BadResetFile, ResetLine, from_csv, to_csv


def test_plan_of_one_group_has_no_group_in_its_lines() -> None:
    lines = [ResetLine("g", "a", 0, 5), ResetLine("g", "b.c-d_e", 1, 0)]
    assert to_csv(lines, with_group=False) == "a,0,5\nb.c-d_e,1,0\n"


def test_plan_of_several_groups_has_the_group_in_front() -> None:
    assert to_csv([ResetLine("g", "a", 0, 5)], with_group=True) == "g,a,0,5\n"


@pytest.mark.parametrize(
    ("group", "text"),
    [
        ("x" * 24, "x" * 24),
        ("x" * 25, '"' + "x" * 25 + '"'),
        ("a b", '"a b"'),
        ('a"b', '"a""b"'),
        ("a,b", '"a,b"'),
    ],
)
def test_word_is_quoted_when_it_is_long_or_has_a_dangerous_character(group: str, text: str) -> None:
    assert to_csv([ResetLine(group, "t", 0, 1)], with_group=True) == f"{text},t,0,1\n"


def test_short_lines_are_for_the_only_group() -> None:
    assert from_csv("a,0,5\nb,1,6\n", ["g"]) == {"g": {("a", 0): 5, ("b", 1): 6}}


def test_long_lines_are_for_their_groups_also_if_one_is_requested() -> None:
    text = "g,a,0,5\nh,a,0,7\n"
    assert from_csv(text, ["g"]) == from_csv(text, ["g", "h"]) == {"g": {("a", 0): 5}, "h": {("a", 0): 7}}


def test_line_without_an_end_and_empty_lines_do_no_harm() -> None:
    assert from_csv("a, 0, 5\r\n\na,1,6", ["g"]) == {"g": {("a", 0): 5, ("a", 1): 6}}


def test_empty_file_is_an_empty_plan() -> None:
    assert from_csv("", ["g"]) == {}


@pytest.mark.parametrize("text", ["a,0,5\na,x,5\n", "a,0,5\na,1\n", "a,0,5\ng,a,1,5\n"])
def test_bad_line_is_named(text: str) -> None:
    with pytest.raises(BadResetFile, match="line 2 is not topic,partition,offset: "):
        from_csv(text, ["g"])


def test_short_lines_cannot_be_for_several_groups() -> None:
    with pytest.raises(BadResetFile, match="line 1 is not group,topic,partition,offset: a,0,5"):
        from_csv("a,0,5\n", ["g", "h"])


_NAMES = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Zl", "Zp"]), min_size=1).filter(
    lambda text: text == text.strip()
)


@given(st.lists(st.builds(ResetLine, _NAMES, _NAMES, st.integers(0, 99), st.integers(0)), min_size=1))
def test_what_is_exported_can_be_read_again(lines: list[ResetLine]) -> None:
    plan: dict[str, dict[tuple[str, int], int]] = {}
    for line in lines:
        plan.setdefault(line.group, {})[line.topic, line.partition] = line.offset
    assert from_csv(to_csv(lines, with_group=True), ["several", "groups"]) == plan
