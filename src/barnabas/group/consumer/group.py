"""A consumer group: members, target assignment, owners of partitions.

Everything here except `refreshed_epoch` and `topics_created_ms` is durable and changed by `replay` alone (or
on a group under construction, as a migration does). Invariant: a partition has at most one owner at a time,
kept by `partition_epochs`. `replay` of a record that would violate it raises AssertionError. Members are
values (`ConsumerMember`). `update_member` keeps the counts that are derived from them.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from uuid import UUID

from barnabas.base.errors import NonEmptyGroup, UnknownMemberId
from barnabas.group.consumer import subscription_counts
from barnabas.group.consumer.commit_check import epoch_mismatch, validate_commit
from barnabas.group.consumer.member import ConsumerMember, MemberState
from barnabas.group.consumer.partition_epochs import PartitionEpochs
from barnabas.group.consumer.subscription_counts import SubscriptionCounts, increment
from barnabas.group.environment import ShardEnvironment
from barnabas.group.group import ALLOW, CONSUMER, CommitValidator, ExpirationCondition
from barnabas.group.records import (
    Assignment,
    CommittedOffset,
    ConsumerGroupCurrentMemberAssignment,
    ConsumerGroupMemberMetadata,
    ConsumerGroupMetadata,
    ConsumerGroupPartitionMetadata,
    ConsumerGroupRegularExpression,
    ConsumerGroupTargetAssignmentMember,
    ConsumerGroupTargetAssignmentMetadata,
    GroupRecord,
    RegularExpressionValue,
)

EMPTY = "Empty"
ASSIGNING = "Assigning"
RECONCILING = "Reconciling"
STABLE = "Stable"

NO_ASSIGNMENT: Assignment = {}


def _commit_time(offset: CommittedOffset) -> int:
    return offset.commit_timestamp_ms


class ConsumerGroup:
    def __init__(self, group_id: str, environment: ShardEnvironment) -> None:
        self.group_id: str = group_id
        self._environment: ShardEnvironment = environment
        self.epoch: int = 1
        """Increases when the subscriptions or their topics change: a new target must be computed."""
        self.metadata_hash: int = 0
        self.assignment_epoch: int = 1
        """The group epoch that the target was computed for. -1 once its record is deleted."""
        self.assignment_timestamp_ms: int = 0
        self.members: dict[str, ConsumerMember] = {}
        self.static_members: dict[str, str] = {}
        """Instance id -> member id."""
        self.target: dict[str, Assignment] = {}
        """Member id -> target assignment."""
        self.partition_epochs: PartitionEpochs = PartitionEpochs()
        self.subscribed_topics: SubscriptionCounts = {}
        self.subscribed_regexes: dict[str, int] = {}
        """Expression -> members."""
        self.resolved_regexes: dict[str, RegularExpressionValue] = {}
        self.server_assignors: dict[str, int] = {}
        """Assignor -> members that prefer it."""
        self.classic_member_count: int = 0
        self.classic_protocols: dict[str, int] = {}
        """Classic protocol -> members that use the classic protocol and support it."""
        self.has_partition_metadata_record: bool = False
        """Whether a record of Kafka before 4.1 is in the log and must be deleted."""
        self.refreshed_epoch: int | None = None
        """Soft: the group epoch at which the topics were last checked. None requests a check."""
        self.topics_created_ms: int = 0
        """Soft: when topics were last created. Expressions that were resolved before may miss them."""

    # --- the interface of every group ----------------------------------------------------------------------

    @property
    def type(self) -> str:
        return CONSUMER

    @property
    def protocol_type(self) -> str:
        return "consumer"

    @property
    def state_name(self) -> str:
        if not self.members:
            return EMPTY
        if self.epoch > self.assignment_epoch:
            return ASSIGNING
        if all(member.is_reconciled_to(self.assignment_epoch) for member in self.members.values()):
            return STABLE
        return RECONCILING

    @property
    def is_empty(self) -> bool:
        return not self.members

    def is_subscribed_to(self, topic: str) -> bool:
        return topic in self.subscribed_topics

    def validate_offset_commit(
        self,
        member_id: str,
        group_instance_id: str | None,
        generation_or_epoch: int,
        version: int,
        *,
        is_transactional: bool,
    ) -> CommitValidator:
        if generation_or_epoch < 0 and not self.members:
            # A standalone consumer or an administrator, while the group has no members.
            return ALLOW
        if is_transactional and generation_or_epoch == -1 and not member_id and group_instance_id is None:
            # TxnOffsetCommit need not have a member id.
            return ALLOW
        return validate_commit(
            self.member(member_id),
            generation_or_epoch,
            version,
            self._environment,
            is_transactional=is_transactional,
        )

    def validate_offset_fetch(self, member_id: str | None, member_epoch: int) -> None:
        if member_id is None and member_epoch < 0:
            return
        member = self.member(member_id or "")
        if member_epoch != member.epoch:
            raise epoch_mismatch(member, member_epoch)

    def validate_offset_delete(self) -> None:
        """Always allowed. Subscribed topics are refused one by one."""

    def validate_delete(self) -> None:
        if self.members:
            raise NonEmptyGroup("The group is not empty.")

    def expiration_condition(self) -> ExpirationCondition | None:
        return ExpirationCondition(_commit_time)

    def tombstones(self, renamed: Mapping[str, str] | None = None) -> Sequence[GroupRecord]:
        """The tombstones of the group.

        `renamed`: members that got another id by records of the same batch.
        """
        names = renamed or {}
        member_ids = [names.get(member_id, member_id) for member_id in self.members]
        records: list[GroupRecord] = []
        records.extend(ConsumerGroupCurrentMemberAssignment(self.group_id, each, None) for each in member_ids)
        records.extend(ConsumerGroupTargetAssignmentMember(self.group_id, each, None) for each in member_ids)
        records.append(ConsumerGroupTargetAssignmentMetadata(self.group_id, None))
        records.extend(ConsumerGroupMemberMetadata(self.group_id, each, None) for each in member_ids)
        records.extend(
            ConsumerGroupRegularExpression(self.group_id, regex, None) for regex in self.resolved_regexes
        )
        records.append(ConsumerGroupPartitionMetadata(self.group_id, None))
        records.append(ConsumerGroupMetadata(self.group_id, None))
        return records

    # --- members -------------------------------------------------------------------------------------------

    def member(self, member_id: str) -> ConsumerMember:
        member = self.members.get(member_id)
        if member is None:
            raise UnknownMemberId(f"Member {member_id} is not a member of group {self.group_id}.")
        return member

    def static_member(self, instance_id: str | None) -> ConsumerMember | None:
        member_id = self.static_members.get(instance_id) if instance_id is not None else None
        return None if member_id is None else self.member(member_id)

    def update_member(self, member: ConsumerMember) -> None:
        """Add the member, or replace its previous value."""
        old = self.members.get(member.member_id)
        self.partition_epochs.replace(old, member)
        self.members[member.member_id] = member
        if old is None or old.value is not member.value:
            self._count(old, -1)
            self._count(member, 1)
        if member.instance_id is not None:
            self.static_members[member.instance_id] = member.member_id

    def remove_member(self, member_id: str) -> None:
        member = self.members.pop(member_id, None)
        if member is None:
            return
        self.partition_epochs.replace(member, None)
        self._count(member, -1)
        if member.instance_id is not None and self.static_members.get(member.instance_id) == member_id:
            del self.static_members[member.instance_id]

    def _count(self, member: ConsumerMember | None, by: int) -> None:
        if member is None:
            return
        value = member.value
        subscription_counts.add(self.subscribed_topics, value.subscribed_topic_names, by_name=by)
        if value.subscribed_topic_regex:
            increment(self.subscribed_regexes, value.subscribed_topic_regex, by)
        if value.server_assignor is not None:
            increment(self.server_assignors, value.server_assignor, by)
        if value.classic is not None:
            self.classic_member_count += by
            for protocol, _ in value.classic.protocols:
                increment(self.classic_protocols, protocol, by)

    # --- subscriptions, target -----------------------------------------------------------------------------

    @property
    def is_homogeneous(self) -> bool:
        return subscription_counts.is_homogeneous(
            self.subscribed_regexes, self.subscribed_topics, len(self.members)
        )

    def set_resolved_regex(self, regex: str, value: RegularExpressionValue | None) -> None:
        old = self.resolved_regexes.pop(regex, None)
        if old is not None:
            subscription_counts.add(self.subscribed_topics, old.topics, by_regex=-1)
        if value is not None:
            self.resolved_regexes[regex] = value
            subscription_counts.add(self.subscribed_topics, value.topics, by_regex=1)

    def target_of(self, member_id: str, instance_id: str | None = None) -> Assignment:
        """The member's target. A static member that rejoins inherits it by its instance id."""
        if instance_id is not None:
            member_id = self.static_members.get(instance_id, "")
        return self.target.get(member_id, NO_ASSIGNMENT)

    @property
    def needs_metadata_refresh(self) -> bool:
        # An epoch that was never reached: the records of the last refresh could not be written.
        return self.refreshed_epoch is None or self.epoch < self.refreshed_epoch

    # --- members that use the classic protocol -----------------------------------------------------------

    def supports_classic_protocols(self, protocol_type: str, protocols: Collection[str]) -> bool:
        """Whether all classic members support one of `protocols`."""
        if protocol_type != self.protocol_type:
            return False
        if not self.members:
            return bool(protocols)
        return any(self.classic_protocols.get(name, 0) == self.classic_member_count for name in protocols)

    def all_use_classic_protocol_except(self, members: Iterable[ConsumerMember]) -> bool:
        leaving = list(members)
        classic = sum(member.uses_classic_protocol for member in leaving)
        return self.classic_member_count - classic == len(self.members) - len(leaving)

    def is_waiting_for_unreleased_partition(self, member: ConsumerMember) -> bool:
        """Whether partitions of the member's target are still owned by other members."""
        if member.state != MemberState.UNRELEASED_PARTITIONS:
            return False
        return any(
            partition not in member.assigned.get(topic_id, {})
            and self.partition_epochs.get(topic_id, partition) is not None
            for topic_id, partitions in self.target_of(member.member_id).items()
            for partition in partitions
        )

    def partition_epoch(self, topic_id: UUID, partition: int) -> int | None:
        """The member epoch of the partition's owner. Returns None if it has no owner."""
        return self.partition_epochs.get(topic_id, partition)
