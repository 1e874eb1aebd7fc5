"""Produce, versions 3 to 13, by hand.

Reading copies nothing: record batches stay views of the receive buffer and are never copied in user
space (kio's reader is quick, but copies them). Writing: kio writes in pure Python and takes ten times as
long. Both are tested equal to kio.
"""

import struct
from typing import NamedTuple
from uuid import UUID

from barnabas.base.errors import InvalidRequest
from barnabas.base.ids import ZERO_UUID
from barnabas.wire.header import skip_tags
from barnabas.wire.primitives import (
    LeaderHint,
    NodeEndpoint,
    compact_string,
    endpoint_tags,
    leader_tag,
    legacy_string,
    read_unsigned_varint,
    write_unsigned_varint,
)

API_KEY = 0
FIRST_WITH_ZSTD = 7
FIRST_FLEXIBLE = 9
FIRST_WITH_LEADER_HINTS = 10
FIRST_WITH_TOPIC_IDS = 13

_ACKS_TIMEOUT = struct.Struct(">hi")
_ACKS_TIMEOUT_COUNT = struct.Struct(">hii")
_INT16 = struct.Struct(">h")
_INT32 = struct.Struct(">i")
_INT32_TWICE = struct.Struct(">ii")


class PartitionRecords(NamedTuple):
    partition: int
    records: bytes | memoryview | None
    """A view is valid as long as the frame. A caller that keeps it for longer copies it."""


class TopicRecords(NamedTuple):
    name: str
    topic_id: UUID
    partitions: list[PartitionRecords]


class ProduceRequest(NamedTuple):
    transactional_id: str | None
    acks: int
    timeout_ms: int
    topics: list[TopicRecords]


class ProducePartitionResult(NamedTuple):
    partition: int
    error_code: int = 0
    base_offset: int = -1
    log_append_time: int = -1
    log_start_offset: int = -1
    record_errors: tuple[tuple[int, str | None], ...] = ()
    error_message: str | None = None
    leader: LeaderHint | None = None


class ProduceTopicResult(NamedTuple):
    name: str
    topic_id: UUID
    partitions: list[ProducePartitionResult]


# --- reading ---------------------------------------------------------------------------------------------


def parse_produce(version: int, frame: memoryview, position: int) -> ProduceRequest:
    """The request at `position`; its records are views of `frame`. Raises InvalidRequest."""
    try:
        if version >= FIRST_FLEXIBLE:
            return _parse_flexible(version, frame, position)
        return _parse_legacy(frame, position)
    except (struct.error, IndexError, UnicodeDecodeError) as error:
        raise InvalidRequest(f"malformed Produce request: {error}") from error


def _parse_flexible(version: int, frame: memoryview, position: int) -> ProduceRequest:
    size, position = _read_compact_length(frame, position)
    transactional_id = None
    if size >= 0:
        transactional_id = str(_slice(frame, position, size), "utf-8")
        position += size
    acks, timeout_ms = _ACKS_TIMEOUT.unpack_from(frame, position)
    count, position = _read_compact_length(frame, position + _ACKS_TIMEOUT.size)
    topics = []
    for _ in range(_checked(count, frame)):
        topic, position = _read_flexible_topic(version, frame, position)
        topics.append(topic)
    skip_tags(frame, position)
    return ProduceRequest(transactional_id, acks, timeout_ms, topics)


def _read_flexible_topic(version: int, frame: memoryview, position: int) -> tuple[TopicRecords, int]:
    name, topic_id = "", ZERO_UUID
    if version >= FIRST_WITH_TOPIC_IDS:
        topic_id = UUID(bytes=bytes(_slice(frame, position, 16)))
        position += 16
    else:
        size, position = _read_compact_length(frame, position)
        name = _name(frame, position, size)
        position += size
    count, position = _read_compact_length(frame, position)
    partitions = []
    for _ in range(_checked(count, frame)):
        (number,) = _INT32.unpack_from(frame, position)
        size, position = _read_compact_length(frame, position + 4)
        if size < 0:
            partitions.append(PartitionRecords(number, None))
        else:
            partitions.append(PartitionRecords(number, _slice(frame, position, size)))
            position += size
        # Nearly always there are no tags, and a call is a tenth of this function's time.
        position = position + 1 if frame[position] == 0 else skip_tags(frame, position)
    position = position + 1 if frame[position] == 0 else skip_tags(frame, position)
    return TopicRecords(name, topic_id, partitions), position


def _read_compact_length(frame: memoryview, position: int) -> tuple[int, int]:
    length = frame[position]
    if length < 0x80:
        return length - 1, position + 1
    length, position = read_unsigned_varint(frame, position)
    return length - 1, position


def _parse_legacy(frame: memoryview, position: int) -> ProduceRequest:
    (size,) = _INT16.unpack_from(frame, position)
    position += 2
    transactional_id = None
    if size >= 0:
        transactional_id = str(_slice(frame, position, size), "utf-8")
        position += size
    acks, timeout_ms, count = _ACKS_TIMEOUT_COUNT.unpack_from(frame, position)
    position += _ACKS_TIMEOUT_COUNT.size
    topics = []
    for _ in range(_checked(count, frame)):
        (size,) = _INT16.unpack_from(frame, position)
        name = _name(frame, position + 2, size)
        position += 2 + size
        (count,) = _INT32.unpack_from(frame, position)
        partitions, position = _read_legacy_partitions(frame, position + 4, count)
        topics.append(TopicRecords(name, ZERO_UUID, partitions))
    return ProduceRequest(transactional_id, acks, timeout_ms, topics)


def _read_legacy_partitions(
    frame: memoryview, position: int, count: int
) -> tuple[list[PartitionRecords], int]:
    partitions = []
    for _ in range(_checked(count, frame)):
        number, size = _INT32_TWICE.unpack_from(frame, position)
        position += _INT32_TWICE.size
        if size < 0:
            partitions.append(PartitionRecords(number, None))
        else:
            partitions.append(PartitionRecords(number, _slice(frame, position, size)))
            position += size
    return partitions, position


def _name(frame: memoryview, position: int, size: int) -> str:
    if size < 0:
        raise InvalidRequest("malformed Produce request: a topic without a name")
    return str(_slice(frame, position, size), "utf-8")


def _slice(frame: memoryview, position: int, size: int) -> memoryview:
    end = position + size
    if end > len(frame):
        raise IndexError("a field reaches past the end of the request")
    return frame[position:end]


def _checked(count: int, frame: memoryview) -> int:
    if not 0 <= count <= len(frame):
        raise IndexError(f"an array of {count} elements in a request of {len(frame)} bytes")
    return count


# --- writing ---------------------------------------------------------------------------------------------

_OK_V3 = struct.Struct(">ihqq")
_OK_V5 = struct.Struct(">ihqqq")
_FLEXIBLE_HEAD = struct.Struct(">iib")


def encode_produce_response(
    version: int,
    correlation_id: int,
    topics: list[ProduceTopicResult],
    throttle_ms: int = 0,
    endpoints: tuple[NodeEndpoint, ...] = (),
) -> bytes:
    """A whole frame: length, response header, body."""
    if version < FIRST_FLEXIBLE:
        return _encode_legacy(version, correlation_id, topics, throttle_ms)
    body = write_unsigned_varint(len(topics) + 1)
    for name, topic_id, partitions in topics:
        body += topic_id.bytes if version >= FIRST_WITH_TOPIC_IDS else compact_string(name)
        body += write_unsigned_varint(len(partitions) + 1)
        for result in partitions:
            body += _flexible_partition(version, result)
        body += b"\x00"
    body += _INT32.pack(throttle_ms)
    body += endpoint_tags(endpoints) if endpoints and version >= FIRST_WITH_LEADER_HINTS else b"\x00"
    return _FLEXIBLE_HEAD.pack(len(body) + 5, correlation_id, 0) + body


def _flexible_partition(version: int, result: ProducePartitionResult) -> bytes:
    head = _OK_V5.pack(*result[:5])
    if not result.record_errors and result.error_message is None and result.leader is None:
        return head + b"\x01\x00\x00"
    parts = [head, write_unsigned_varint(len(result.record_errors) + 1)]
    for batch_index, message in result.record_errors:
        parts.append(_INT32.pack(batch_index) + compact_string(message) + b"\x00")
    parts.append(compact_string(result.error_message))
    if version >= FIRST_WITH_LEADER_HINTS and result.leader is not None:
        parts.append(b"\x01" + leader_tag(0, result.leader))
    else:
        parts.append(b"\x00")
    return b"".join(parts)


def _encode_legacy(
    version: int, correlation_id: int, topics: list[ProduceTopicResult], throttle_ms: int
) -> bytes:
    parts = [_INT32.pack(len(topics))]
    for topic in topics:
        parts.append(legacy_string(topic.name))
        parts.append(_INT32.pack(len(topic.partitions)))
        for result in topic.partitions:
            parts.append(_OK_V3.pack(*result[:4]) if version < 5 else _OK_V5.pack(*result[:5]))
            if version >= 8:
                parts.append(_INT32.pack(len(result.record_errors)))
                for batch_index, message in result.record_errors:
                    parts.append(_INT32.pack(batch_index) + legacy_string(message))
                parts.append(legacy_string(result.error_message))
    parts.append(_INT32.pack(throttle_ms))
    body = b"".join(parts)
    return struct.pack(">ii", len(body) + 4, correlation_id) + body
