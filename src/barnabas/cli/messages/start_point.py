"""Parses the start of reading: beginning, end, an offset, a time, or an age."""

import datetime as dt
import re
from dataclasses import dataclass

_AGO = re.compile(r"-(\d+(?:\.\d+)?)(ms|s|m|h|d|w)")
_MILLISECONDS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}


class BadStart(Exception):
    """The text is not a valid start."""


@dataclass(frozen=True, slots=True)
class StartPoint:
    """One of: the beginning (nothing set), the end, an offset, a time."""

    is_end: bool = False
    offset: int | None = None
    timestamp_ms: int | None = None

    @property
    def is_beginning(self) -> bool:
        return not self.is_end and self.offset is None and self.timestamp_ms is None


def parse_start(text: str, now_ms: int) -> StartPoint:
    """Raises BadStart. A time without a zone is local time."""
    word = text.strip().lower()
    if word in ("beginning", "earliest"):
        return StartPoint()
    if word in ("end", "latest"):
        return StartPoint(is_end=True)
    if word.isascii() and word.isdigit():
        return StartPoint(offset=int(word))
    ago = _AGO.fullmatch(word)
    if ago is not None:
        return StartPoint(timestamp_ms=max(0, now_ms - int(float(ago[1]) * _MILLISECONDS[ago[2]])))
    try:
        moment = dt.datetime.fromisoformat(text.strip())
        return StartPoint(timestamp_ms=max(0, int(moment.timestamp() * 1000)))
    except (ValueError, OverflowError):
        raise BadStart(
            f"{text!r} is not a valid start: expected beginning, end, an offset, a time "
            "(2024-05-01T10:00) or an age (-1h, -30m)"
        ) from None
