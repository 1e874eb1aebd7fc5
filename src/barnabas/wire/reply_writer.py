"""Writes a reply in one version of its response: a plan made once from kio's schema, then bytes joined.

kio would have the reply first turned into an entity and then writes that field by field into a buffer; going
straight from the reply to bytes takes a fifth of the time. Tests compare the bytes with kio's, API by API and
version by version.
"""

import dataclasses
import struct
import typing
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from types import NoneType
from typing import Any, NamedTuple

from barnabas.base.ids import ZERO_UUID
from barnabas.wire.primitives import compact_string, legacy_string, write_unsigned_varint
from barnabas.wire.reply import EncodedArray, Reply
from barnabas.wire.schema_fields import default_of, entity_of, is_array

Encode = Callable[[Any], bytes]

_INT32 = struct.Struct(">i")
_INT64 = struct.Struct(">q")
_NULL_ENTITY, _ENTITY = b"\xff", b"\x01"
_MISSING: Any = object()


class _Field(NamedTuple):
    name: str
    encode: Encode
    default: bytes
    """Stands for a field that the reply does not have."""


class _TaggedField(NamedTuple):
    name: str
    encode: Encode
    default: Any
    tag: bytes


def reply_writer(entity: Any, known: frozenset[str]) -> Callable[[Reply], bytes]:
    """How a reply is written as `entity`; it may have the `known` fields of all versions, and no others."""
    plain: list[_Field] = []
    tagged: list[tuple[int, _TaggedField]] = []
    flexible: bool = entity.__flexible__
    for field in dataclasses.fields(entity):
        default = default_of(field)
        tag = field.metadata.get("tag")
        encode = _encoder(field, flexible, known, is_nullable=tag is None and _is_nullable(field.type))
        if tag is None:
            plain.append(_Field(field.name, encode, _encoded_default(encode, default)))
        else:
            tagged.append((tag, _TaggedField(field.name, encode, default, write_unsigned_varint(tag))))
    tags = [field for _, field in sorted(tagged)]

    def write(reply: Reply) -> bytes:
        given = vars(reply)
        if not given.keys() <= known:
            raise TypeError(f"{entity.__name__} has no field {sorted(given.keys() - known)}")
        parts = [encode(given[name]) if name in given else default for name, encode, default in plain]
        if flexible:
            parts.append(_encode_tags(tags, given) if tags else b"\x00")
        return b"".join(parts)

    return write


def _encode_tags(tags: list[_TaggedField], given: dict[str, Any]) -> bytes:
    parts = [b""]
    count = 0
    for name, encode, default, tag in tags:
        value = given.get(name, _MISSING)
        if value is _MISSING or value == default or (value == [] and default == ()):
            continue
        count += 1
        encoded = encode(value)
        parts += (tag, write_unsigned_varint(len(encoded)), encoded)
    parts[0] = write_unsigned_varint(count)
    return b"".join(parts)


def _encoded_default(encode: Encode, default: Any) -> bytes:
    return encode(Reply() if dataclasses.is_dataclass(default) else default)


def item_writer(entity: Any, name: str, known: frozenset[str]) -> Encode:
    """How one element of the array `name` of `entity` is written."""
    field = next(each for each in dataclasses.fields(entity) if each.name == name)
    inner = entity_of(field.type)
    if inner is None:
        return _scalar(field, entity.__flexible__, is_nullable=False)
    return reply_writer(inner, known)


# --- one field -------------------------------------------------------------------------------------------


def _encoder(
    field: "dataclasses.Field[Any]", flexible: bool, known: frozenset[str], *, is_nullable: bool
) -> Encode:
    inner = entity_of(field.type)
    if is_array(field.type):
        item = _scalar(field, flexible, is_nullable=False) if inner is None else reply_writer(inner, known)
        return _array(item, flexible, is_nullable=is_nullable)
    if inner is None:
        return _scalar(field, flexible, is_nullable=is_nullable)
    write = reply_writer(inner, known)
    if not is_nullable:
        return write
    return lambda value: _NULL_ENTITY if value is None else _ENTITY + write(value)


def _array(item: Encode, flexible: bool, *, is_nullable: bool) -> Encode:
    null = b"\x00" if flexible else _INT32.pack(-1)

    def encode(values: Iterable[Any] | None) -> bytes:
        if values is None:
            if not is_nullable:
                raise TypeError("an array of this response must not be null")
            return null
        if isinstance(values, EncodedArray):
            return array_length(values.length, flexible) + b"".join(values.chunks)
        parts = [item(value) for value in values]
        return array_length(len(parts), flexible) + b"".join(parts)

    return encode


def array_length(count: int, flexible: bool) -> bytes:
    return write_unsigned_varint(count + 1) if flexible else _INT32.pack(count)


def _scalar(field: "dataclasses.Field[Any]", flexible: bool, *, is_nullable: bool) -> Encode:
    kafka_type: str = field.metadata["kafka_type"]
    encode = _TEXTS[kafka_type, flexible] if (kafka_type, flexible) in _TEXTS else _NUMBERS[kafka_type]
    if is_nullable or kafka_type == "uuid":
        return encode

    def encode_present(value: Any) -> bytes:
        if value is None:
            raise TypeError(f"{field.name} of this response must not be null")
        return encode(value)

    return encode_present if (kafka_type, flexible) in _TEXTS else encode


def _is_nullable(annotation: Any) -> bool:
    return NoneType in typing.get_args(annotation)


def _compact_bytes(value: bytes | None) -> bytes:
    return b"\x00" if value is None else write_unsigned_varint(len(value) + 1) + value


def _legacy_bytes(value: bytes | None) -> bytes:
    return _INT32.pack(-1) if value is None else _INT32.pack(len(value)) + value


def _milliseconds(value: Any) -> int:
    if isinstance(value, timedelta):
        return round(value.total_seconds() * 1000)
    if isinstance(value, datetime):
        return round(value.timestamp() * 1000)
    return -1 if value is None else int(value)


_TEXTS: dict[tuple[str, bool], Encode] = {
    ("string", True): compact_string,
    ("string", False): legacy_string,
    ("bytes", True): _compact_bytes,
    ("bytes", False): _legacy_bytes,
    ("records", True): _compact_bytes,
    ("records", False): _legacy_bytes,
}
_NUMBERS: dict[str, Encode] = {
    "int8": struct.Struct(">b").pack,
    "int16": struct.Struct(">h").pack,
    "int32": _INT32.pack,
    "int64": _INT64.pack,
    "uint16": struct.Struct(">H").pack,
    "uint32": struct.Struct(">I").pack,
    "float64": struct.Struct(">d").pack,
    "error_code": struct.Struct(">h").pack,
    "bool": struct.Struct(">?").pack,
    "uuid": lambda value: (value or ZERO_UUID).bytes,
    "timedelta_i32": lambda value: _INT32.pack(_milliseconds(value)),
    "timedelta_i64": lambda value: _INT64.pack(_milliseconds(value)),
    "datetime_i64": lambda value: _INT64.pack(_milliseconds(value)),
}
