"""Requests from plain values, responses in one shape, whatever version was negotiated.

A request is written as keywords (`topics=[{"name": "a"}]`), so that one description serves all versions:
a field that the negotiated version lacks is left out, one that is not given takes the schema's default. A
response of an old version is carried over to the newest that kio knows: fields it lacked have their default.
Renamed fields are the business of whoever asks: `max_version` holds a request, and the shape of its answer,
below the rename.
"""

import dataclasses
import datetime as dt
import pkgutil
import struct
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from io import BytesIO
from typing import Any, NamedTuple

from kio.serial import entity_reader, entity_writer
from kio.serial.errors import OutOfBoundValue

from barnabas.client.errors import BadValue
from barnabas.wire.schema_fields import default_of, entity_of
from barnabas.wire.schema_upgrade import upgrader

_OWN_CLASSES = {("describe_transactions", 0, "response"): "barnabas.client.transaction_states"}
"""Where kio cannot read what brokers send: the module with a class that can."""


class Versions(NamedTuple):
    lowest: int
    highest: int


@cache
def known_versions(api: str) -> Versions:
    """Of kio's schema for an API, named as kio names it: `describe_configs`."""
    package = import_module(f"kio.schema.{api}")
    found = sorted(int(module.name[1:]) for module in pkgutil.iter_modules(package.__path__))
    return Versions(found[0], found[-1])


@cache
def api_key(api: str) -> int:
    return int(_class(api, known_versions(api).highest, "request").__api_key__)


def encode_request(
    api: str, version: int, correlation_id: int, client_id: str, fields: Mapping[str, object]
) -> bytes:
    """Header and body, without the length that frames them. Raises BadValue."""
    try:
        return _encode(_class(api, version, "request"), correlation_id, client_id, fields)
    except struct.error:
        raise BadValue(f"{api.upper()} cannot be asked: a number is too large or too small") from None
    except OverflowError:
        raise BadValue(f"{api.upper()} cannot be asked: a time is too long") from None
    except UnicodeEncodeError as error:
        raise BadValue(f"{api.upper()} cannot be asked: {error.object!r} is not UTF-8 text") from None
    except OutOfBoundValue as error:
        raise BadValue(f"{api.upper()} cannot be asked: {error}") from None


def _encode(entity: Any, correlation_id: int, client_id: str, fields: Mapping[str, object]) -> bytes:
    request = _build(entity, fields)
    header = entity.__header_schema__(
        request_api_key=entity.__api_key__,
        request_api_version=entity.__version__,
        correlation_id=correlation_id,
        client_id=client_id,
    )
    buffer = BytesIO()
    _writer(entity.__header_schema__)(buffer, header)
    _writer(entity)(buffer, request)
    return buffer.getvalue()


def decode_response(api: str, version: int, answer: bytes, shape: int | None = None) -> Any:
    """In the shape of version `shape` (the newest, if none is given), whatever version it came in.

    Raises kio's SerialError (or ValueError) for bytes that are no such response.
    """
    entity = _class(api, version, "response")
    _, header_size = _reader(entity.__header_schema__)(answer, 0)
    response, _ = _reader(entity)(answer, header_size)
    shape = known_versions(api).highest if shape is None else shape
    return response if version == shape else _upgrade(api, version, shape)(response)


@cache
def _class(api: str, version: int, part: str) -> Any:
    own = _OWN_CLASSES.get((api, version, part))
    module = import_module(own or f"kio.schema.{api}.v{version}.{part}")
    return getattr(module, "".join(word.capitalize() for word in (*api.split("_"), part)))


@cache
def _upgrade(api: str, version: int, shape: int) -> Callable[[Any], Any]:
    return upgrader(_class(api, version, "response"), _class(api, shape, "response"))


@cache
def _writer(entity: Any) -> Any:
    return entity_writer(entity)


@cache
def _reader(entity: Any) -> Any:
    return entity_reader(entity)


def _build(entity: Any, values: Mapping[str, Any]) -> Any:
    arguments = {}
    for field in dataclasses.fields(entity):
        if field.name in values:
            kafka_type = field.metadata.get("kafka_type", "")
            arguments[field.name] = _value(field.type, kafka_type, values[field.name])
        else:
            arguments[field.name] = default_of(field)
    return entity(**arguments)


def _value(annotation: Any, kafka_type: str, value: Any) -> Any:
    if kafka_type.startswith("timedelta") and isinstance(value, int):
        return dt.timedelta(milliseconds=value)
    if value is None:
        return None
    nested = entity_of(annotation)
    if nested is None:
        return tuple(value) if isinstance(value, list) else value
    if isinstance(value, Mapping):
        return _build(nested, value)
    return tuple(_build(nested, each) for each in value)
