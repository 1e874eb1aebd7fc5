"""OffsetCommit, versions 2 to 10, by hand: consumers send it all the time, and kio takes ten times as long.

What is read has the names of kio's fields, and is tested equal to what kio reads; so is what is written.
"""

import struct
from functools import cache
from itertools import repeat
from typing import NamedTuple
from uuid import UUID

from barnabas.base.errors import ErrorCode, InvalidRequest
from barnabas.base.ids import ZERO_UUID
from barnabas.wire.header import skip_tags
from barnabas.wire.primitives import (
    compact_string,
    legacy_string,
    read_compact_text,
    read_legacy_text,
    read_unsigned_varint,
    write_unsigned_varint,
)

API_KEY = 8
FIRST_WITH_THROTTLE = 3
LAST_WITH_RETENTION_TIME = 4
FIRST_WITH_LEADER_EPOCH = 6
FIRST_WITH_INSTANCE_ID = 7
FIRST_FLEXIBLE = 8
FIRST_WITH_TOPIC_IDS = 10

NO_RETENTION_TIME = -1

_INT32 = struct.Struct(">i")
_INT64 = struct.Struct(">q")
_OFFSET = struct.Struct(">iq")
_OFFSET_AND_EPOCH = struct.Struct(">iqi")
_RESULT = struct.Struct(">ih")
_EMPTY_TEXT = 1
PARTITION_WITHOUT_METADATA = 18
MOST_PARTITIONS_AT_ONCE = 64
_FLEXIBLE_RESULT = struct.Struct(">ihx")


CommittedPartition = tuple[int, int, int, str | None]
"""Partition, offset, leader epoch, metadata. Plain tuples: a commit may have thousands."""
CommitPartitionResult = tuple[int, ErrorCode]
"""Partition and error."""


class CommittedTopic(NamedTuple):
    name: str
    """Empty from version 10 on."""
    topic_id: UUID
    """All zeroes before version 10."""
    partitions: list[CommittedPartition]


class OffsetCommitRequest(NamedTuple):
    group_id: str
    generation_id_or_member_epoch: int
    member_id: str
    group_instance_id: str | None
    retention_time_ms: int
    topics: list[CommittedTopic]


class CommitTopicResult(NamedTuple):
    name: str
    topic_id: UUID
    partitions: list[CommitPartitionResult]


# --- reading ---------------------------------------------------------------------------------------------


def parse_offset_commit(version: int, frame: memoryview, position: int) -> OffsetCommitRequest:
    """The request at `position`. Raises InvalidRequest."""
    try:
        if version >= FIRST_FLEXIBLE:
            return _parse_flexible(version, bytes(frame), position)
        return _parse_legacy(version, bytes(frame), position)
    except (struct.error, IndexError, UnicodeDecodeError) as error:
        raise InvalidRequest(f"malformed OffsetCommit request: {error}") from error


def _parse_flexible(version: int, frame: bytes, position: int) -> OffsetCommitRequest:
    group_id, position = _compact_name(frame, position)
    (generation,) = _INT32.unpack_from(frame, position)
    member_id, position = _compact_name(frame, position + 4)
    instance_id, position = read_compact_text(frame, position)
    count, position = _compact_count(frame, position)
    topics = []
    for _ in range(count):
        topic, position = _flexible_topic(version, frame, position)
        topics.append(topic)
    skip_tags(memoryview(frame), position)
    return OffsetCommitRequest(group_id, generation, member_id, instance_id, NO_RETENTION_TIME, topics)


def _flexible_topic(version: int, frame: bytes, position: int) -> tuple[CommittedTopic, int]:
    name, topic_id = "", ZERO_UUID
    if version >= FIRST_WITH_TOPIC_IDS:
        if position + 16 > len(frame):
            raise IndexError("a topic id reaches past the end of the request")
        topic_id = UUID(bytes=frame[position : position + 16])
        position += 16
    else:
        name, position = _compact_name(frame, position)
    count, position = _compact_count(frame, position)
    partitions = _flexible_partitions_without_metadata(frame, position, count)
    if partitions is None:
        partitions, position = _flexible_partitions(frame, position, count)
    else:
        position += count * PARTITION_WITHOUT_METADATA
    position = position + 1 if frame[position] == 0 else skip_tags(memoryview(frame), position)
    return CommittedTopic(name, topic_id, partitions), position


def _flexible_partitions_without_metadata(
    frame: bytes, position: int, count: int
) -> list[CommittedPartition] | None:
    """All partitions in one go, if none of them has metadata or tags: what nearly every consumer sends."""
    if not 0 < count <= MOST_PARTITIONS_AT_ONCE or position + count * PARTITION_WITHOUT_METADATA > len(frame):
        return None
    columns = partitions_struct(count).unpack_from(frame, position)
    if columns[3::5].count(_EMPTY_TEXT) != count or any(columns[4::5]):
        return None
    return list(zip(columns[0::5], columns[1::5], columns[2::5], repeat(""), strict=False))


def _flexible_partitions(frame: bytes, position: int, count: int) -> tuple[list[CommittedPartition], int]:
    partitions: list[CommittedPartition] = []
    for _ in range(count):
        index, offset, epoch = _OFFSET_AND_EPOCH.unpack_from(frame, position)
        metadata, position = read_compact_text(frame, position + 16)
        position = position + 1 if frame[position] == 0 else skip_tags(memoryview(frame), position)
        partitions.append((index, offset, epoch, metadata))
    return partitions, position


@cache
def partitions_struct(count: int) -> struct.Struct:
    """Partitions of a flexible version without metadata: number, offset, epoch, no text, no tags."""
    return struct.Struct(">" + "iqiBB" * count)


def _parse_legacy(version: int, frame: bytes, position: int) -> OffsetCommitRequest:
    group_id, position = _legacy_name(frame, position)
    (generation,) = _INT32.unpack_from(frame, position)
    member_id, position = _legacy_name(frame, position + 4)
    instance_id: str | None = None
    retention_ms = NO_RETENTION_TIME
    if version >= FIRST_WITH_INSTANCE_ID:
        instance_id, position = read_legacy_text(frame, position)
    elif version <= LAST_WITH_RETENTION_TIME:
        (retention_ms,) = _INT64.unpack_from(frame, position)
        position += 8
    count, position = _legacy_count(frame, position)
    topics = []
    for _ in range(count):
        name, position = _legacy_name(frame, position)
        partitions, position = _legacy_partitions(version, frame, position)
        topics.append(CommittedTopic(name, ZERO_UUID, partitions))
    return OffsetCommitRequest(group_id, generation, member_id, instance_id, retention_ms, topics)


def _legacy_partitions(version: int, frame: bytes, position: int) -> tuple[list[CommittedPartition], int]:
    count, position = _legacy_count(frame, position)
    partitions: list[CommittedPartition] = []
    for _ in range(count):
        if version >= FIRST_WITH_LEADER_EPOCH:
            index, offset, epoch = _OFFSET_AND_EPOCH.unpack_from(frame, position)
            position += 16
        else:
            index, offset = _OFFSET.unpack_from(frame, position)
            epoch = -1
            position += 12
        metadata, position = read_legacy_text(frame, position)
        partitions.append((index, offset, epoch, metadata))
    return partitions, position


def _compact_name(frame: bytes, position: int) -> tuple[str, int]:
    text, position = read_compact_text(frame, position)
    if text is None:
        raise IndexError("a name is missing")
    return text, position


def _legacy_name(frame: bytes, position: int) -> tuple[str, int]:
    text, position = read_legacy_text(frame, position)
    if text is None:
        raise IndexError("a name is missing")
    return text, position


def _compact_count(frame: bytes, position: int) -> tuple[int, int]:
    count, position = read_unsigned_varint(frame, position)
    return _checked(count - 1, frame), position


def _legacy_count(frame: bytes, position: int) -> tuple[int, int]:
    (count,) = _INT32.unpack_from(frame, position)
    return _checked(count, frame), position + 4


def _checked(count: int, frame: bytes) -> int:
    if not 0 <= count <= len(frame):
        raise IndexError(f"an array of {count} elements in a request of {len(frame)} bytes")
    return count


# --- writing ---------------------------------------------------------------------------------------------


def encode_offset_commit(version: int, correlation_id: int, topics: list[CommitTopicResult]) -> bytes:
    """Header and body of the response, without the length that frames it."""
    if version < FIRST_FLEXIBLE:
        return _encode_legacy(version, correlation_id, topics)
    parts = [_INT32.pack(correlation_id), b"\x00\x00\x00\x00\x00", write_unsigned_varint(len(topics) + 1)]
    for name, topic_id, partitions in topics:
        parts.append(topic_id.bytes if version >= FIRST_WITH_TOPIC_IDS else compact_string(name))
        parts.append(write_unsigned_varint(len(partitions) + 1))
        parts += [_FLEXIBLE_RESULT.pack(index, code) for index, code in partitions]
        parts.append(b"\x00")
    parts.append(b"\x00")
    return b"".join(parts)


def _encode_legacy(version: int, correlation_id: int, topics: list[CommitTopicResult]) -> bytes:
    parts = [_INT32.pack(correlation_id)]
    if version >= FIRST_WITH_THROTTLE:
        parts.append(b"\x00\x00\x00\x00")
    parts.append(_INT32.pack(len(topics)))
    for name, _, partitions in topics:
        parts += (legacy_string(name), _INT32.pack(len(partitions)))
        parts += [_RESULT.pack(index, code) for index, code in partitions]
    return b"".join(parts)
