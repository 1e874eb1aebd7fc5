"""Reads a message by its schema into JSON, field for field as Kafka's own converters print it.

Fields keep the schema's order; a tagged field is left out at its default, an unknown tag is skipped; ids are
base 64 without padding. Bytes that are not such a message raise `CorruptMessage`.
"""

import json
import re
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable
from struct import Struct

from barnabas.base.errors import CorruptMessage
from barnabas.cli.dump.schema import Field, Json, Schema
from barnabas.wire.message_fields import FieldReader

_FLOAT64 = Struct(">d")
_LOWER_ESCAPE = re.compile(r"\\\\|\\u00[01][0-9a-f]")

_PRIMITIVES: dict[str, Callable[[FieldReader], Json]] = {
    "bool": lambda reader: reader.int8() != 0,
    "int8": FieldReader.int8,
    "int16": FieldReader.int16,
    "uint16": lambda reader: reader.int16() & 0xFFFF,
    "int32": FieldReader.int32,
    "uint32": lambda reader: reader.int32() & 0xFFFF_FFFF,
    "int64": FieldReader.int64,
    "float64": lambda reader: float(_FLOAT64.unpack(reader.take(8))[0]),
    "uuid": lambda reader: uuid_text(reader.take(16)),
}


def read_message(schema: Schema, version: int, reader: FieldReader) -> dict[str, Json]:
    """The fields of one version; what follows them is left unread."""
    if not 0 <= version <= schema.newest:
        raise CorruptMessage(f"version {version} is not known, 0 to {schema.newest} are")
    flexible = schema.flexible is not None and version >= schema.flexible
    return _read_struct(schema.fields, version, flexible, reader)


def to_json(value: Json) -> str:
    """One line without spaces, escaped as Kafka's tools do: control characters in upper-case hex."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False, default=_base64)
    if "\\u00" in text:
        text = _LOWER_ESCAPE.sub(_upper_case, text)
    return text


def uuid_text(raw: bytes) -> str:
    return urlsafe_b64encode(raw)[:22].decode()


def _base64(value: object) -> str:
    if isinstance(value, bytes):
        return b64encode(value).decode()
    raise TypeError(f"{type(value)} is not JSON")


def _upper_case(found: re.Match[str]) -> str:
    escape = found[0]
    return escape if escape == "\\\\" else "\\u" + escape[2:].upper()


def _read_struct(
    fields: tuple[Field, ...], version: int, flexible: bool, reader: FieldReader
) -> dict[str, Json]:
    values: dict[str, Json] = {}
    for field in fields:
        if field.tag is None and version in field.versions:
            values[field.name] = _read_field(field, version, flexible, reader)
    if not flexible:
        return values
    tagged = reader.tags()
    if not any(field.tag is not None for field in fields):
        return values
    for field in fields:
        if field.tag is not None and version in field.versions and field.tag in tagged:
            values[field.name] = _read_field(field, version, flexible, tagged[field.tag], is_tagged=True)
    return {
        field.name: values[field.name]
        for field in fields
        if field.name in values and (field.tag is None or values[field.name] != field.default_value(version))
    }


def _read_field(
    field: Field, version: int, flexible: bool, reader: FieldReader, *, is_tagged: bool = False
) -> Json:
    if field.is_array:
        return _read_array(field, version, flexible, reader)
    if field.kind == "string":
        text = reader.nullable_string(flexible=flexible)
        return text if text is not None else _null(field, version)
    if field.kind == "bytes":
        length = reader.unsigned_varint() - 1 if flexible else reader.int32()
        return reader.take(length) if length >= 0 else _null(field, version)
    if field.kind == "{}":
        # A structure that may be null begins with a byte: its presence (as a tag: a number, 0 for null).
        if version in field.nullable and (reader.unsigned_varint() == 0 if is_tagged else reader.int8() < 0):
            return None
        return _read_struct(field.fields, version, flexible, reader)
    return _PRIMITIVES[field.kind](reader)


def _read_array(field: Field, version: int, flexible: bool, reader: FieldReader) -> Json:
    count = reader.unsigned_varint() - 1 if flexible else reader.int32()
    if count < 0:
        return _null(field, version)
    if count > reader.remaining:
        raise CorruptMessage(f"{field.name} claims {count} elements in {reader.remaining} bytes")
    if field.kind == "{}":
        return [_read_struct(field.fields, version, flexible, reader) for _ in range(count)]
    if field.kind == "string":
        return [reader.string(flexible=flexible) for _ in range(count)]
    read = _PRIMITIVES[field.kind]
    return [read(reader) for _ in range(count)]


def _null(field: Field, version: int) -> Json:
    if version not in field.nullable:
        raise CorruptMessage(f"{field.name} cannot be null, but is")
    return None
