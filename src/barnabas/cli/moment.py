"""Parses points in time: a date, a date and time, milliseconds since 1970, or an age.

`2026-01-31`, `2026-01-31T08:30`, `2026-01-31T08:30+01:00`, `1769848200000`, `90s`, `2h30m`, `7d`. A time
without a zone is UTC, as in Kafka's own tools.
"""

import datetime as dt
import re

_AGO = re.compile(r"(?:(\d+)w)?(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?")
_SECONDS = (604_800, 86_400, 3600, 60, 1)


def parse_moment(text: str, now: float) -> int:
    """Milliseconds since 1970; `now` is in seconds since 1970. Raises ValueError."""
    if re.fullmatch(r"\d+", text):
        return int(text)
    ago = _AGO.fullmatch(text)
    if ago is not None and text:
        seconds = sum(int(count or 0) * unit for count, unit in zip(ago.groups(), _SECONDS, strict=True))
        return max(
            0, int((now - seconds) * 1000)
        )  # negative timestamps have a special meaning in ListOffsets
    try:
        moment = dt.datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(
            f"{text!r} is not a time: expected 2026-01-31, 2026-01-31T08:30, or an age such as 2h or 7d"
        ) from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=dt.UTC)
    return max(0, int(moment.timestamp() * 1000))
