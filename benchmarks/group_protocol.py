"""Requests of the group APIs, encoded by hand, and the parts of their answers that members act upon.

FindCoordinator v4, JoinGroup v9, SyncGroup v5, Heartbeat v4, LeaveGroup v5, ConsumerGroupHeartbeat v1,
OffsetCommit v9, OffsetFetch v9 (the newest that name topics by name). Subscriptions and assignments of the
classic protocol are version 0 of Kafka's consumer protocol, for one topic.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.batches import uvarint
from benchmarks.protocol import (
    NO_TAGS,
    Reader,
    UnexpectedAnswer,
    encoded_array,
    encoded_request,
    encoded_string,
)

OFFSET_COMMIT, OFFSET_FETCH, FIND_COORDINATOR, JOIN_GROUP = 8, 9, 10, 11
HEARTBEAT, LEAVE_GROUP, SYNC_GROUP, CONSUMER_GROUP_HEARTBEAT = 12, 13, 14, 68

ILLEGAL_GENERATION, REBALANCE_IN_PROGRESS, MEMBER_ID_REQUIRED = 22, 27, 79

PROTOCOL_TYPE, PROTOCOL_NAME = "consumer", "range"
LEAVING_EPOCH = -1

_NULL = b"\x00"
_SESSION_TIMEOUT_MS = 45_000
_REBALANCE_TIMEOUT_MS = 60_000


def _bytes(raw: bytes) -> bytes:
    return uvarint(len(raw) + 1) + raw


def _classic_string(text: str) -> bytes:
    return struct.pack(">h", len(text)) + text.encode()


def subscription(topic: str) -> bytes:
    return struct.pack(">hi", 0, 1) + _classic_string(topic) + struct.pack(">i", -1)


def assignment(topic: str, partitions: Sequence[int]) -> bytes:
    listed = struct.pack(f">i{len(partitions)}i", len(partitions), *partitions)
    return struct.pack(">hi", 0, 1) + _classic_string(topic) + listed + struct.pack(">i", -1)


def parse_assignment(raw: bytes) -> frozenset[int]:
    """The partitions of the one topic; an empty assignment has none."""
    if not raw:
        return frozenset()
    (length,) = struct.unpack_from(">h", raw, 6)
    at = 8 + length
    (count,) = struct.unpack_from(">i", raw, at)
    return frozenset(struct.unpack_from(f">{count}i", raw, at + 4))


def find_coordinator(group: str) -> bytes:
    return encoded_request(FIND_COORDINATOR, 4, b"\x00" + encoded_array([encoded_string(group)]) + NO_TAGS)


def join_group(group: str, member_id: str, topic: str) -> bytes:
    protocol = encoded_string(PROTOCOL_NAME) + _bytes(subscription(topic)) + NO_TAGS
    timeouts = struct.pack(">ii", _SESSION_TIMEOUT_MS, _REBALANCE_TIMEOUT_MS)
    body = encoded_string(group) + timeouts + encoded_string(member_id) + _NULL
    body += encoded_string(PROTOCOL_TYPE) + encoded_array([protocol]) + _NULL + NO_TAGS
    return encoded_request(JOIN_GROUP, 9, body)


def sync_group(group: str, generation: int, member_id: str, assignments: Mapping[str, bytes]) -> bytes:
    body = encoded_string(group) + struct.pack(">i", generation) + encoded_string(member_id) + _NULL
    body += encoded_string(PROTOCOL_TYPE) + encoded_string(PROTOCOL_NAME)
    body += encoded_array(
        encoded_string(member) + _bytes(given) + NO_TAGS for member, given in assignments.items()
    )
    return encoded_request(SYNC_GROUP, 5, body + NO_TAGS)


def heartbeat(group: str, generation: int, member_id: str) -> bytes:
    body = encoded_string(group) + struct.pack(">i", generation) + encoded_string(member_id)
    return encoded_request(HEARTBEAT, 4, body + _NULL + NO_TAGS)


def leave_group(group: str, member_id: str) -> bytes:
    member = encoded_string(member_id) + _NULL + _NULL + NO_TAGS
    return encoded_request(LEAVE_GROUP, 5, encoded_string(group) + encoded_array([member]) + NO_TAGS)


def consumer_group_heartbeat(
    group: str,
    member_id: str,
    epoch: int,
    *,
    topic: str | None = None,
    owned: tuple[bytes, Iterable[int]] | None = None,
) -> bytes:
    """`topic` is the subscription, sent once; `owned` is (topic id, partitions), sent when it changed.

    An `owned` with an empty topic id says that nothing is owned.
    """
    joining = topic is not None
    body = encoded_string(group) + encoded_string(member_id) + struct.pack(">i", epoch) + _NULL + _NULL
    body += struct.pack(">i", _REBALANCE_TIMEOUT_MS if joining else -1)
    body += encoded_array([encoded_string(topic)]) if topic is not None else _NULL
    body += _NULL + _NULL
    if owned is None:
        body += _NULL
    elif not owned[0]:
        body += encoded_array([])
    else:
        partitions = encoded_array(struct.pack(">i", partition) for partition in sorted(owned[1]))
        body += encoded_array([owned[0] + partitions + NO_TAGS])
    return encoded_request(CONSUMER_GROUP_HEARTBEAT, 1, body + NO_TAGS)


def offset_commit(
    group: str, generation: int, member_id: str, topic: str, offsets: Sequence[tuple[int, int]]
) -> bytes:
    """OffsetCommit v9 of (partition, offset)s of one topic; generation -1 and no member id stand alone."""
    partitions = encoded_array(
        struct.pack(">iqi", partition, offset, -1) + encoded_string("") + NO_TAGS
        for partition, offset in offsets
    )
    body = encoded_string(group) + struct.pack(">i", generation) + encoded_string(member_id) + _NULL
    topics = encoded_array([encoded_string(topic) + partitions + NO_TAGS])
    return encoded_request(OFFSET_COMMIT, 9, body + topics + NO_TAGS)


def offset_fetch(group: str, topic: str, partitions: Sequence[int]) -> bytes:
    listed = encoded_array(struct.pack(">i", partition) for partition in partitions)
    topics = encoded_array([encoded_string(topic) + listed + NO_TAGS])
    requested = encoded_string(group) + _NULL + struct.pack(">i", -1) + topics + NO_TAGS
    return encoded_request(OFFSET_FETCH, 9, encoded_array([requested]) + b"\x00" + NO_TAGS)


def _after_header(response: bytes) -> Reader:
    """A reader behind correlation id, header tags and throttle time."""
    reader = Reader(response)
    reader.unpack("i")
    reader.tags()
    reader.unpack("i")
    return reader


def first_error(response: bytes) -> int:
    """The error code of Heartbeat, LeaveGroup and all answers that begin with it after the throttle time."""
    (error,) = _after_header(response).unpack("h")
    return error


def coordinator_error(response: bytes) -> int:
    reader = _after_header(response)
    reader.count()
    reader.string()
    reader.unpack("i")
    reader.string()
    _port, error = reader.unpack("ih")
    return error


@dataclass(frozen=True, slots=True)
class Joined:
    """What JoinGroup answered; `members` are given to the leader alone."""

    error: int
    generation: int
    leader: str
    member_id: str
    members: tuple[str, ...]


def parse_join_group(response: bytes) -> Joined:
    reader = _after_header(response)
    error, generation = reader.unpack("hi")
    reader.string()
    reader.string()
    leader = reader.string() or ""
    reader.unpack("b")
    member_id = reader.string() or ""
    members = []
    for _ in range(reader.count()):
        members.append(reader.string() or "")
        reader.string()
        reader.raw()
        reader.tags()
    return Joined(error, generation, leader, member_id, tuple(members))


def parse_sync_group(response: bytes) -> tuple[int, frozenset[int]]:
    """Error code and the assigned partitions."""
    reader = _after_header(response)
    (error,) = reader.unpack("h")
    reader.string()
    reader.string()
    return error, frozenset() if error else parse_assignment(reader.raw())


@dataclass(frozen=True, slots=True)
class Beat:
    """What ConsumerGroupHeartbeat answered; `partitions` is None when the assignment did not change."""

    error: int
    message: str | None
    epoch: int
    topic_id: bytes
    partitions: frozenset[int] | None


def parse_consumer_group_heartbeat(response: bytes) -> Beat:
    reader = _after_header(response)
    (error,) = reader.unpack("h")
    message = reader.string()
    reader.string()
    epoch, _interval, present = reader.unpack("iib")
    if present < 0:
        return Beat(error, message, epoch, b"", None)
    topic_id, partitions = b"", frozenset[int]()
    for _ in range(reader.count()):
        topic_id = reader.take(16)
        partitions |= frozenset(reader.unpack("i")[0] for _ in range(reader.count()))
        reader.tags()
    return Beat(error, message, epoch, topic_id, partitions)


def check_committed(response: bytes) -> None:
    reader = _after_header(response)
    for _ in range(reader.count()):
        name = reader.string()
        for _ in range(reader.count()):
            partition, error = reader.unpack("ih")
            reader.tags()
            if error:
                raise UnexpectedAnswer(f"offset commit of {name}-{partition}: error code {error}")
        reader.tags()


def parse_offset_fetch(response: bytes) -> tuple[int, dict[int, int]]:
    """Of the one group: its error code (or the first of a partition), and partition to committed offset."""
    reader = _after_header(response)
    reader.count()
    reader.string()
    offsets, failed = {}, 0
    for _ in range(reader.count()):
        reader.string()
        for _ in range(reader.count()):
            partition, offset, _epoch = reader.unpack("iqi")
            reader.string()
            (error,) = reader.unpack("h")
            reader.tags()
            failed = failed or error
            offsets[partition] = offset
        reader.tags()
    (error,) = reader.unpack("h")
    return error or failed, offsets
