"""Reads and checks JSON files of users. Error texts are those of Kafka's tools."""

import json
from collections.abc import Mapping
from pathlib import Path

from barnabas.client.errors import ClientError

VERSION = 1
"""The version of every file that has one."""
Json = object
"""The result of `json.loads`. Every use is checked."""


class BadJson(ClientError):
    """A file cannot be read or has the wrong content."""


def read_text(path: str | Path) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise BadJson(f"{path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise BadJson(f"{path}: not a text file") from error


def parsed(text: str, complaint: str | None = None) -> Json:
    """`complaint` is Kafka's own error text for invalid JSON, where it has one."""
    try:
        found: Json = json.loads(text)
    except ValueError as error:
        raise BadJson(complaint or f"The input is not valid JSON: {error}") from error
    return found


def versioned(text: str, complaint: str | None = None) -> dict[str, Json]:
    """An object of version 1, which is the default."""
    document = object_of(parsed(text, complaint))
    version = integer(document.get("version", VERSION))
    if version != VERSION:
        raise BadJson(f"Not supported version field value {version}")
    return document


def object_of(value: Json) -> dict[str, Json]:
    if not isinstance(value, dict):
        raise BadJson(f"Expected JSON object, received {_shown(value)}")
    return value


def array(value: Json, expected: str = "JSON array") -> list[Json]:
    if not isinstance(value, list):
        raise BadJson(f"Expected {expected}, received {_shown(value)}")
    return value


def field(entry: Mapping[str, Json], name: str) -> Json:
    if name not in entry:
        raise BadJson(f"No such field exists: `{name}`")
    return entry[name]


def integer(value: Json) -> int:
    return _whole(value, "Integer", 32)


def long(value: Json) -> int:
    return _whole(value, "Long", 64)


def string(value: Json) -> str:
    if not isinstance(value, str):
        raise BadJson(f"Expected `String` value, received {_shown(value)}")
    return value


def _whole(value: Json, kind: str, bits: int) -> int:
    bound = 2 ** (bits - 1)
    if isinstance(value, bool) or not isinstance(value, int) or not -bound <= value < bound:
        raise BadJson(f"Expected `{kind}` value, received {_shown(value)}")
    return value


def _shown(value: Json) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
