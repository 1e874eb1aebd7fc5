"""The client's side of Fetch, versions 4 to 18, by hand: the request that consumers and followers send.

A follower names itself (`replica_id`, and from version 15 on its broker epoch), states the leader epoch and
the epoch of its last record, and uses a session (KIP-227). The records of a response are views of its buffer:
the bytes that a socket received are the bytes that are decoded or appended.
"""

import struct
from collections.abc import Sequence
from typing import NamedTuple
from uuid import UUID

from barnabas.base.ids import ZERO_UUID
from barnabas.wire.fetch import (
    API_KEY,
    FIRST_FLEXIBLE,
    FIRST_WITH_ENDPOINTS,
    FIRST_WITH_REPLICA_STATE,
    FIRST_WITH_SESSIONS,
    FIRST_WITH_TOPIC_IDS,
    FetchPartition,
    FetchRequest,
)
from barnabas.wire.outgoing_request import OutgoingRequest
from barnabas.wire.primitives import (
    LeaderHint,
    NodeEndpoint,
    compact_string,
    legacy_string,
    write_unsigned_varint,
)
from barnabas.wire.response_reader import ResponseReader

OLDEST, NEWEST = 4, 18
_RACKS, _EPOCHS, _LOG_STARTS = 11, 9, 5
_CONSUMER = -1
_UNKNOWN = -1

_INT, _LONG, _STATUS = struct.Struct(">i"), struct.Struct(">q"), struct.Struct(">ihi")
_LIMITS, _SESSION = struct.Struct(">iiib"), struct.Struct(">ii")
_FLEXIBLE_PARTITION = struct.Struct(">iiqiqix")
"""Partition, leader epoch, offset, epoch of the last record, log start offset, limit, no tags."""
_REPLICA_STATE = struct.Struct(">bbbiqx")
_PARTITION, _ABORTED, _EPOCH_END = struct.Struct(">ihqq"), struct.Struct(">qq"), struct.Struct(">iq")
_LEADER, _SNAPSHOT = struct.Struct(">ii"), struct.Struct(">qi")
_DIVERGING_TAG, _LEADER_TAG, _SNAPSHOT_TAG, _ENDPOINTS_TAG = 0, 1, 2, 0
_NO_RECORDS = memoryview(b"")


class EpochEnd(NamedTuple):
    """A leader epoch and the offset after its last record."""

    epoch: int
    end_offset: int


class FetchedPartition(NamedTuple):
    partition: int
    error_code: int
    high_watermark: int = -1
    last_stable_offset: int = -1
    log_start_offset: int = -1
    aborted: Sequence[tuple[int, int]] = ()
    """Producer id and first offset of transactions that were aborted among the records."""
    preferred_read_replica: int = -1
    records: memoryview = _NO_RECORDS
    diverging: EpochEnd | None = None
    """Records after this epoch and offset differ from the leader's: the follower has to truncate."""
    leader: LeaderHint | None = None
    snapshot: tuple[int, int] | None = None
    """End offset and epoch of the snapshot to fetch. Only the metadata log of KRaft has snapshots."""


class FetchedTopic(NamedTuple):
    name: str
    """Empty from version 13 on."""
    topic_id: UUID
    partitions: list[FetchedPartition]


class FetchResponse(NamedTuple):
    throttle_ms: int
    error_code: int
    session_id: int
    topics: list[FetchedTopic]
    endpoints: Sequence[NodeEndpoint] = ()
    """Where the leaders are that the partitions name."""


# --- the request -------------------------------------------------------------------------------------------


def fetch_request(version: int, request: FetchRequest) -> OutgoingRequest:
    is_flexible = version >= FIRST_FLEXIBLE
    string, tags = (compact_string, b"\x00") if is_flexible else (legacy_string, b"")
    body = bytearray()
    if version < FIRST_WITH_REPLICA_STATE:
        body += _INT.pack(request.replica_id)
    body += _LIMITS.pack(request.max_wait_ms, request.min_bytes, request.max_bytes, request.isolation_level)
    if version >= FIRST_WITH_SESSIONS:
        body += _SESSION.pack(request.session_id, request.session_epoch)
    body += _count(len(request.topics), is_flexible)
    for topic in request.topics:
        body += topic.topic_id.bytes if version >= FIRST_WITH_TOPIC_IDS else string(topic.name)
        body += _count(len(topic.partitions), is_flexible)
        for partition in topic.partitions:
            body += _flexible_partition(partition) if is_flexible else _legacy_partition(version, partition)
        body += tags
    if version >= FIRST_WITH_SESSIONS:
        body += _count(len(request.forgotten), is_flexible)
        for forgotten in request.forgotten:
            body += forgotten.topic_id.bytes if version >= FIRST_WITH_TOPIC_IDS else string(forgotten.name)
            body += _count(len(forgotten.partitions), is_flexible)
            body += struct.pack(f">{len(forgotten.partitions)}i", *forgotten.partitions)
            body += tags
    if version >= _RACKS:
        body += string(request.rack_id)
    body += _request_tags(version, request) if is_flexible else b""
    return OutgoingRequest("fetch", API_KEY, version, is_flexible, [bytes(body)])


def _flexible_partition(each: FetchPartition) -> bytes:
    return _FLEXIBLE_PARTITION.pack(
        each.partition,
        each.leader_epoch,
        each.offset,
        each.last_fetched_epoch,
        each.log_start_offset,
        each.max_bytes,
    )


def _legacy_partition(version: int, each: FetchPartition) -> bytes:
    parts = [_INT.pack(each.partition)]
    if version >= _EPOCHS:
        parts.append(_INT.pack(each.leader_epoch))
    parts.append(_LONG.pack(each.offset))
    if version >= _LOG_STARTS:
        parts.append(_LONG.pack(each.log_start_offset))
    parts.append(_INT.pack(each.max_bytes))
    return b"".join(parts)


def _request_tags(version: int, request: FetchRequest) -> bytes:
    if version < FIRST_WITH_REPLICA_STATE or request.replica_id == _CONSUMER:
        return b"\x00"
    return _REPLICA_STATE.pack(1, 1, 13, request.replica_id, request.replica_epoch)


def _count(value: int, is_flexible: bool) -> bytes:
    return write_unsigned_varint(value + 1) if is_flexible else _INT.pack(value)


# --- the response ------------------------------------------------------------------------------------------


def parse_fetch_response(version: int, response: memoryview) -> FetchResponse:
    """Raises one of response_reader.MALFORMED if the bytes are not a response."""
    reader = ResponseReader(response, is_flexible=version >= FIRST_FLEXIBLE)
    if version >= FIRST_WITH_SESSIONS:
        throttle_ms, error_code, session_id = reader.unpack(_STATUS)
    else:
        (throttle_ms,), error_code, session_id = reader.unpack(_INT), 0, 0
    topics = []
    for _ in range(reader.count()):
        name, topic_id = "", ZERO_UUID
        if version >= FIRST_WITH_TOPIC_IDS:
            topic_id = reader.uuid()
        else:
            name = reader.text() or ""
        partitions = [_parse_partition(version, reader) for _ in range(reader.count())]
        reader.tags()
        topics.append(FetchedTopic(name, topic_id, partitions))
    tagged = reader.tagged()
    endpoints: Sequence[NodeEndpoint] = ()
    if version >= FIRST_WITH_ENDPOINTS and _ENDPOINTS_TAG in tagged:
        endpoints = _parse_endpoints(tagged[_ENDPOINTS_TAG])
    return FetchResponse(throttle_ms, error_code, session_id, topics, endpoints)


def _parse_partition(version: int, reader: ResponseReader) -> FetchedPartition:
    partition, error_code, high_watermark, last_stable_offset = reader.unpack(_PARTITION)
    log_start_offset = reader.unpack(_LONG)[0] if version >= _LOG_STARTS else _UNKNOWN
    aborted = []
    for _ in range(reader.count()):
        producer_id, first_offset = reader.unpack(_ABORTED)
        aborted.append((producer_id, first_offset))
        reader.tags()
    preferred = reader.unpack(_INT)[0] if version >= _RACKS else _UNKNOWN
    records = reader.raw()
    found = FetchedPartition(
        partition,
        error_code,
        high_watermark,
        last_stable_offset,
        log_start_offset,
        aborted,
        preferred,
        _NO_RECORDS if records is None else records,
    )
    tagged = reader.tagged()
    return _with_tags(found, tagged) if tagged else found


def _with_tags(found: FetchedPartition, tagged: dict[int, memoryview]) -> FetchedPartition:
    """Values of -1 stand for a structure that is absent."""
    diverging = leader = snapshot = None
    if _DIVERGING_TAG in tagged:
        end = EpochEnd(*_EPOCH_END.unpack_from(tagged[_DIVERGING_TAG]))
        diverging = end if end.epoch != _UNKNOWN else None
    if _LEADER_TAG in tagged:
        hint = LeaderHint(*_LEADER.unpack_from(tagged[_LEADER_TAG]))
        leader = hint if hint.leader_epoch != _UNKNOWN else None
    if _SNAPSHOT_TAG in tagged:
        end_offset, epoch = _SNAPSHOT.unpack_from(tagged[_SNAPSHOT_TAG])
        snapshot = (end_offset, epoch) if end_offset != _UNKNOWN else None
    return found._replace(diverging=diverging, leader=leader, snapshot=snapshot)


def _parse_endpoints(field: memoryview) -> list[NodeEndpoint]:
    reader = ResponseReader(field, is_flexible=True)
    found = []
    for _ in range(reader.count()):
        (node_id,) = reader.unpack(_INT)
        host = reader.text() or ""
        (port,) = reader.unpack(_INT)
        found.append(NodeEndpoint(node_id, host, port, reader.text()))
        reader.tags()
    return found
