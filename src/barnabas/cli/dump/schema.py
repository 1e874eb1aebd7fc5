"""The schema of a message, written as a short text and parsed into a tree of fields.

A line is a field, with the fields of a structure indented below it:

    name type [versions] [#tag] [=default]

The type is a primitive, `{}` for a structure, `[]` before either for an array, and `?` after it if it may be
null (`?3+`: from version 3 on). Versions are `2+`, `0-1` or `4`; without them a field is in all. A tagged
field has its tag, and its default if that is not zero or empty.
"""

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

Json: TypeAlias = "bool | int | float | str | bytes | list[Json] | dict[str, Json] | None"
"""The decoded form of a message. Bytes are printed in base 64."""

_FOREVER = 32767
_STEP = 4


@dataclass(frozen=True, slots=True)
class Versions:
    first: int = 0
    last: int = _FOREVER

    def __contains__(self, version: int) -> bool:
        return self.first <= version <= self.last


_NO_VERSIONS = Versions(1, 0)


@dataclass(frozen=True, slots=True)
class Field:
    name: str
    kind: str
    """A primitive, or `{}`."""
    is_array: bool
    versions: Versions
    nullable: Versions
    tag: int | None
    default: Json
    """Of a tagged field: the value that is not printed."""
    fields: tuple["Field", ...]

    def default_value(self, version: int) -> Json:
        if self.kind == "{}" and not self.is_array and self.default is not None:
            return {
                each.name: each.default_value(version) for each in self.fields if version in each.versions
            }
        return self.default


@dataclass(frozen=True, slots=True)
class Schema:
    """A message in all its versions; `flexible` is the first with compact lengths and tags, if any is."""

    text: str
    newest: int = 0
    flexible: int | None = 0

    @property
    def fields(self) -> tuple[Field, ...]:
        return parse_fields(self.text)


@dataclass(frozen=True, slots=True)
class RecordSchema:
    """A record of a coordinator's topic."""

    key: Schema
    value: Schema


def key_schema(text: str) -> Schema:
    """Keys of coordinator records have one version, which is not flexible."""
    return Schema(text, 0, None)


@functools.cache
def parse_fields(text: str) -> tuple[Field, ...]:
    lines = [line.rstrip() for line in text.replace("; ", "\n").splitlines() if line.strip()]
    margin = min((len(line) - len(line.lstrip()) for line in lines), default=0)
    return _parse([line[margin:] for line in lines])


def _parse(lines: Sequence[str]) -> tuple[Field, ...]:
    fields: list[Field] = []
    position = 0
    while position < len(lines):
        end = position + 1
        while end < len(lines) and lines[end].startswith(" " * _STEP):
            end += 1
        inner = _parse([line[_STEP:] for line in lines[position + 1 : end]])
        fields.append(_field(lines[position], inner))
        position = end
    return tuple(fields)


def _field(line: str, inner: tuple[Field, ...]) -> Field:
    name, form, *rest = line.split()
    kind, may_be_null, since = form.partition("?")
    versions, tag, default = Versions(), None, ""
    for word in rest:
        if word.startswith("#"):
            tag = int(word[1:])
        elif word.startswith("="):
            default = word[1:]
        else:
            versions = _versions(word)
    nullable = _versions(since) if since else Versions() if may_be_null else _NO_VERSIONS
    is_array = kind.startswith("[]")
    kind = kind.removeprefix("[]")
    return Field(name, kind, is_array, versions, nullable, tag, _default(kind, is_array, default), inner)


def _versions(word: str) -> Versions:
    if word.endswith("+"):
        return Versions(int(word[:-1]))
    first, _, last = word.partition("-")
    return Versions(int(first), int(last or first))


def _default(kind: str, is_array: bool, word: str) -> Json:
    if word == "null":
        return None
    if is_array:
        return []
    match kind:
        case "{}":
            return {}
        case "string":
            return word
        case "bytes":
            return b""
        case "bool":
            return word == "true"
        case "uuid":
            return "A" * 22
        case "float64":
            return float(word or 0)
    return int(word or 0)
