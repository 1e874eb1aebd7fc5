"""Encodes requests from plain values, and decodes responses into one shape for all versions.

A request is given as keywords (`topics=[{"name": "a"}]`), so that one description serves all versions. A
field that the negotiated version lacks is omitted; a missing field has the default of the schema. A response
of an old version is converted to the newest version of kio, with defaults for missing fields. Renamed fields
are up to the caller: `max_version` keeps a request, and the shape of its response, below the rename.
"""

import dataclasses
import datetime as dt
import pkgutil
import struct
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from io import BytesIO
from typing import Any, NamedTuple

from kio.serial import entity_reader, entity_writer
from kio.serial.errors import OutOfBoundValue, SerialError

from barnabas.base.errors import InvalidRequest
from barnabas.wire.outgoing_request import OutgoingRequest, RequestBuilder
from barnabas.wire.schema_fields import default_of, entity_of
from barnabas.wire.schema_upgrade import upgrader

_OWN_CLASSES = {("describe_transactions", 0, "response"): "barnabas.wire.transaction_states"}
"""Responses that kio cannot decode, and the modules with a class that can."""


class Unencodable(ValueError):
    """A request cannot be encoded: a number is out of range, or a text is not valid. One line."""


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
    """Header and body, without the length of the frame. Raises Unencodable."""
    with _one_line(api):
        return _encode(_class(api, version, "request"), correlation_id, client_id, fields)


@contextmanager
def _one_line(api: str) -> Iterator[None]:
    """Turns what encoding raises into Unencodable."""
    try:
        yield
    except struct.error:
        raise Unencodable(f"{api.upper()} cannot be encoded: a number is too large or too small") from None
    except OverflowError:
        raise Unencodable(f"{api.upper()} cannot be encoded: a time is too long") from None
    except UnicodeEncodeError as error:
        raise Unencodable(f"{api.upper()} cannot be encoded: {error.object!r} is not UTF-8 text") from None
    except OutOfBoundValue as error:
        raise Unencodable(f"{api.upper()} cannot be encoded: {error}") from None


def message_request(
    api: str, fields: Mapping[str, object], *, oldest: int = 0, newest: int | None = None
) -> RequestBuilder:
    """A request in the newest version that both sides know. Encoding it raises Unencodable."""
    known = known_versions(api)
    highest = known.highest if newest is None else min(newest, known.highest)

    def build(version: int) -> OutgoingRequest:
        entity = _class(api, version, "request")
        with _one_line(api):
            buffer = BytesIO()
            _writer(entity)(buffer, _build(entity, fields))
        return OutgoingRequest(
            api, int(entity.__api_key__), version, entity.__flexible__, [buffer.getvalue()]
        )

    return RequestBuilder(api, api_key(api), max(oldest, known.lowest), highest, build)


def decode_body(api: str, version: int, body: Any, shape: int | None = None) -> Any:
    """Decodes a response without its header into the shape of version `shape` (None: the newest).

    Raises InvalidRequest if the bytes are not such a response.
    """
    try:
        response, _ = _reader(_class(api, version, "response"))(body.toreadonly(), 0)
    except (SerialError, ValueError, KeyError, struct.error) as error:
        raise InvalidRequest(f"Malformed response to {api.upper()}: {error}") from error
    shape = known_versions(api).highest if shape is None else shape
    return response if version == shape else _upgrade(api, version, shape)(response)


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
    """Decodes a response into the shape of version `shape` (None: the newest).

    Raises kio's SerialError (or ValueError) if the bytes are not such a response.
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
