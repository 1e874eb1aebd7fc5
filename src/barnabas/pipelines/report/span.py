"""The stretch of time that the page draws, found from the names of the tables' hours.

One event with a wrong clock (a log line dated 1970) must not squeeze everything else into one point. Hours
are split where nothing happened for 30 days; the part with the most hours is drawn, the newest among equals.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

_HOUR = 3600
_DAY = 24 * _HOUR
_LONGEST_SILENCE = 30 * _DAY
_POINTS = 150
_WIDTHS = (60, 120, 300, 600, 900, 1800, _HOUR, 2 * _HOUR, 6 * _HOUR, _DAY)
_PARTITION = re.compile(r"date=(\d{4}-\d\d-\d\d)/hour=(\d{1,2})")


@dataclass(frozen=True, slots=True)
class Span:
    """Seconds since 1970."""

    first: int
    last: int
    """Exclusive: the end of its last hour."""
    left_out: tuple[int, ...] = ()
    """Beginnings of hours with rows that are not drawn."""

    @property
    def seconds(self) -> int:
        return self.last - self.first

    @property
    def remark(self) -> str:
        """What the page says of the hours that are not drawn; nothing if all are."""
        if not self.left_out:
            return ""
        hours = "1 hour" if len(self.left_out) == 1 else f"{len(self.left_out):,} hours"
        earliest, latest = min(self.left_out), max(self.left_out)
        between = _day(earliest) if _day(earliest) == _day(latest) else f"{_day(earliest)} to {_day(latest)}"
        return f"Not drawn: rows of {hours} far from the others ({between}). They are in no plot over time."


def span_of(partitions: Iterable[str]) -> Span | None:
    """Of names like `date=2026-11-16/hour=9`; None where no name is one."""
    found = {_begin(match) for name in partitions if (match := _PARTITION.search(name))}
    hours = sorted(hour for hour in found if hour is not None)
    if not hours:
        return None
    parts = [[hours[0]]]
    for hour in hours[1:]:
        if hour - parts[-1][-1] > _LONGEST_SILENCE:
            parts.append([])
        parts[-1].append(hour)
    drawn = max(parts, key=lambda part: (len(part), part[0]))
    left_out = tuple(hour for part in parts if part is not drawn for hour in part)
    return Span(drawn[0], drawn[-1] + _HOUR, left_out)


def bucket_for(seconds: float) -> int:
    """The smallest width that makes no more points than a plot can show; whole days beyond one day."""
    fitting = (width for width in _WIDTHS if seconds / width <= _POINTS)
    return next(fitting, -(-int(seconds) // (_POINTS * _DAY)) * _DAY)


def _begin(match: "re.Match[str]") -> int | None:
    try:
        day = datetime.strptime(match[1], "%Y-%m-%d").replace(tzinfo=UTC)
    except ValueError:
        return None
    return int(day.timestamp()) + int(match[2]) * _HOUR


def _day(time: int) -> str:
    return f"{datetime.fromtimestamp(time, UTC):%Y-%m-%d}"
