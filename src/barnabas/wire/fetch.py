"""Fetch, versions 4 to 18: the request into one shape, the response by hand.

The response is a list of buffers and of file ranges: record batches go from the page cache to the
socket by `sendfile`, so only the bytes around them are written here. Tested equal to kio.
"""

import struct
from collections.abc import Sequence
from datetime import timedelta
from typing import Any, NamedTuple, Protocol
from uuid import UUID

from barnabas.base.errors import InvalidRequest
from barnabas.base.ids import ZERO_UUID
from barnabas.wire.primitives import (
    INT32,
    LeaderHint,
    NodeEndpoint,
    compact_string,
    endpoint_tags,
    leader_tag,
    legacy_string,
    write_unsigned_varint,
)
from barnabas.wire.schemas import request_schema

API_KEY = 1
FIRST_WITH_SESSIONS = 7
FIRST_WITH_RACK = 11
FIRST_FLEXIBLE = 12
FIRST_WITH_TOPIC_IDS = 13
FIRST_WITH_REPLICA_STATE = 15
FIRST_WITH_ENDPOINTS = 16
_MILLISECOND = timedelta(milliseconds=1)


class FetchPartition(NamedTuple):
    partition: int
    offset: int
    max_bytes: int
    leader_epoch: int = -1
    last_fetched_epoch: int = -1
    log_start_offset: int = -1


class FetchTopic(NamedTuple):
    name: str
    topic_id: UUID
    partitions: list[FetchPartition]


class ForgottenTopic(NamedTuple):
    name: str
    topic_id: UUID
    partitions: Sequence[int]


class FetchRequest(NamedTuple):
    replica_id: int
    max_wait_ms: int
    min_bytes: int
    max_bytes: int
    isolation_level: int
    session_id: int
    session_epoch: int
    topics: list[FetchTopic]
    forgotten: list[ForgottenTopic]
    rack_id: str
    replica_epoch: int = -1
    """The broker epoch of the follower that fetches (KIP-903)."""


class Sized(Protocol):
    """A range of records on disk. The connection that sends it reads the file."""

    @property
    def size(self) -> int: ...


Records = bytes | bytearray | Sized


def size_of(records: Records) -> int:
    return len(records) if isinstance(records, bytes | bytearray) else records.size


class FetchPartitionResult(NamedTuple):
    partition: int
    error_code: int = 0
    high_watermark: int = -1
    last_stable_offset: int = -1
    log_start_offset: int = -1
    aborted: Sequence[tuple[int, int]] | None = None
    records: Records | None = None
    leader: LeaderHint | None = None
    diverging: tuple[int, int] | None = None
    """Epoch and end offset where the follower's log leaves the leader's (KIP-595)."""
    head: bytes | None = None
    """The bytes before the records, if they were written ahead."""
    preferred_replica: int = -1
    """The broker the consumer should read from instead (KIP-392)."""


class FetchTopicResult(NamedTuple):
    name: str
    topic_id: UUID
    partitions: list[FetchPartitionResult]


# --- reading ---------------------------------------------------------------------------------------------


def parse_fetch(version: int, frame: memoryview, position: int) -> FetchRequest:
    try:
        raw, _ = request_schema(API_KEY, version, version).read(frame, position)
        return _request_of(version, raw)
    except Exception as error:  # kio's errors, and arrays that are null where none may be
        raise InvalidRequest(f"malformed Fetch request: {error}") from error


def _request_of(version: int, raw: Any) -> FetchRequest:
    with_ids = version >= FIRST_WITH_TOPIC_IDS
    has_sessions = version >= FIRST_WITH_SESSIONS
    replica_id = raw.replica_state.replica_id if version >= FIRST_WITH_REPLICA_STATE else raw.replica_id
    return FetchRequest(
        replica_id,
        raw.max_wait // _MILLISECOND,
        raw.min_bytes,
        raw.max_bytes,
        raw.isolation_level,
        raw.session_id if has_sessions else 0,
        raw.session_epoch if has_sessions else -1,
        [
            FetchTopic(
                "" if with_ids else topic.topic,
                (topic.topic_id or ZERO_UUID) if with_ids else ZERO_UUID,
                [_partition_of(version, each) for each in topic.partitions],
            )
            for topic in raw.topics
        ],
        [_forgotten_of(with_ids, topic) for topic in raw.forgotten_topics_data] if has_sessions else [],
        raw.rack_id if version >= FIRST_WITH_RACK else "",
        raw.replica_state.replica_epoch if version >= FIRST_WITH_REPLICA_STATE else -1,
    )


def _partition_of(version: int, each: Any) -> FetchPartition:
    return FetchPartition(
        each.partition,
        each.fetch_offset,
        each.partition_max_bytes,
        each.current_leader_epoch if version >= 9 else -1,
        each.last_fetched_epoch if version >= FIRST_FLEXIBLE else -1,
        each.log_start_offset if version >= 5 else -1,
    )


def _forgotten_of(with_ids: bool, topic: Any) -> ForgottenTopic:
    if with_ids:
        return ForgottenTopic("", topic.topic_id or ZERO_UUID, topic.partitions)
    return ForgottenTopic(topic.topic, ZERO_UUID, topic.partitions)


# --- writing ---------------------------------------------------------------------------------------------

_V4 = struct.Struct(">ihqq")
_V5 = struct.Struct(">ihqqq")
_ABORTED = struct.Struct(">qq")


def encode_fetch_response(
    version: int,
    correlation_id: int,
    topics: Sequence[FetchTopicResult],
    *,
    throttle_ms: int = 0,
    error_code: int = 0,
    session_id: int = 0,
    endpoints: tuple[NodeEndpoint, ...] = (),
) -> list[Any]:
    """A whole frame as parts to send in order: bytes, and the given record ranges between them."""
    flexible = version >= FIRST_FLEXIBLE
    pending = bytearray(b"\x00\x00\x00\x00")  # the length, once it is known
    pending += INT32.pack(correlation_id)
    if flexible:
        pending.append(0)
    pending += INT32.pack(throttle_ms)
    if version >= FIRST_WITH_SESSIONS:
        pending += struct.pack(">hi", error_code, session_id)
    pending += write_unsigned_varint(len(topics) + 1) if flexible else INT32.pack(len(topics))
    parts: list[Any] = []
    total = 0
    for topic in topics:
        if version >= FIRST_WITH_TOPIC_IDS:
            pending += topic.topic_id.bytes
        else:
            pending += compact_string(topic.name) if flexible else legacy_string(topic.name)
        count = len(topic.partitions)
        pending += write_unsigned_varint(count + 1) if flexible else INT32.pack(count)
        write_partition = _flexible_partition if flexible else _legacy_partition
        for result in topic.partitions:
            pending += write_partition(version, result) if result.head is None else result.head
            if result.records is not None:
                parts.append(pending)
                parts.append(result.records)
                total += len(pending) + size_of(result.records)
                pending = bytearray()
            if flexible:
                pending += _partition_tags(result)
        if flexible:
            pending.append(0)
    if flexible:
        pending += endpoint_tags(endpoints) if version >= FIRST_WITH_ENDPOINTS else b"\x00"
    if pending:
        parts.append(pending)
        total += len(pending)
    INT32.pack_into(parts[0], 0, total - 4)
    return parts


def encoded_ahead(version: int, result: FetchPartitionResult) -> FetchPartitionResult:
    """The same with its bytes: for an answer that is made in steps."""
    write = _flexible_partition if version >= FIRST_FLEXIBLE else _legacy_partition
    return result._replace(head=write(version, result))


def _flexible_partition(version: int, result: FetchPartitionResult) -> bytes:
    """Everything up to the records themselves."""
    head = _V5.pack(*result[:5])
    records = write_unsigned_varint(size_of(result.records) + 1) if result.records is not None else b"\x01"
    preferred = INT32.pack(result.preferred_replica)
    if result.aborted is None:
        return head + b"\x00" + preferred + records
    aborted = b"".join(_ABORTED.pack(*each) + b"\x00" for each in result.aborted)
    count = write_unsigned_varint(len(result.aborted) + 1)
    return head + count + aborted + preferred + records


def _partition_tags(result: FetchPartitionResult) -> bytes:
    if result.leader is None and result.diverging is None:
        return b"\x00"
    tags = b""
    if result.diverging is not None:
        tags += struct.pack(">bbiqb", 0, 13, *result.diverging, 0)
    if result.leader is not None:
        tags += leader_tag(1, result.leader)
    return bytes(((result.diverging is not None) + (result.leader is not None),)) + tags


def _legacy_partition(version: int, result: FetchPartitionResult) -> bytes:
    head = _V5.pack(*result[:5]) if version >= 5 else _V4.pack(*result[:4])
    if result.aborted is None:
        aborted = b"\xff\xff\xff\xff"
    else:
        aborted = INT32.pack(len(result.aborted)) + b"".join(_ABORTED.pack(*each) for each in result.aborted)
    preferred = INT32.pack(result.preferred_replica) if version >= FIRST_WITH_RACK else b""
    records = INT32.pack(size_of(result.records) if result.records is not None else 0)
    return head + aborted + preferred + records
