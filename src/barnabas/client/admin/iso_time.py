"""Parses points in time and durations of ISO 8601 as strictly as Kafka's tools.

A date and time without a zone is UTC. Days have 24 hours. Years and months are not durations.
"""

import datetime as dt
import re

from barnabas.client.errors import BadSettings

_DATETIME = re.compile(
    r"(\d{4})-(\d{1,2})-(\d{1,2})T(\d{1,2}):(\d{1,2}):(\d{1,2})\.(\d{1,3})(Z|[+-]\d\d(?::?\d\d)?)"
)
_DURATION = re.compile(
    r"([-+]?)P(?:([-+]?\d+)D)?"
    r"(T(?:([-+]?\d+)H)?(?:([-+]?\d+)M)?(?:([-+]?\d+)(?:[.,](\d{0,9}))?S)?)?",
    re.IGNORECASE,
)


class BadTime(BadSettings):
    """The text is not a time or not a duration."""


def parse_datetime(text: str) -> int:
    """Milliseconds since 1970 of `YYYY-MM-DDThh:mm:ss.sss`, with or without a zone. Raises BadTime."""
    _, has_time, time = text.partition("T")
    if not has_time or not time:
        raise BadTime("Error parsing timestamp. It does not contain a 'T' according to ISO8601 format")
    whole = text if any(mark in time for mark in "+-Z") else text + "Z"
    found = _DATETIME.match(whole)
    if found is None:
        raise BadTime(f'Unparseable date: "{whole}"')
    year, month, day, hour, minute, second, fraction = map(int, found.groups()[:7])
    try:
        moment = dt.datetime(year, month, day, hour, minute, second, tzinfo=dt.UTC) - _zone(found[8])
    except (ValueError, OverflowError):
        raise BadTime(f'Unparseable date: "{whole}"') from None
    # Kafka's format counts what follows the dot as milliseconds, however few digits it has.
    return int(moment.timestamp()) * 1000 + fraction


def _zone(text: str) -> dt.timedelta:
    if text == "Z":
        return dt.timedelta(0)
    digits = text[1:].replace(":", "").ljust(4, "0")
    ahead = dt.timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
    return -ahead if text[0] == "-" else ahead


def parse_duration(text: str) -> int:
    """Milliseconds of `PnDTnHnMn.nS`. Raises BadTime."""
    found = _DURATION.fullmatch(text)
    if found is None or found[3] in ("T", "t") or not any(found.group(2, 4, 5, 6)):
        raise BadTime("Text cannot be parsed to a Duration")
    sign, days, _, hours, minutes, seconds, fraction = found.groups()
    total = int(days or 0) * 86_400_000 + int(hours or 0) * 3_600_000 + int(minutes or 0) * 60_000
    part = int((fraction or "").ljust(3, "0")[:3])
    total += int(seconds or 0) * 1000 + (-part if (seconds or "").startswith("-") else part)
    return -total if sign == "-" else total
