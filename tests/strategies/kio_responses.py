"""Responses as kio writes them: what is written by hand must equal it."""

import dataclasses
import io
import struct
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from kio.index import load_response_schema
from kio.schema.errors import ErrorCode
from kio.serial import entity_writer

from barnabas.wire import Reply
from barnabas.wire.schema_fields import default_of, entity_of, is_array

API_VERSIONS = 18


def encode_with_kio(api_key: int, version: int, correlation_id: int, reply: Reply) -> bytes:
    entity = load_response_schema(api_key, version)
    buffer = io.BytesIO()
    buffer.write(struct.pack(">i", correlation_id))
    if entity.__header_schema__.__version__ >= 1 and api_key != API_VERSIONS:
        buffer.write(b"\x00")
    entity_writer(entity)(buffer, shaped(entity, reply))
    return buffer.getvalue()


def shaped(entity: Any, reply: Reply) -> Any:
    """The reply as an entity of one version."""
    values: dict[str, Any] = {}
    for field in dataclasses.fields(entity):
        value = vars(reply).get(field.name, default_of(field))
        convert = converter(field)
        if value is not None and field.name in vars(reply):
            if is_array(field.type):
                value = tuple(convert(each) for each in value)
            else:
                value = convert(value)
        values[field.name] = value
    return entity(**values)


def converter(field: "dataclasses.Field[Any]") -> Callable[[Any], Any]:
    inner = entity_of(field.type)
    if inner is not None:
        return lambda value: shaped(inner, value)
    match field.metadata["kafka_type"]:
        case "timedelta_i32" | "timedelta_i64":
            return lambda value: timedelta(milliseconds=value) if isinstance(value, int) else value
        case "datetime_i64":
            return _as_datetime
        case "error_code":
            return ErrorCode
        case _:
            return lambda value: value


def _as_datetime(value: Any) -> Any:
    if not isinstance(value, int):
        return value
    return None if value < 0 else datetime.fromtimestamp(value / 1000, UTC)
