"""A record as one line of JSON. `consume --json` writes it and `produce --json-lines` reads it.

    {"topic": "t", "partition": 0, "offset": 5, "timestamp": 1690000000000, "key": "k", "value": "v",
     "headers": [{"key": "h", "value": "x"}]}

Bytes that are UTF-8 are strings, others are {"base64": "..."}. A value to send may be any JSON: what is
not a string is sent as its JSON text. Headers may also be an object of names and values.
"""

import base64
import binascii
import json

from barnabas.cli.messages.line_reader import Headers, Outgoing
from barnabas.cli.messages.record_formatter import Received, headers_of

Json = object
_FIELDS = frozenset({"topic", "partition", "offset", "timestamp", "key", "value", "headers"})


class BadRecord(Exception):
    """A line is not a record."""


def record_as_json(record: Received) -> dict[str, Json]:
    kind, time_ms = record.timestamp()
    return {
        "topic": record.topic(),
        "partition": record.partition(),
        "offset": record.offset(),
        "timestamp": time_ms if kind else None,
        "key": _written(record.key()),
        "value": _written(record.value()),
        "headers": [{"key": key, "value": _written(value)} for key, value in headers_of(record)],
    }


def record_of_json(line: bytes) -> Outgoing:
    """Ignores `topic` and `offset`. Raises BadRecord."""
    try:
        found = json.loads(line)
    except ValueError as error:
        raise BadRecord(f"no JSON: {error}") from None
    if not isinstance(found, dict):
        raise BadRecord('a record is an object, as in {"key": "k", "value": "v"}')
    unknown = ", ".join(sorted(found.keys() - _FIELDS))
    if unknown:
        raise BadRecord(f"unknown field {unknown}; a record has key, value, headers, partition, timestamp")
    return Outgoing(
        _read(found.get("key")),
        _read(found.get("value")),
        _headers(found.get("headers")),
        _number(found, "partition", -1),
        _number(found, "timestamp", 0),
    )


def _written(raw: bytes | None) -> Json:
    if raw is None:
        return None
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(raw).decode()}


def _read(value: Json) -> bytes | None:
    if value is None or isinstance(value, str):
        return None if value is None else value.encode("utf-8", "surrogatepass")
    if isinstance(value, dict) and value.keys() == {"base64"}:
        try:
            return base64.b64decode(str(value["base64"]), validate=True)
        except binascii.Error as error:
            raise BadRecord(f"base64: {error}") from None
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def _headers(value: Json) -> Headers | None:
    if value is None:
        return None
    if isinstance(value, dict):
        return [(str(key), _read(each)) for key, each in value.items()]
    if isinstance(value, list) and all(isinstance(each, dict) and "key" in each for each in value):
        return [(str(each["key"]), _read(each.get("value"))) for each in value]
    raise BadRecord('headers: expected {"name": "value"} or [{"key": "name", "value": "value"}]')


def _number(found: dict[str, Json], name: str, default: int) -> int:
    value = found.get(name)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise BadRecord(f"{name}: expected a number from 0 on, not {value!r}")
    return value
