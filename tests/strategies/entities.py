"""kio's entities filled with values that differ from field to field, and their bytes."""

import dataclasses
import io
import typing
import uuid
from datetime import UTC, datetime, timedelta
from itertools import count
from types import NoneType
from typing import Any

from kio.schema.errors import ErrorCode
from kio.serial import entity_reader, entity_writer

from barnabas.wire import Reply


def entity_in(annotation: Any) -> Any:
    """The entity class inside an annotation such as `tuple[Entity, ...] | None`; None if there is none."""
    if dataclasses.is_dataclass(annotation):
        return annotation
    return next(filter(None, map(entity_in, typing.get_args(annotation))), None)


def is_array(annotation: Any) -> bool:
    arguments = (annotation, *typing.get_args(annotation))
    return any(typing.get_origin(each) is tuple for each in arguments)


def filled(
    entity: Any, *, nulls: bool = False, elements: int = 2, numbers: "count[int] | None" = None
) -> Any:
    """An instance with `elements` in every array; with `nulls`, everything that may be null is."""
    numbers = count(1) if numbers is None else numbers
    values: dict[str, Any] = {}
    for field in dataclasses.fields(entity):
        inner = entity_in(field.type)
        if nulls and NoneType in typing.get_args(field.type):
            values[field.name] = None
        elif is_array(field.type):
            values[field.name] = tuple(
                filled(inner, nulls=nulls, elements=elements, numbers=numbers)
                if inner
                else scalar(field, numbers)
                for _ in range(elements)
            )
        elif inner is not None:
            values[field.name] = filled(inner, nulls=nulls, elements=elements, numbers=numbers)
        else:
            values[field.name] = scalar(field, numbers)
    return entity(**values)


def scalar(field: "dataclasses.Field[Any]", numbers: "count[int]") -> Any:
    number = next(numbers)
    match field.metadata["kafka_type"]:
        case "bytes":
            return f"bytes-{number}".encode()
        case "string":
            return f"text-{number}"
        case "bool":
            return number % 2 == 1
        case "uuid":
            return uuid.UUID(int=number + 10)
        case "records":
            return b"records" * number
        case "error_code":
            return ErrorCode(number % 90)
        case "timedelta_i32" | "timedelta_i64":
            return timedelta(milliseconds=number)
        case "datetime_i64":
            return datetime.fromtimestamp(number, UTC)
        case "int8":
            return number % 100
        case _:
            return number


def written(entity: Any) -> bytes:
    buffer = io.BytesIO()
    entity_writer(type(entity))(buffer, entity)
    return buffer.getvalue()


def read(entity: Any, data: bytes | memoryview) -> Any:
    """The entity that fills `data` to its last byte."""
    value, size = entity_reader(entity)(memoryview(data).toreadonly(), 0)
    assert size == len(data)
    return value


def as_reply(entity: Any) -> Reply:
    """What a handler would have answered."""
    values: dict[str, Any] = {}
    for field in dataclasses.fields(entity):
        value = getattr(entity, field.name)
        if dataclasses.is_dataclass(value):
            value = as_reply(value)
        elif isinstance(value, tuple) and value and dataclasses.is_dataclass(value[0]):
            value = [as_reply(each) for each in value]
        values[field.name] = value
    return Reply(**values)
