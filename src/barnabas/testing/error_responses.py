"""A response of any API, in any version, that carries one error code wherever Kafka puts it.

A response with an error code at its top carries it there. The others repeat the topics, partitions, groups
or resources of the request, each with the error. Apache Kafka's classes of requests do the same
(`getErrorResponse`), but for two responses: partitions of a Fetch carry the error, unless it is one of a
fetch session, since Kafka's leaders answer that way; and the topics of a Metadata response do, beside the
brokers (`with_topic_errors`).
"""

import dataclasses
import struct
from collections.abc import Callable, Iterator, Sequence
from io import BytesIO
from typing import Any
from uuid import UUID

from kio.index import load_response_schema
from kio.serial import entity_reader, entity_writer

from barnabas.base.errors import ErrorCode
from barnabas.handlers.fetch_sessions import FetchSessions
from barnabas.handlers.registry import FETCH, PRODUCE
from barnabas.network.responses import Parts
from barnabas.wire import Reply
from barnabas.wire.fetch import (
    FIRST_WITH_SESSIONS,
    FIRST_WITH_TOPIC_IDS,
    FetchPartitionResult,
    FetchRequest,
    FetchTopicResult,
    encode_fetch_response,
)
from barnabas.wire.header import RequestHeader
from barnabas.wire.produce import (
    ProducePartitionResult,
    ProduceRequest,
    ProduceTopicResult,
    encode_produce_response,
)
from barnabas.wire.schema_fields import entity_of, is_array
from barnabas.wire.schemas import encode_by_schema, response_schema

METADATA = 3
_ALTER_REPLICA_LOG_DIRS, _ELECT_LEADERS, _ALTER_REASSIGNMENTS = 34, 43, 45
_TOP_AND_ITEMS = frozenset({_ELECT_LEADERS, _ALTER_REASSIGNMENTS})
_SESSION_ERRORS = frozenset(
    {
        ErrorCode.fetch_session_id_not_found,
        ErrorCode.invalid_fetch_session_epoch,
        ErrorCode.fetch_session_topic_id_error,
    }
)
_SOURCES: dict[str, tuple[str, ...]] = {
    "coordinators": ("coordinator_keys",),
    "filter_results": ("filters",),
    "groups": ("groups", "group_ids"),
    "markers": ("markers",),
    "partition_result": ("partitions",),
    "partitions": ("partitions", "partition_indexes"),
    "replica_election_results": ("topic_partitions",),
    "responses": ("topics", "topic_names", "resources"),
    "results": ("resources", "topics", "groups_names", "creations"),
    "results_by_partition": ("partitions",),
    "results_by_topic_v3_and_below": ("v3_and_below_topics", "topics"),
    "topics": ("topics",),
    "transaction_states": ("transactional_ids",),
}
"""An array of a response, and the array of the request whose items it answers."""
_IDENTITIES: dict[str, tuple[str, ...]] = {
    name: (name, *others)
    for name, others in {
        "group_id": (),
        "name": ("topic",),
        "partition": ("partition_index",),
        "partition_id": (),
        "partition_index": ("partition", "index"),
        "producer_id": (),
        "resource_name": (),
        "resource_type": (),
        "topic": ("name",),
        "topic_id": (),
        "topic_name": ("name",),
    }.items()
}
"""A field that says what an item is about, and the fields of the request that have the same."""
_LENGTH = struct.Struct(">i")


def error_response(header: RequestHeader, body: Any, code: ErrorCode, sessions: FetchSessions) -> Parts:
    """A whole frame. `body` is the request in its own version."""
    if header.api_key == PRODUCE:
        return [_produce(header, body, code)]
    if header.api_key == FETCH:
        return _fetch(header, body, code, sessions)
    entity = response_schema(header.api_key, header.version).entity
    if header.api_key == _ALTER_REPLICA_LOG_DIRS:
        body = _by_topic(body)
    reply = _reply(entity, body, code, is_both=header.api_key in _TOP_AND_ITEMS)
    payload = encode_by_schema(header.api_key, header.version, header.correlation_id, reply)
    return [_LENGTH.pack(len(payload)) + payload]


def with_topic_errors(parts: Parts, version: int, code: ErrorCode) -> Parts:
    """A Metadata response whose topics have this error, and no partitions."""

    def change(response: Any) -> Any:
        topics = tuple(
            dataclasses.replace(topic, error_code=code, partitions=()) for topic in response.topics
        )
        return dataclasses.replace(response, topics=topics)

    return _rewritten(parts, METADATA, version, change)


def with_throttle_time(parts: Parts, api_key: int, version: int, milliseconds: int) -> Parts | None:
    """The response with this throttle time; None if it has no field for it."""
    schema = response_schema(api_key, version)
    names = [field.name for field in dataclasses.fields(schema.entity)]
    if "throttle_time" not in names:
        return None
    if names[0] == "throttle_time":
        # It may be followed by ranges of files: only the first bytes are changed.
        first = bytearray(parts[0])  # type: ignore[arg-type]
        _LENGTH.pack_into(first, 2 * _LENGTH.size + schema.has_header_tags, milliseconds)
        return [bytes(first), *parts[1:]]

    def change(response: Any) -> Any:
        kind = type(response.throttle_time)
        return dataclasses.replace(response, throttle_time=kind(milliseconds=milliseconds))

    return _rewritten(parts, api_key, version, change)


def topics_of(api_key: int, body: Any, sessions: FetchSessions) -> Iterator[str | UUID]:
    """The topics of a request: names, or ids where it has ids."""
    if api_key == FETCH:
        for key in sessions.partitions_of(body.session_id):
            yield key.name or key.topic_id
    for name in ("topics", "topic_data", "topic_names", "v3_and_below_topics", "topic_partitions"):
        for each in getattr(body, name, None) or ():
            yield each if isinstance(each, str) else _topic_name(each)
    for name in ("markers", "transactions", "groups", "dirs"):
        for each in getattr(body, name, None) or ():
            if not isinstance(each, str):
                yield from topics_of(-1, each, sessions)


def _topic_name(item: Any) -> str | UUID:
    for name in ("name", "topic", "topic_name", "topic_id"):
        found = getattr(item, name, None)
        if found:
            return found  # type: ignore[no-any-return]
    return ""


# --- records ---------------------------------------------------------------------------------------------


def _produce(header: RequestHeader, body: ProduceRequest, code: ErrorCode) -> bytes:
    topics = [
        ProduceTopicResult(
            topic.name,
            topic.topic_id,
            [ProducePartitionResult(each.partition, code) for each in topic.partitions],
        )
        for topic in body.topics
    ]
    return encode_produce_response(header.version, header.correlation_id, topics)


def _fetch(header: RequestHeader, body: FetchRequest, code: ErrorCode, sessions: FetchSessions) -> Parts:
    version, correlation_id = header.version, header.correlation_id
    if code in _SESSION_ERRORS and version >= FIRST_WITH_SESSIONS:
        return encode_fetch_response(version, correlation_id, (), error_code=code)
    resolved = sessions.resolve(body, version >= FIRST_WITH_TOPIC_IDS)
    if resolved.error is not ErrorCode.none:
        return encode_fetch_response(version, correlation_id, (), error_code=resolved.error)
    topics: dict[tuple[str, UUID], FetchTopicResult] = {}
    for key, _ in resolved.partitions:
        topic = topics.setdefault((key.name, key.topic_id), FetchTopicResult(key.name, key.topic_id, []))
        topic.partitions.append(FetchPartitionResult(key.partition, code))
    results = list(topics.values())
    session = resolved.session
    if session is not None:
        results = session.filter(results)
    return encode_fetch_response(
        version, correlation_id, results, session_id=0 if session is None else session.id
    )


# --- every other API -------------------------------------------------------------------------------------


def _reply(entity: Any, item: Any, code: ErrorCode, *, is_both: bool = False) -> Reply:
    fields = dataclasses.fields(entity)
    reply = Reply()
    is_named = not isinstance(item, str | int)
    for field in fields:
        if field.metadata.get("kafka_type") == "error_code":
            setattr(reply, field.name, code)
        elif field.name == "error_message":
            reply.error_message = f"injected by a test: {code.name.upper()}"
        elif field.name in _IDENTITIES and is_named:
            _copy_identity(reply, field.name, item)
    if not is_named:
        setattr(reply, _first_identity(fields, item), item)
    has_code = any(field.metadata.get("kafka_type") == "error_code" for field in fields)
    if not has_code or is_both:
        for field in fields:
            inner = entity_of(field.type)
            if is_array(field.type) and inner is not None:
                items = _source(item, field.name)
                setattr(reply, field.name, [_reply(inner, each, code) for each in items])
    return reply


def _copy_identity(reply: Reply, name: str, item: Any) -> None:
    for source in _IDENTITIES[name]:
        found = getattr(item, source, None)
        if found is not None:
            setattr(reply, name, found)
            return


def _first_identity(fields: "Sequence[dataclasses.Field[Any]]", item: object) -> str:
    """The first field that can have the value of an item that is a plain name or number."""
    kind = "string" if isinstance(item, str) else "int32"
    return next(
        field.name
        for field in fields
        if field.metadata.get("kafka_type") == kind and field.name != "error_message"
    )


def _source(item: Any, name: str) -> Sequence[Any]:
    for source in _SOURCES.get(name, ()):
        found = getattr(item, source, None)
        if found is not None:
            return tuple(found)
    return ()


def _by_topic(body: Any) -> Reply:
    """AlterReplicaLogDirs names topics below directories; its response names topics."""
    return Reply(topics=[topic for directory in body.dirs for topic in directory.topics])


def _rewritten(parts: Parts, api_key: int, version: int, change: Callable[[Any], Any]) -> Parts:
    entity = load_response_schema(api_key, version)
    frame = b"".join(bytes(part) for part in parts)  # type: ignore[arg-type]
    begin = 2 * _LENGTH.size + response_schema(api_key, version).has_header_tags
    response, _ = entity_reader(entity)(memoryview(frame), begin)
    out = BytesIO()
    entity_writer(entity)(out, change(response))
    body = frame[_LENGTH.size : begin] + out.getvalue()
    return [_LENGTH.pack(len(body)) + body]
