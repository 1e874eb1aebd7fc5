"""Python values made fit for a column's type: Arrow takes most as they are, and some it does not.

What a type says nothing about becomes JSON text: a string column can hold anything.
"""

import base64
import datetime as dt
import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any
from uuid import UUID

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    LongType,
    MapType,
    StringType,
    StructType,
)

Fit = Callable[[Any], Any]


def fit_for(kind: DataType) -> Fit | None:
    """The conversion of a value to a type. Returns None if Arrow takes the value as it is."""
    if isinstance(kind, StructType):
        return _fit_struct(kind)
    if isinstance(kind, ArrayType):
        return _fit_array(kind)
    if isinstance(kind, MapType):
        inner = fit_for(kind.valueType)
        return lambda values: None if values is None else _pairs(values, inner)
    if isinstance(kind, StringType):
        return _text
    if isinstance(kind, BinaryType):
        return _octets
    if isinstance(kind, LongType):
        return _whole
    return None


def json_text(value: object) -> str:
    return json.dumps(value, default=_jsonable, ensure_ascii=False)


def _fit_struct(kind: StructType) -> Fit | None:
    fits = {field.name: fit for field in kind.fields if (fit := fit_for(field.dataType)) is not None}
    if not fits:
        return None

    def fit_struct(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        return {**value, **{name: fit(value[name]) for name, fit in fits.items() if name in value}}

    return fit_struct


def _fit_array(kind: ArrayType) -> Fit | None:
    fit = fit_for(kind.elementType)
    if fit is None:
        return None
    return lambda values: [fit(each) for each in values] if isinstance(values, list) else values


def _pairs(values: dict[str, Any], fit: Fit | None) -> list[tuple[str, Any]]:
    return [(key, each if fit is None else fit(each)) for key, each in values.items()]


def _text(value: Any) -> Any:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, UUID):
        return str(value)
    return json_text(value)


def _octets(value: Any) -> Any:
    return bytes(value) if isinstance(value, bytearray | memoryview) else value


def _whole(value: Any) -> Any:
    """A time of day is microseconds."""
    if isinstance(value, dt.time):
        seconds = (value.hour * 60 + value.minute) * 60 + value.second
        return seconds * 1_000_000 + value.microsecond
    return value


def _jsonable(value: object) -> object:
    if isinstance(value, bytes | bytearray | memoryview):
        return base64.b64encode(bytes(value)).decode()
    if isinstance(value, dt.datetime | dt.date | dt.time):
        return value.isoformat()
    if isinstance(value, UUID | Decimal):
        return str(value)
    raise TypeError(f"{type(value).__name__} has no form in JSON")
