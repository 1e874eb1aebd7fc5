"""Times as Java's SimpleDateFormat writes them: the letters that a time stamp needs, in local time."""

import re
from datetime import datetime

_LETTERS: dict[str, str] = {
    "yyyy": "%Y",
    "yy": "%y",
    "MM": "%m",
    "dd": "%d",
    "HH": "%H",
    "hh": "%I",
    "mm": "%M",
    "ss": "%S",
    "a": "%p",
    "Z": "%z",
    "EEE": "%a",
    "MMM": "%b",
}
_TOKEN = re.compile(r"'([^']*)'|([a-zA-Z])\2*")


def check_format(pattern: str) -> str:
    """The pattern itself, if it can be written; raises ValueError with the letters that cannot."""
    format_time(pattern, 0.0)
    return pattern


def format_time(pattern: str, seconds: float) -> str:
    moment = datetime.fromtimestamp(seconds).astimezone()

    def write(found: re.Match[str]) -> str:
        if found[1] is not None:
            return found[1] or "'"
        letters = found[0]
        if set(letters) == {"S"}:
            return f"{moment.microsecond // 1000:0{len(letters)}d}"
        if letters not in _LETTERS:
            raise ValueError(f"the letters {letters} are not known in a date format")
        return moment.strftime(_LETTERS[letters])

    return _TOKEN.sub(write, pattern)
