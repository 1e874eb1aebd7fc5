"""Which records `barnabas consume` shows, and how.

The forms: JSON, a template, coloured on a terminal, the value alone in a pipe.
On a terminal control characters are escaped: a record must not be able to move the cursor.
"""

import datetime as dt
import json
import re
from collections.abc import Callable

from barnabas.cli.messages.json_record import record_as_json
from barnabas.cli.messages.record_formatter import Received, headers_of
from barnabas.client.errors import BadSettings

_FIELD = re.compile(r"\{(\w+)\}")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_ESCAPES = {"\\n": "\n", "\\t": "\t", "\\0": "\0", "\\\\": "\\"}
_DIM, _CYAN, _YELLOW, _MAGENTA, _PLAIN = "\x1b[2m", "\x1b[36m", "\x1b[33m", "\x1b[35m", "\x1b[0m"

Shown = Callable[[Received], bytes]


def record_filter(pattern: str | None) -> Callable[[Received], bool]:
    """Matches a regular expression against the bytes of key and value. Without one, every record matches.

    Raises BadSettings.
    """
    if pattern is None:
        return lambda record: True
    try:
        search = re.compile(pattern.encode("utf-8", "surrogateescape")).search
    except re.error as error:
        raise BadSettings(f"{pattern!r} is not a regular expression: {error}") from None
    return lambda record: bool(search(record.value() or b"") or search(record.key() or b""))


def shower(*, as_json: bool, template: str | None, is_terminal: bool) -> Shown:
    """Raises BadSettings for a template with unknown fields."""
    if as_json:
        return _json
    if template is not None:
        return _templated(template)
    return _coloured if is_terminal else _value


def _json(record: Received) -> bytes:
    return json.dumps(record_as_json(record), ensure_ascii=False).encode() + b"\n"


def _value(record: Received) -> bytes:
    return (record.value() or b"") + b"\n"


def _coloured(record: Received) -> bytes:
    position = f"{record.topic()}-{record.partition()}@{record.offset()}"
    parts = [f"{_DIM}{time_text(record)}{_PLAIN}", f"{_CYAN}{position}{_PLAIN}"]
    key = record.key()
    if key is not None:
        parts.append(f"{_YELLOW}{_safe(key)}{_PLAIN}")
    value = record.value()
    parts.append(f"{_DIM}null{_PLAIN}" if value is None else _safe(value))
    headers = headers_of(record)
    if headers:
        shown = " ".join(f"{key}={_safe(each or b'')}" for key, each in headers)
        parts.append(f"{_MAGENTA}{shown}{_PLAIN}")
    return "  ".join(parts).encode() + b"\n"


def time_text(record: Received) -> str:
    """Local time with milliseconds; `-` if the record has none."""
    kind, time_ms = record.timestamp()
    if not kind:
        return "-"
    moment = dt.datetime.fromtimestamp(time_ms // 1000).astimezone()
    return f"{moment:%Y-%m-%d %H:%M:%S}.{time_ms % 1000:03d}"


def _safe(raw: bytes) -> str:
    text = raw.decode("utf-8", "backslashreplace")
    return _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", text)


_FIELDS: dict[str, Callable[[Received], bytes]] = {
    "topic": lambda record: (record.topic() or "").encode(),
    "partition": lambda record: b"%d" % (record.partition() or 0),
    "offset": lambda record: b"%d" % (record.offset() or 0),
    "timestamp": lambda record: b"%d" % record.timestamp()[1],
    "time": lambda record: time_text(record).encode(),
    "key": lambda record: record.key() or b"",
    "value": lambda record: record.value() or b"",
    "headers": lambda record: b",".join(
        key.encode() + b"=" + (value or b"") for key, value in headers_of(record)
    ),
}


def _templated(template: str) -> Shown:
    text = re.sub(r"\\[nt0\\]", lambda found: _ESCAPES[found[0]], template)
    parts: list[bytes | Callable[[Received], bytes]] = []
    for number, piece in enumerate(_FIELD.split(text)):
        if number % 2 == 0:
            parts.append(piece.encode("utf-8", "surrogateescape"))
        elif piece in _FIELDS:
            parts.append(_FIELDS[piece])
        else:
            raise BadSettings(f"--format: unknown field {{{piece}}}; known are {', '.join(_FIELDS)}")

    def shown(record: Received) -> bytes:
        return b"".join([part if isinstance(part, bytes) else part(record) for part in parts]) + b"\n"

    return shown
