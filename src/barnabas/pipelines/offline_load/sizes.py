"""How many files a batch becomes, so that each is near the target. Numbers only, no Spark."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

USUAL_RATIO = 0.4
"""Bytes of a Parquet file per byte of records, before a batch of the table has shown it."""


@dataclass(frozen=True, slots=True)
class Slice:
    """What a batch has for one partition (an hour) of the table."""

    rows: int
    raw_bytes: int


@dataclass(frozen=True, slots=True)
class Layout:
    files_per_hour: int
    """The most that any hour needs."""
    records_per_file: int
    hours: int

    @property
    def tasks(self) -> int:
        return self.hours * self.files_per_hour


def ratio_of(written: Iterable[tuple[int, int]]) -> float:
    """From (raw bytes, bytes of files) of earlier batches."""
    pairs = [(raw, size) for raw, size in written if raw > 0 and size > 0]
    if not pairs:
        return USUAL_RATIO
    return sum(size for _, size in pairs) / sum(raw for raw, _ in pairs)


def layout(slices: Sequence[Slice], target_bytes: int, ratio: float) -> Layout:
    rows = max(1, sum(each.rows for each in slices))
    of_row = max(1.0, sum(each.raw_bytes for each in slices) * ratio / rows)
    most = max([each.raw_bytes * ratio / target_bytes for each in slices] or [0.0])
    return Layout(max(1, math.ceil(most * 0.9)), max(1, round(target_bytes / of_row)), max(1, len(slices)))
