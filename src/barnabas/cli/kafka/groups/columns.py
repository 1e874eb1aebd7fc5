"""Columns as Kafka's tools print them: left-justified, a space apart, some as wide as their widest cell."""

from collections.abc import Sequence
from dataclasses import dataclass

MISSING = "-"


@dataclass(frozen=True, slots=True)
class Column:
    title: str
    values: Sequence[object]
    """One for each line; None is shown as `-`."""
    width: int = 0
    """The minimum width. A last column without one has no trailing spaces."""
    grows: bool = False


def lines_of(columns: Sequence[Column]) -> list[str]:
    """The titles, and a line for each value."""
    padded = [_padded(column) for column in columns]
    return [" ".join(cells) for cells in zip(*padded, strict=True)]


def _padded(column: Column) -> list[str]:
    cells = [MISSING if value is None else str(value) for value in column.values]
    width = max([column.width, *map(len, cells)]) if column.grows else column.width
    return [cell.ljust(width) for cell in (column.title, *cells)]
