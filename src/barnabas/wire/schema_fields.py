"""What a field of kio's schemas is: an entity, an array, and the value it has if it is not set."""

import dataclasses
import typing
from datetime import UTC, datetime, timedelta
from types import NoneType
from typing import Any

from kio.schema.errors import ErrorCode

_ZEROES: dict[str, Any] = {
    "string": "",
    "bytes": b"",
    "records": b"",
    "uuid": None,
    "bool": False,
    "error_code": ErrorCode.none,
    "timedelta_i32": timedelta(0),
    "timedelta_i64": timedelta(0),
    "float64": 0.0,
    "datetime_i64": datetime.fromtimestamp(0, UTC),
}


def entity_of(annotation: Any) -> type | None:
    """The entity inside `Entity`, `Entity | None`, `tuple[Entity, ...]` or `tuple[Entity, ...] | None`."""
    if dataclasses.is_dataclass(annotation) and isinstance(annotation, type):
        return annotation
    for argument in typing.get_args(annotation):
        found = entity_of(argument)
        if found is not None:
            return found
    return None


def is_array(annotation: Any) -> bool:
    return typing.get_origin(annotation) is tuple or any(
        typing.get_origin(argument) is tuple for argument in typing.get_args(annotation)
    )


def default_of(field: "dataclasses.Field[Any]") -> Any:
    if field.default is not dataclasses.MISSING:
        return field.default
    if NoneType in typing.get_args(field.type):
        return None
    if is_array(field.type):
        return ()
    entity = entity_of(field.type)
    if entity is not None:
        return entity(**{inner.name: default_of(inner) for inner in dataclasses.fields(entity)})
    return _ZEROES.get(field.metadata["kafka_type"], 0)
