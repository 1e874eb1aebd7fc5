"""JSON files of users, checked as they are read; what is wrong is told in the words of Kafka's tools."""

import json
from collections.abc import Mapping
from pathlib import Path

from barnabas.cli.tool_error import ToolError

VERSION = 1
"""Of every file that has a version."""
Json = object
"""What `json.loads` gives; every use is checked."""


class BadJson(ToolError):
    """A file cannot be read, or does not hold what it should."""


def read_text(path: str | Path) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise BadJson(f"{path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise BadJson(f"{path}: not a text file") from error


def parsed(text: str, complaint: str | None = None) -> Json:
    """`complaint` is what Kafka says of what is no JSON, where it says something of its own."""
    try:
        found: Json = json.loads(text)
    except ValueError as error:
        raise BadJson(complaint or f"The input is not valid JSON: {error}") from error
    return found


def versioned(text: str, complaint: str | None = None) -> dict[str, Json]:
    """An object of version 1; one without a version is taken for it."""
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
