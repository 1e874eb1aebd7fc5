"""How fast a group reads, and when it will have caught up: rates from looking at it again and again.

Members commit every few seconds, so two looks in a row would show nothing and then a leap: rates are taken
over the last `WINDOW` seconds.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from barnabas.client.admin.group_lag import PartitionLag

WINDOW = 15.0
_UNITS = (("d", 86_400), ("h", 3600), ("m", 60), ("s", 1))


class Seconds(float):
    """A number in JSON, `2m 5s` for people."""

    def __str__(self) -> str:
        left = round(self)
        parts = []
        for unit, size in _UNITS:
            count, left = divmod(left, size)
            if count:
                parts.append(f"{count}{unit}")
        return " ".join(parts[:2]) or "0s"


@dataclass(frozen=True, slots=True)
class Progress:
    of: "PartitionLag"
    rate: float | None
    """Records read in a second; None while there is one look only."""
    catch_up: Seconds | None
    """None where the group does not gain, and where nobody knows."""


@dataclass(frozen=True, slots=True)
class _Look:
    at: float
    offsets: dict[tuple[str, int], tuple[int, int]]
    """What was committed and where the partition ended, where both are known."""


class ProgressMeter:
    def __init__(self) -> None:
        self._looks: deque[_Look] = deque()

    def look(self, rows: "Sequence[PartitionLag]", now: float) -> list[Progress]:
        """The progress of each partition up to this look at the group; `now` never goes back."""
        offsets = {
            (row.topic, row.partition): (row.current, row.end)
            for row in rows
            if row.current is not None and row.end is not None
        }
        while len(self._looks) > 1 and now - self._looks[0].at > WINDOW:
            self._looks.popleft()
        before = self._looks[0] if self._looks else None
        self._looks.append(_Look(now, offsets))
        return [_progress(row, before, now) for row in rows]


def _progress(row: "PartitionLag", before: _Look | None, now: float) -> Progress:
    known = None if before is None else before.offsets.get((row.topic, row.partition))
    if row.lag is None or row.current is None or row.end is None:
        return Progress(row, None, None)
    caught_up = Seconds(0) if row.lag <= 0 else None
    if before is None or known is None or now <= before.at:
        return Progress(row, None, caught_up)
    passed = now - before.at
    rate, growth = (row.current - known[0]) / passed, (row.end - known[1]) / passed
    if caught_up is None and rate > growth:
        caught_up = Seconds(round(row.lag / (rate - growth), 1))
    return Progress(row, round(rate, 1), caught_up)


def total_rate(rows: Sequence[Progress]) -> float | None:
    known = [row.rate for row in rows if row.rate is not None]
    return round(sum(known), 1) if known else None


def total_catch_up(rows: Sequence[Progress]) -> Seconds | None:
    """When the last partition is done; None if one does not get there."""
    counted = [row.catch_up for row in rows if row.of.lag is not None]
    return None if not counted or None in counted else max(each for each in counted if each is not None)
