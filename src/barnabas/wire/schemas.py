"""kio's schemas, loaded one by one as clients ask for them.

A request is handed to its handler in the shape of the newest version this broker serves, whatever
version it came in: fields the old version lacks take the schema's default, and the few that were
renamed on the way are carried over by `wire.upgrades`. A response goes the other way: the handler's
`Reply` is cut to the fields of the negotiated version.
"""

import dataclasses
import io
import struct
import typing
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import cache
from types import NoneType
from typing import Any, NamedTuple

from kio.index import KioIndexError, load_request_schema, load_response_schema
from kio.schema.errors import ErrorCode
from kio.serial import entity_reader, entity_writer
from kio.serial.errors import SerialError

from barnabas.base.errors import InvalidRequest
from barnabas.wire import metadata
from barnabas.wire.lengths import checked, length_check
from barnabas.wire.reply import Reply
from barnabas.wire.upgrades import UPGRADES

_CORRELATION = struct.Struct(">i")
_API_VERSIONS = 18
_NO_DEFAULT: Any = object()
_ZEROES: dict[str, Any] = {
    "string": "",
    "bytes": b"",
    "records": None,
    "uuid": None,
    "bool": False,
    "error_code": ErrorCode.none,
    "timedelta_i32": timedelta(0),
    "timedelta_i64": timedelta(0),
    "float64": 0.0,
    "datetime_i64": None,
}


class RequestSchema(NamedTuple):
    """How one version of one request is read."""

    read: Callable[[Any, int], tuple[Any, int]]
    has_header_tags: bool
    upgrade: Callable[[Any], Any] | None


class ResponseSchema(NamedTuple):
    """How one version of one response is written."""

    shape: Callable[[Reply], Any]
    write: Callable[[io.BytesIO, Any], None]
    has_header_tags: bool


@cache
def request_schema(api_key: int, version: int, newest: int) -> RequestSchema:
    entity = load_request_schema(api_key, version)
    upgrade = None
    if version != newest:
        to_newest = _upgrader(entity, load_request_schema(api_key, newest))
        renamed = UPGRADES.get(api_key)
        upgrade = to_newest if renamed is None else _with_renamed(to_newest, renamed)
    has_tags = entity.__header_schema__.__version__ >= 2
    return RequestSchema(_guarded(entity), has_tags, upgrade)


def _guarded(entity: type) -> Callable[[Any, int], tuple[Any, int]]:
    check = length_check(entity)
    read: Callable[[Any, int], tuple[Any, int]] = entity_reader(entity)

    def checked_read(buffer: memoryview, position: int) -> tuple[Any, int]:
        return read(*checked(buffer, position, check))

    return checked_read


def parse_request(
    api_key: int, version: int, newest: int, buffer: memoryview, position: int
) -> tuple[Any, Any]:
    """The request body at `position`: in the newest version's shape, and as it came.

    Raises InvalidRequest for bytes that are not such a request.
    """
    schema = request_schema(api_key, version, newest)
    try:
        raw, _ = schema.read(buffer, position)
    except (SerialError, ValueError, OverflowError, KeyError) as error:
        raise InvalidRequest(f"malformed request: {type(error).__name__}: {error}") from error
    return (raw if schema.upgrade is None else schema.upgrade(raw)), raw


@cache
def response_schema(api_key: int, version: int) -> ResponseSchema:
    entity = load_response_schema(api_key, version)
    # A client must be able to read the answer to ApiVersions before it knows the broker's versions.
    has_tags = entity.__header_schema__.__version__ >= 1 and api_key != _API_VERSIONS
    return ResponseSchema(_shaper(entity, _known_names(api_key)), entity_writer(entity), has_tags)


def encode_response(api_key: int, version: int, correlation_id: int, reply: Reply) -> bytes:
    """Header and body of a response, without the length that frames it."""
    if api_key == metadata.API_KEY:
        return metadata.encode_metadata(version, correlation_id, reply)
    return encode_with_kio(api_key, version, correlation_id, reply)


def encode_with_kio(api_key: int, version: int, correlation_id: int, reply: Reply) -> bytes:
    schema = response_schema(api_key, version)
    buffer = io.BytesIO()
    buffer.write(_CORRELATION.pack(correlation_id))
    if schema.has_header_tags:
        buffer.write(b"\x00")
    schema.write(buffer, schema.shape(reply))
    return buffer.getvalue()


# --- from an older request to the newest -------------------------------------------------------------


def _with_renamed(
    upgrade: Callable[..., Any], renamed: Callable[[Any], dict[str, Any]]
) -> Callable[[Any], Any]:
    return lambda raw: upgrade(raw, renamed(raw))


def _upgrader(old: type, new: type) -> Callable[..., Any]:
    old_fields = {field.name: field for field in dataclasses.fields(old)}
    carried: list[tuple[str, Callable[[Any], Any] | None]] = []
    defaults: dict[str, Any] = {}
    for field in dataclasses.fields(new):
        if field.name in old_fields:
            inner_old, inner_new = _entity_of(old_fields[field.name].type), _entity_of(field.type)
            nested = _upgrader(inner_old, inner_new) if inner_old and inner_new else None
            carried.append((field.name, nested))
        else:
            defaults[field.name] = _default_of(field)

    def upgrade(raw: Any, extra: dict[str, Any] | None = None) -> Any:
        values = dict(defaults)
        for name, nested in carried:
            value = getattr(raw, name)
            if nested is not None and value is not None:
                value = tuple(map(nested, value)) if isinstance(value, tuple) else nested(value)
            values[name] = value
        if extra:
            values.update(extra)
        return new(**values)

    return upgrade


def _entity_of(annotation: Any) -> type | None:
    """The entity inside `Entity`, `Entity | None`, `tuple[Entity, ...]` or `tuple[Entity, ...] | None`."""
    if dataclasses.is_dataclass(annotation) and isinstance(annotation, type):
        return annotation
    for argument in typing.get_args(annotation):
        found = _entity_of(argument)
        if found is not None:
            return found
    return None


def _is_array(annotation: Any) -> bool:
    return typing.get_origin(annotation) is tuple or any(
        typing.get_origin(argument) is tuple for argument in typing.get_args(annotation)
    )


def _default_of(field: "dataclasses.Field[Any]") -> Any:
    if field.default is not dataclasses.MISSING:
        return field.default
    if NoneType in typing.get_args(field.type):
        return None
    if _is_array(field.type):
        return ()
    entity = _entity_of(field.type)
    if entity is not None:
        return entity(**{inner.name: _default_of(inner) for inner in dataclasses.fields(entity)})
    return _ZEROES.get(field.metadata["kafka_type"], 0)


# --- from a reply to the negotiated response -----------------------------------------------------------


def _convert_timedelta(value: Any) -> Any:
    return timedelta(milliseconds=value) if isinstance(value, int) else value


def _convert_datetime(value: Any) -> Any:
    if not isinstance(value, int):
        return value
    return None if value < 0 else datetime.fromtimestamp(value / 1000, UTC)


_CONVERTERS: dict[str, Callable[[Any], Any]] = {
    "timedelta_i32": _convert_timedelta,
    "timedelta_i64": _convert_timedelta,
    "datetime_i64": _convert_datetime,
    "error_code": ErrorCode,
}


@cache
def _known_names(api_key: int) -> frozenset[str]:
    """Every field name any version of this response has, at any depth: a reply may use only these."""
    names: set[str] = set()
    for version in range(32):
        try:
            entity = load_response_schema(api_key, version)
        except KioIndexError:
            continue
        _collect_names(entity, names)
    return frozenset(names)


def _collect_names(entity: type, names: set[str]) -> None:
    for field in dataclasses.fields(entity):
        names.add(field.name)
        inner = _entity_of(field.type)
        if inner is not None:
            _collect_names(inner, names)


def _shaper(entity: type, known: frozenset[str]) -> Callable[[Reply], Any]:
    plan: list[tuple[str, Any, Callable[[Any], Any] | None, bool]] = []
    for field in dataclasses.fields(entity):
        inner = _entity_of(field.type)
        convert: Callable[[Any], Any] | None
        if inner is not None:
            convert = _shaper(inner, known)
        else:
            convert = _CONVERTERS.get(field.metadata["kafka_type"])
        plan.append((field.name, _default_of(field), convert, _is_array(field.type)))

    def shape(reply: Reply) -> Any:
        given = vars(reply)
        if not given.keys() <= known:
            raise TypeError(f"{entity.__name__} has no field {sorted(given.keys() - known)}")
        values: dict[str, Any] = {}
        for name, default, convert, is_array in plan:
            value = given.get(name, _NO_DEFAULT)
            if value is _NO_DEFAULT:
                value = default
            elif value is not None:
                if is_array:
                    value = tuple(value) if convert is None else tuple(map(convert, value))
                elif convert is not None:
                    value = convert(value)
            values[name] = value
        return entity(**values)

    return shape
