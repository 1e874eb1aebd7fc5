"""The records that create a consumer group and its members, and those that delete them."""

from barnabas.group.consumer.group import ConsumerGroup
from barnabas.group.consumer.member import ConsumerMember
from barnabas.group.records import (
    ConsumerGroupCurrentMemberAssignment,
    ConsumerGroupMemberMetadata,
    ConsumerGroupMetadata,
    ConsumerGroupTargetAssignmentMember,
    ConsumerGroupTargetAssignmentMetadata,
    ConsumerGroupValue,
    GroupRecord,
    TargetMetadataValue,
)


def subscription_record(group_id: str, member: ConsumerMember) -> ConsumerGroupMemberMetadata:
    return ConsumerGroupMemberMetadata(group_id, member.member_id, member.value)


def current_assignment_record(group_id: str, member: ConsumerMember) -> ConsumerGroupCurrentMemberAssignment:
    return ConsumerGroupCurrentMemberAssignment(group_id, member.member_id, member.current)


def epoch_record(group_id: str, epoch: int, metadata_hash: int) -> ConsumerGroupMetadata:
    return ConsumerGroupMetadata(group_id, ConsumerGroupValue(epoch, metadata_hash))


def target_epoch_record(
    group_id: str, epoch: int, timestamp_ms: int
) -> ConsumerGroupTargetAssignmentMetadata:
    return ConsumerGroupTargetAssignmentMetadata(group_id, TargetMetadataValue(epoch, timestamp_ms))


def member_tombstones(group_id: str, member_id: str) -> list[GroupRecord]:
    """The order matters: `replay` refuses to remove a member that still has an assignment."""
    return [
        ConsumerGroupCurrentMemberAssignment(group_id, member_id, None),
        ConsumerGroupTargetAssignmentMember(group_id, member_id, None),
        ConsumerGroupMemberMetadata(group_id, member_id, None),
    ]


def creation_records(group: ConsumerGroup) -> list[GroupRecord]:
    """Returns all records of the group in its current state."""
    group_id = group.group_id
    members = group.members.values()
    records: list[GroupRecord] = [subscription_record(group_id, member) for member in members]
    records.append(epoch_record(group_id, group.epoch, group.metadata_hash))
    records.extend(
        ConsumerGroupTargetAssignmentMember(group_id, member_id, group.target_of(member_id))
        for member_id in group.members
    )
    records.append(target_epoch_record(group_id, group.assignment_epoch, group.assignment_timestamp_ms))
    records.extend(current_assignment_record(group_id, member) for member in members)
    return records


def replacement_records(group: ConsumerGroup, old: ConsumerMember, new: ConsumerMember) -> list[GroupRecord]:
    """`new` replaces the static member `old`, and inherits its target."""
    group_id = group.group_id
    return [
        *member_tombstones(group_id, old.member_id),
        subscription_record(group_id, new),
        ConsumerGroupTargetAssignmentMember(group_id, new.member_id, group.target_of(old.member_id)),
        current_assignment_record(group_id, new),
    ]
