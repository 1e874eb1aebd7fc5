"""The records of `__consumer_offsets`, as values. `record_codec` turns them into Kafka's bytes and back.

Each record has the fields of its key and a `value`. None is a tombstone. The functions of a shard create
records, its `replay` applies them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID

from barnabas.base.ids import ZERO_UUID

Assignment = Mapping[UUID, frozenset[int]]
"""Topic id -> partitions."""
EpochedAssignment = Mapping[UUID, Mapping[int, int]]
"""Topic id -> partition -> the member epoch at which it was assigned."""


class CommittedOffset(NamedTuple):
    """The committed offset of a partition: the value of an `OffsetCommit`, and the state itself."""

    offset: int
    leader_epoch: int
    metadata: str
    commit_timestamp_ms: int
    expire_timestamp_ms: int = -1
    """-1 except for commits of clients below OffsetCommit version 5, or written before Kafka 2.1."""
    topic_id: UUID = ZERO_UUID


class OffsetCommit(NamedTuple):
    group_id: str
    topic: str
    partition: int
    value: CommittedOffset | None


class TopicCommit(NamedTuple):
    """The commits of one request for a topic: an `OffsetCommit` for each partition, handled together."""

    group_id: str
    topic: str
    offsets: Sequence[tuple[int, CommittedOffset]]
    """By partition, at least one. Topic id and timestamps are the same for all."""

    def each(self) -> list[OffsetCommit]:
        return [OffsetCommit(self.group_id, self.topic, *offset) for offset in self.offsets]


@dataclass(frozen=True, slots=True)
class ClassicMemberValue:
    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    subscription: bytes
    """The metadata of the selected protocol."""
    assignment: bytes


@dataclass(frozen=True, slots=True)
class ClassicGroupValue:
    protocol_type: str
    generation: int
    protocol: str | None
    leader: str | None
    current_state_timestamp_ms: int
    members: tuple[ClassicMemberValue, ...]


@dataclass(frozen=True, slots=True)
class ClassicGroupMetadata:
    """Kafka's GroupMetadata: a classic group at the time it became stable or empty."""

    group_id: str
    value: ClassicGroupValue | None


@dataclass(frozen=True, slots=True)
class ConsumerGroupValue:
    epoch: int
    metadata_hash: int = 0


@dataclass(frozen=True, slots=True)
class ConsumerGroupMetadata:
    """A consumer group exists, at this epoch."""

    group_id: str
    value: ConsumerGroupValue | None


@dataclass(frozen=True, slots=True)
class ConsumerGroupPartitionMetadata:
    """Written by Kafka before 4.1. Only its tombstone is written now."""

    group_id: str
    value: bytes | None
    """The raw bytes. They are not read."""


@dataclass(frozen=True, slots=True)
class ClassicProtocols:
    """The classic protocols of a consumer group member that uses the classic protocol."""

    session_timeout_ms: int
    protocols: tuple[tuple[str, bytes], ...]


@dataclass(frozen=True, slots=True)
class ConsumerMemberValue:
    instance_id: str | None
    rack_id: str | None
    client_id: str
    client_host: str
    subscribed_topic_names: tuple[str, ...]
    subscribed_topic_regex: str | None
    rebalance_timeout_ms: int
    server_assignor: str | None
    classic: ClassicProtocols | None = None


@dataclass(frozen=True, slots=True)
class ConsumerGroupMemberMetadata:
    group_id: str
    member_id: str
    value: ConsumerMemberValue | None


@dataclass(frozen=True, slots=True)
class TargetMetadataValue:
    assignment_epoch: int
    assignment_timestamp_ms: int = 0


@dataclass(frozen=True, slots=True)
class ConsumerGroupTargetAssignmentMetadata:
    group_id: str
    value: TargetMetadataValue | None


@dataclass(frozen=True, slots=True)
class ConsumerGroupTargetAssignmentMember:
    group_id: str
    member_id: str
    value: Assignment | None


@dataclass(frozen=True, slots=True)
class CurrentAssignmentValue:
    member_epoch: int
    previous_member_epoch: int
    state: int
    """Kafka's MemberState: 0 stable, 1 unrevoked partitions, 2 unreleased partitions, 127 unknown."""
    assigned: EpochedAssignment
    pending_revocation: EpochedAssignment


@dataclass(frozen=True, slots=True)
class ConsumerGroupCurrentMemberAssignment:
    group_id: str
    member_id: str
    value: CurrentAssignmentValue | None


@dataclass(frozen=True, slots=True)
class RegularExpressionValue:
    topics: frozenset[str]
    version: int
    """The version of the metadata that the expression was resolved with."""
    timestamp_ms: int


@dataclass(frozen=True, slots=True)
class ConsumerGroupRegularExpression:
    group_id: str
    regular_expression: str
    value: RegularExpressionValue | None


GroupRecord = (
    OffsetCommit
    | ClassicGroupMetadata
    | ConsumerGroupMetadata
    | ConsumerGroupPartitionMetadata
    | ConsumerGroupMemberMetadata
    | ConsumerGroupTargetAssignmentMetadata
    | ConsumerGroupTargetAssignmentMember
    | ConsumerGroupCurrentMemberAssignment
    | ConsumerGroupRegularExpression
)
