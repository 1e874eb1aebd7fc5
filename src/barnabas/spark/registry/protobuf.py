"""Protobuf: a registry keeps `.proto` texts, protoc makes descriptors of them, and these decode payloads.

With a reader's schema a payload is read by the reader's message of the same name: fields are matched by
their numbers, as Protobuf means it, and those that the reader does not have are left out. The column's
types are those of Spark's `from_protobuf` (unsigned 64-bit integers are decimals); enums are their names.
"""

import datetime as dt
import subprocess
import sys
import tempfile
from collections.abc import Callable
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import grpc_tools
from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import DecodeError, Message
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from barnabas.spark.registry.client import Schema
from barnabas.spark.registry.errors import BadRecord, UnsupportedSchema
from barnabas.spark.registry.framing import message_index

_FILE: Final = "schema-of-the-registry.proto"
_TIMESTAMP: Final = "google.protobuf.Timestamp"
_EPOCH: Final = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_PLAIN: Final[dict[int, DataType]] = {
    FieldDescriptor.CPPTYPE_INT32: IntegerType(),
    FieldDescriptor.CPPTYPE_INT64: LongType(),
    FieldDescriptor.CPPTYPE_UINT32: LongType(),
    FieldDescriptor.CPPTYPE_UINT64: DecimalType(20, 0),
    FieldDescriptor.CPPTYPE_DOUBLE: DoubleType(),
    FieldDescriptor.CPPTYPE_FLOAT: FloatType(),
    FieldDescriptor.CPPTYPE_BOOL: BooleanType(),
    FieldDescriptor.CPPTYPE_ENUM: StringType(),
    FieldDescriptor.CPPTYPE_STRING: StringType(),
}


class ProtoFile:
    """The messages of one text, with what it imports."""

    def __init__(self, schema: Schema) -> None:
        """Raises UnsupportedSchema."""
        self._pool: descriptor_pool.DescriptorPool = descriptor_pool.DescriptorPool()
        described = descriptor_pb2.FileDescriptorSet.FromString(_compiled(schema))
        for each in described.file:
            self._pool.AddSerializedFile(each.SerializeToString())
        self._messages: list[Descriptor] = [
            self._pool.FindMessageTypeByName(f"{described.file[-1].package}.{each.name}".lstrip("."))
            for each in described.file[-1].message_type
        ]

    def message(self, path: tuple[int, ...]) -> Descriptor:
        """Raises BadRecord."""
        try:
            found = self._messages[path[0]]
            for index in path[1:]:
                found = list(found.nested_types)[index]
        except IndexError:
            raise BadRecord(f"its schema has no message at {list(path)}") from None
        return found

    def named(self, name: str) -> Descriptor | None:
        try:
            return self._pool.FindMessageTypeByName(name)
        except KeyError:
            return None


@lru_cache(maxsize=256)
def proto_file(schema: Schema) -> ProtoFile:
    return ProtoFile(schema)


def column_type(schema: Schema, message: str | None = None) -> StructType:
    """Of the message of this name, or the first one. Raises UnsupportedSchema."""
    file = proto_file(schema)
    found = file.message((0,)) if message is None else file.named(message)
    if found is None:
        raise UnsupportedSchema(f"the schema has no message {message}")
    return _struct(found, ())


def decoder(writer: Schema, reader: Schema | None, *, as_json: bool) -> Callable[[bytes], object]:
    """Raises UnsupportedSchema."""
    written = proto_file(writer)
    wanted = written if reader is None else proto_file(reader)
    classes: dict[tuple[int, ...], type[Message]] = {}

    def decode(content: bytes) -> object:
        path, body = message_index(content)
        if path not in classes:
            descriptor = written.message(path)
            found = wanted.named(descriptor.full_name)
            if found is None:
                raise BadRecord(f"the reader's schema has no message {descriptor.full_name}")
            classes[path] = message_factory.GetMessageClass(found)
        try:
            message = classes[path].FromString(body)
        except DecodeError as error:
            raise BadRecord(f"no Protobuf of {classes[path].DESCRIPTOR.full_name}: {error}") from error
        if as_json:
            return json_format.MessageToDict(message, preserving_proto_field_name=True)
        return _value_of(message)

    return decode


def _compiled(schema: Schema) -> bytes:
    """A FileDescriptorSet whose last file is the schema itself. Raises UnsupportedSchema."""
    known = Path(grpc_tools.__file__).parent / "_proto"
    with tempfile.TemporaryDirectory(prefix="barnabas-proto-") as directory:
        for name, text in (*schema.references, (_FILE, schema.text)):
            path = Path(directory, name)
            if not path.resolve().is_relative_to(Path(directory).resolve()):
                raise UnsupportedSchema(f"it imports {name}, which is no name of a file")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        output = Path(directory, "described")
        command = [sys.executable, "-m", "grpc_tools.protoc", f"-I{directory}", f"-I{known}"]
        command += ["--include_imports", f"--descriptor_set_out={output}", _FILE]
        done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
        if done.returncode:
            raise UnsupportedSchema(f"no Protobuf schema: {done.stderr.strip()}")
        return output.read_bytes()


# --- types ----------------------------------------------------------------------------------------------


def _struct(message: Descriptor, within: tuple[str, ...]) -> StructType:
    name = message.full_name
    if name in within:
        raise UnsupportedSchema(f"{name} contains itself: leave out the subject to get JSON text")
    return StructType([StructField(each.name, _type_of(each, (*within, name))) for each in message.fields])


def _type_of(field: FieldDescriptor, within: tuple[str, ...]) -> DataType:
    if _is_map(field):
        entry = field.message_type.fields_by_name
        return MapType(_one(entry["key"], within), _one(entry["value"], within))
    one = _one(field, within)
    return ArrayType(one) if field.is_repeated else one


def _one(field: FieldDescriptor, within: tuple[str, ...]) -> DataType:
    if field.type == FieldDescriptor.TYPE_BYTES:
        return BinaryType()
    if field.message_type is None:
        return _PLAIN[field.cpp_type]
    if field.message_type.full_name == _TIMESTAMP:
        return TimestampType()
    return _struct(field.message_type, within)


def _is_map(field: FieldDescriptor) -> bool:
    return field.message_type is not None and field.message_type.GetOptions().map_entry


# --- values ---------------------------------------------------------------------------------------------


def _value_of(message: Any) -> dict[str, object]:
    return {field.name: _field_of(message, field) for field in message.DESCRIPTOR.fields}


def _field_of(message: Any, field: FieldDescriptor) -> object:
    value = getattr(message, field.name)
    if _is_map(field):
        of_value = field.message_type.fields_by_name["value"]
        return {key: _scalar(value[key], of_value) for key in value}
    if field.is_repeated:
        return [_scalar(each, field) for each in value]
    if field.has_presence and not message.HasField(field.name):
        return None
    return _scalar(value, field)


def _scalar(value: Any, field: FieldDescriptor) -> object:
    if field.message_type is not None:
        if field.message_type.full_name == _TIMESTAMP:
            return _EPOCH + dt.timedelta(seconds=value.seconds, microseconds=value.nanos // 1000)
        return _value_of(value)
    if field.enum_type is not None:
        known = field.enum_type.values_by_number.get(value)
        return str(value) if known is None else known.name
    return Decimal(value) if field.cpp_type == FieldDescriptor.CPPTYPE_UINT64 else value
