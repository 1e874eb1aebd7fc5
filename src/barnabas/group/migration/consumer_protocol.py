"""Subscriptions and assignments in JoinGroup and SyncGroup requests of consumers, as versioned bytes.

Kafka: ConsumerProtocolSubscription and ConsumerProtocolAssignment, versions 0 to 3, after an int16 version.
Newer versions only add fields at the end, so bytes of a future version are read as the newest known version.
Other unreadable bytes raise `CorruptMessage`.
"""

from collections.abc import Collection, Mapping
from struct import Struct
from typing import NamedTuple
from uuid import UUID

from barnabas.base.errors import CorruptMessage
from barnabas.metadata.image import ClusterImage
from barnabas.wire.message_fields import INT16, INT32, FieldReader, classic_string

NEWEST_VERSION = 3
_FIRST_VERSION_WITH_OWNED_PARTITIONS = 1
_FIRST_VERSION_WITH_GENERATION = 2
_FIRST_VERSION_WITH_RACK = 3
_NULL_BYTES = INT32.pack(-1)

NamedPartitions = Mapping[str, Collection[int]]
"""Topic -> partitions."""


class MemberSubscription(NamedTuple):
    topics: tuple[str, ...]
    owned: NamedPartitions
    """The partitions that the member owns at its join. Empty for eager rebalancing and below version 1."""
    rack_id: str | None


class MemberAssignment(NamedTuple):
    partitions: NamedPartitions
    user_data: bytes
    """User data of a custom assignor for its members. Kafka's assignors have none."""


def protocol_version(metadata: bytes) -> int:
    """The member's version, or the newest known one."""
    return _version(FieldReader(metadata))


def parse_subscription(metadata: bytes) -> MemberSubscription:
    reader = FieldReader(metadata)
    version = _version(reader)
    topics = reader.array(_string, flexible=False)
    _nullable_bytes(reader)
    owned = _partitions(reader) if version >= _FIRST_VERSION_WITH_OWNED_PARTITIONS else {}
    if version >= _FIRST_VERSION_WITH_GENERATION:
        reader.int32()
    rack_id = reader.nullable_string(flexible=False) if version >= _FIRST_VERSION_WITH_RACK else None
    return MemberSubscription(tuple(topics), owned, rack_id or None)


def parse_assignment(assignment: bytes) -> MemberAssignment:
    """Empty bytes are no partitions: the member has joined, and has no assignment yet."""
    if not assignment:
        return MemberAssignment({}, b"")
    reader = FieldReader(assignment)
    _version(reader)
    return MemberAssignment(_partitions(reader), _nullable_bytes(reader))


def serialize_assignment(partitions: NamedPartitions, version: int) -> bytes:
    parts = [INT16.pack(version), INT32.pack(len(partitions))]
    for topic, numbers in partitions.items():
        parts += (
            classic_string(topic),
            INT32.pack(len(numbers)),
            Struct(f">{len(numbers)}i").pack(*sorted(numbers)),
        )
    parts.append(_NULL_BYTES)
    return b"".join(parts)


def by_topic_id(partitions: NamedPartitions, image: ClusterImage) -> dict[UUID, frozenset[int]]:
    """Topics that do not exist are left out."""
    return {
        topic.topic_id: frozenset(numbers)
        for name, numbers in partitions.items()
        if (topic := image.topics.get(name)) is not None
    }


def by_topic_name(partitions: Mapping[UUID, Collection[int]], image: ClusterImage) -> NamedPartitions:
    return {
        topic.name: tuple(numbers)
        for topic_id, numbers in partitions.items()
        if (topic := image.topic_by_id.get(topic_id)) is not None
    }


def _version(reader: FieldReader) -> int:
    version = reader.int16()
    if version < 0:
        raise CorruptMessage(f"version {version} of the consumer protocol does not exist")
    return min(version, NEWEST_VERSION)


def _string(reader: FieldReader) -> str:
    return reader.string()


def _nullable_bytes(reader: FieldReader) -> bytes:
    size = reader.int32()
    return b"" if size < 0 else reader.take(size)


def _partitions(reader: FieldReader) -> NamedPartitions:
    found: dict[str, set[int]] = {}
    for topic, numbers in reader.array(_topic_partitions, flexible=False):
        found.setdefault(topic, set()).update(numbers)
    return found


def _topic_partitions(reader: FieldReader) -> tuple[str, list[int]]:
    topic = reader.string()
    return topic, reader.int32s(max(reader.int32(), 0))
