"""How the Markdown files are written: lines wrap at 120 columns, and the front page is short."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from barnabas import __version__

_ROOT = Path(__file__).parents[3]
_COLUMNS = 120
_FRONT_PAGE_LINES = 150


def _pages() -> list[str]:
    """Every page of the project; pipelines/ is a link to the package."""
    folders = ("docs", "src", "benchmarks", "tests", "config")
    found = [*_ROOT.glob("*.md"), *(path for folder in folders for path in (_ROOT / folder).rglob("*.md"))]
    return sorted(str(path.relative_to(_ROOT)) for path in found)


def long_lines(text: str) -> Iterator[int]:
    """The numbers of lines that should be wrapped. Rows of tables, code and single words cannot be."""
    is_code = False
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        if stripped.startswith("```"):
            is_code = not is_code
        words = re.sub(r"`[^`]*`", "`", stripped.removeprefix("- ")).split()
        if len(line) > _COLUMNS and not is_code and not stripped.startswith("|") and len(words) > 1:
            yield number


@pytest.mark.parametrize("page", _pages())
def test_lines_are_wrapped(page: str) -> None:
    assert list(long_lines((_ROOT / page).read_text())) == []


def test_finds_a_long_line_of_text_only() -> None:
    long = "word " * 30
    page = f"# Title\n\n{long}\n- {long}\n| {long} |\n```sh\n{long}\n```\nhttps://host/{'x' * 120}\n{long}\n"
    assert list(long_lines(page)) == [3, 4, 10]


def test_front_page_is_short() -> None:
    assert len((_ROOT / "README.md").read_text().splitlines()) <= _FRONT_PAGE_LINES


def test_changelog_has_the_released_version_behind_what_is_not_released() -> None:
    headings = re.findall(r"^## (.+)$", (_ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert headings[0] == "[Unreleased]"
    assert re.fullmatch(rf"\[{re.escape(__version__)}\] - \d{{4}}-\d\d-\d\d", headings[1])
