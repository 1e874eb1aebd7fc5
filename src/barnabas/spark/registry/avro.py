"""Avro: payloads decoded with the writer's schema, resolved to the reader's, as Avro's specification says.

The column's types are those of Spark's `from_avro`, but for two: a union of more than one type beside null is
JSON text, and a time of day is a long of microseconds.
"""

import io
import json
from collections.abc import Callable
from typing import Any

import fastavro
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    NullType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from barnabas.spark.registry.client import Schema
from barnabas.spark.registry.errors import BadRecord, UnsupportedSchema

_PLAIN: dict[str, DataType] = {
    "null": NullType(),
    "boolean": BooleanType(),
    "int": IntegerType(),
    "long": LongType(),
    "float": FloatType(),
    "double": DoubleType(),
    "bytes": BinaryType(),
    "string": StringType(),
    "fixed": BinaryType(),
    "enum": StringType(),
}
_LOGICAL: dict[str, DataType] = {
    "date": DateType(),
    "time-millis": LongType(),
    "time-micros": LongType(),
    "timestamp-millis": TimestampType(),
    "timestamp-micros": TimestampType(),
    "local-timestamp-millis": TimestampNTZType(),
    "local-timestamp-micros": TimestampNTZType(),
    "uuid": StringType(),
}


def parsed(schema: Schema) -> tuple[Any, dict[str, Any]]:
    """(for fastavro, the named types in it). Raises UnsupportedSchema."""
    named: dict[str, Any] = {}
    try:
        for _, text in schema.references:
            fastavro.parse_schema(json.loads(text), named_schemas=named)
        return fastavro.parse_schema(json.loads(schema.text), named_schemas=named), named
    except (ValueError, KeyError, TypeError, fastavro.schema.SchemaParseException) as error:
        raise UnsupportedSchema(f"no Avro schema: {error}") from error


def column_type(schema: Schema) -> DataType:
    """Raises UnsupportedSchema."""
    top, named = parsed(schema)
    return _type_of(top, named, ())


def decoder(writer: Schema, reader: Schema | None) -> Callable[[bytes], object]:
    """Raises UnsupportedSchema."""
    written = parsed(writer)[0]
    wanted = None if reader is None or reader == writer else parsed(reader)[0]  # nothing to resolve

    def decode(content: bytes) -> object:
        stream = io.BytesIO(content)
        try:
            value: object = fastavro.schemaless_reader(stream, written, wanted)
        except Exception as error:
            raise BadRecord(f"no Avro of its schema: {type(error).__name__}: {error}") from error
        if left := len(content) - stream.tell():
            raise BadRecord(f"no Avro of its schema: {left} bytes are left behind the record")
        return value

    return decode


def _type_of(schema: Any, named: dict[str, Any], within: tuple[str, ...]) -> DataType:
    if isinstance(schema, list):
        return _union(schema, named, within)
    if isinstance(schema, str):
        if schema in _PLAIN:
            return _PLAIN[schema]
        if schema not in named:
            raise UnsupportedSchema(f"no type is named {schema}")
        return _type_of(named[schema], named, within)
    kind = schema["type"]
    if not isinstance(kind, str):
        return _type_of(kind, named, within)
    if (logical := _logical(schema)) is not None:
        return logical
    if kind in ("record", "error"):
        return _record(schema, named, within)
    if kind == "array":
        return ArrayType(_type_of(schema["items"], named, within))
    if kind == "map":
        return MapType(StringType(), _type_of(schema["values"], named, within))
    return _type_of(kind, named, within)


def _logical(schema: dict[str, Any]) -> DataType | None:
    kind = schema.get("logicalType")
    if kind == "decimal":
        return DecimalType(schema["precision"], schema.get("scale", 0))
    return _LOGICAL.get(str(kind))


def _record(schema: dict[str, Any], named: dict[str, Any], within: tuple[str, ...]) -> StructType:
    name = schema["name"]
    if name in within:
        raise UnsupportedSchema(f"{name} contains itself: leave out the subject to get JSON text")
    fields = [
        StructField(each["name"], _type_of(each["type"], named, (*within, name))) for each in schema["fields"]
    ]
    return StructType(fields)


def _union(branches: list[Any], named: dict[str, Any], within: tuple[str, ...]) -> DataType:
    real = [each for each in branches if each != "null"]
    if not real:
        return NullType()
    return _type_of(real[0], named, within) if len(real) == 1 else StringType()
