"""The consumption rate of a group, and the time until it has caught up, from repeated samples of its lag.

Members commit every few seconds, so the rate between two samples jumps. Rates are computed over the last
`WINDOW` seconds.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from barnabas.client.admin.group_lag import PartitionLag

WINDOW = 15.0


@dataclass(frozen=True, slots=True)
class PartitionProgress:
    of: "PartitionLag"
    rate: float | None
    """Records per second. None after the first sample."""
    catch_up: float | None
    """Seconds until the partition has no lag. None if the lag does not shrink or is unknown."""


@dataclass(frozen=True, slots=True)
class _Sample:
    at: float
    offsets: dict[tuple[str, int], tuple[int, int]]
    """Committed offset and end offset of each partition with both."""


class ProgressMeter:
    def __init__(self) -> None:
        self._samples: deque[_Sample] = deque()

    def sample(self, rows: "Sequence[PartitionLag]", now: float) -> list[PartitionProgress]:
        """Adds a sample and returns the progress of each partition. `now` is monotonic."""
        offsets = {
            (row.topic, row.partition): (row.current, row.end)
            for row in rows
            if row.current is not None and row.end is not None
        }
        while len(self._samples) > 1 and now - self._samples[0].at > WINDOW:
            self._samples.popleft()
        before = self._samples[0] if self._samples else None
        self._samples.append(_Sample(now, offsets))
        return [_progress(row, before, now) for row in rows]


def _progress(row: "PartitionLag", before: _Sample | None, now: float) -> PartitionProgress:
    known = None if before is None else before.offsets.get((row.topic, row.partition))
    if row.lag is None or row.current is None or row.end is None:
        return PartitionProgress(row, None, None)
    caught_up = 0.0 if row.lag <= 0 else None
    if before is None or known is None or now <= before.at:
        return PartitionProgress(row, None, caught_up)
    passed = now - before.at
    rate, growth = (row.current - known[0]) / passed, (row.end - known[1]) / passed
    if caught_up is None and rate > growth:
        caught_up = round(row.lag / (rate - growth), 1)
    return PartitionProgress(row, round(rate, 1), caught_up)


def total_rate(rows: Sequence[PartitionProgress]) -> float | None:
    known = [row.rate for row in rows if row.rate is not None]
    return round(sum(known), 1) if known else None


def total_catch_up(rows: Sequence[PartitionProgress]) -> float | None:
    """Seconds until the last partition has caught up. None if one does not catch up."""
    counted = [row.catch_up for row in rows if row.of.lag is not None]
    return None if not counted or None in counted else max(each for each in counted if each is not None)
