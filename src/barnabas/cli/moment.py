"""Points in time as people write them: a date, a date and time, milliseconds since 1970, or how long ago.

`2026-01-31`, `2026-01-31T08:30`, `2026-01-31T08:30+01:00`, `1769848200000`, `90s`, `2h30m`, `7d`. A time
without a zone is taken for UTC, as by Kafka's own tools.
"""

import datetime as dt
import re

_AGO = re.compile(r"(?:(\d+)w)?(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?")
_SECONDS = (604_800, 86_400, 3600, 60, 1)


def parse_moment(text: str, now: float) -> int:
    """Milliseconds since 1970; `now` is in seconds since 1970. Raises ValueError, with a sentence."""
    if re.fullmatch(r"\d+", text):
        return int(text)
    ago = _AGO.fullmatch(text)
    if ago is not None and text:
        seconds = sum(int(count or 0) * unit for count, unit in zip(ago.groups(), _SECONDS, strict=True))
        return max(0, int((now - seconds) * 1000))  # below 0 are numbers with a meaning of their own
    try:
        moment = dt.datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(
            f"{text!r} is no time: write 2026-01-31, 2026-01-31T08:30, or how long ago, as in 2h or 7d"
        ) from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=dt.UTC)
    return max(0, int(moment.timestamp() * 1000))
