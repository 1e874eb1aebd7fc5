"""kio's schemas, each loaded when a client first uses it.

A request is handed to its handler in the shape of the newest version this broker serves, whatever
version it came in: fields the old version lacks take the schema's default, and the few that were
renamed on the way are carried over by `wire.upgrades`. A response goes the other way: the handler's
`Reply` is cut to the fields of the negotiated version.
"""

import dataclasses
import struct
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

from kio.index import KioIndexError, load_request_schema, load_response_schema
from kio.serial import entity_reader
from kio.serial.errors import SerialError

from barnabas.base.errors import InvalidRequest
from barnabas.wire import heartbeat, metadata, offset_commit
from barnabas.wire.lengths import checked, length_check
from barnabas.wire.reply import Reply
from barnabas.wire.reply_writer import reply_writer
from barnabas.wire.schema_fields import entity_of
from barnabas.wire.schema_upgrade import upgrader
from barnabas.wire.upgrades import UPGRADES

_CORRELATION = struct.Struct(">i")
_API_VERSIONS = 18


class RequestSchema(NamedTuple):
    """How one version of one request is read."""

    read: Callable[[Any, int], tuple[Any, int]]
    has_header_tags: bool
    upgrade: Callable[[Any], Any] | None


class ResponseSchema(NamedTuple):
    """How one version of one response is written."""

    write: Callable[[Reply], bytes]
    has_header_tags: bool
    entity: Any
    known: frozenset[str]
    """Every field name of any version."""


@cache
def request_schema(api_key: int, version: int, newest: int) -> RequestSchema:
    entity = load_request_schema(api_key, version)
    upgrade = None
    if version != newest:
        to_newest = upgrader(entity, load_request_schema(api_key, newest))
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
    by_hand = _READ_BY_HAND.get(api_key)
    if by_hand is not None:
        body = by_hand(version, buffer, position)
        return body, body
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
    known = _known_names(api_key)
    return ResponseSchema(reply_writer(entity, known), has_tags, entity, known)


def encode_response(api_key: int, version: int, correlation_id: int, reply: Reply) -> bytes:
    """Header and body of a response, without the length that frames it."""
    by_hand = _WRITTEN_BY_HAND.get(api_key)
    if by_hand is not None:
        return by_hand(version, correlation_id, reply)
    return encode_by_schema(api_key, version, correlation_id, reply)


def encode_by_schema(api_key: int, version: int, correlation_id: int, reply: Reply) -> bytes:
    """The same also for responses that are usually written by hand."""
    schema = response_schema(api_key, version)
    head = _CORRELATION.pack(correlation_id)
    return head + (b"\x00" if schema.has_header_tags else b"") + schema.write(reply)


_READ_BY_HAND: dict[int, Callable[[int, memoryview, int], Any]] = {
    offset_commit.API_KEY: offset_commit.parse_offset_commit,
    heartbeat.API_KEY: heartbeat.parse_heartbeat,
}
_WRITTEN_BY_HAND: dict[int, Callable[[int, int, Reply], bytes]] = {
    metadata.API_KEY: metadata.encode_metadata,
    offset_commit.API_KEY: lambda version, correlation_id, reply: offset_commit.encode_offset_commit(
        version, correlation_id, reply.topics
    ),
    heartbeat.API_KEY: lambda version, correlation_id, reply: heartbeat.encode_heartbeat(
        version, correlation_id, reply.error_code
    ),
}


def is_written_by_hand(api_key: int) -> bool:
    """Whether responses of this API need no schema, unless they are very long."""
    return api_key in _WRITTEN_BY_HAND


# --- from an older request to the newest -------------------------------------------------------------


def _with_renamed(
    upgrade: Callable[..., Any], renamed: Callable[[Any], dict[str, Any]]
) -> Callable[[Any], Any]:
    return lambda raw: upgrade(raw, renamed(raw))


# --- from a reply to the negotiated response -----------------------------------------------------------


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
        inner = entity_of(field.type)
        if inner is not None:
            _collect_names(inner, names)
