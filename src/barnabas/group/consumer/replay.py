"""Applies the records of consumer groups. Only this module changes their state, live and at load."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from barnabas.group.consumer.group import ConsumerGroup
from barnabas.group.consumer.member import LEAVE_EPOCH, ConsumerMember, MemberState
from barnabas.group.environment import ShardEnvironment
from barnabas.group.group import CLASSIC
from barnabas.group.groups import Groups
from barnabas.group.records import (
    ConsumerGroupCurrentMemberAssignment,
    ConsumerGroupMemberMetadata,
    ConsumerGroupMetadata,
    ConsumerGroupPartitionMetadata,
    ConsumerGroupRegularExpression,
    ConsumerGroupTargetAssignmentMember,
    ConsumerGroupTargetAssignmentMetadata,
    CurrentAssignmentValue,
)

ConsumerRecord = (
    ConsumerGroupMetadata
    | ConsumerGroupPartitionMetadata
    | ConsumerGroupMemberMetadata
    | ConsumerGroupTargetAssignmentMetadata
    | ConsumerGroupTargetAssignmentMember
    | ConsumerGroupCurrentMemberAssignment
    | ConsumerGroupRegularExpression
)

_LEFT = CurrentAssignmentValue(
    member_epoch=LEAVE_EPOCH,
    previous_member_epoch=LEAVE_EPOCH,
    state=MemberState.STABLE,
    assigned={},
    pending_revocation={},
)


class Replay:
    """A record that contradicts the state raises AssertionError: no coordinator wrote this log."""

    def __init__(self, groups: Groups, environment: ShardEnvironment) -> None:
        self._groups: Groups = groups
        self._environment: ShardEnvironment = environment
        self._by_type: dict[type[object], Callable[[Any], None]] = {
            ConsumerGroupMetadata: self._group,
            ConsumerGroupPartitionMetadata: self._partition_metadata,
            ConsumerGroupMemberMetadata: self._member,
            ConsumerGroupTargetAssignmentMetadata: self._target_epoch,
            ConsumerGroupTargetAssignmentMember: self._target,
            ConsumerGroupCurrentMemberAssignment: self._current_assignment,
            ConsumerGroupRegularExpression: self._regular_expression,
        }

    def replay(self, record: ConsumerRecord) -> None:
        self._by_type[type(record)](record)

    def _existing(self, group_id: str) -> ConsumerGroup | None:
        """For tombstones: the tombstones of a group that does not exist have no effect."""
        group = self._groups.find(group_id)
        return group if isinstance(group, ConsumerGroup) else None

    def _get_or_create(self, group_id: str) -> ConsumerGroup:
        group = self._groups.find(group_id)
        if isinstance(group, ConsumerGroup):
            return group
        # An earlier offset commit in the log has created a classic group without members.
        if group is not None and not (group.type == CLASSIC and group.is_empty):
            raise AssertionError(f"group {group_id} is not a consumer group")
        created = ConsumerGroup(group_id, self._environment)
        self._groups.put(created)
        return created

    # --- the group -----------------------------------------------------------------------------------------

    def _group(self, record: ConsumerGroupMetadata) -> None:
        if record.value is not None:
            group = self._get_or_create(record.group_id)
            group.epoch = record.value.epoch
            group.metadata_hash = record.value.metadata_hash
            return
        existing = self._existing(record.group_id)
        if existing is None:
            return
        if existing.members or existing.target or existing.assignment_epoch != -1:
            raise AssertionError(
                f"group {record.group_id} is deleted but has {len(existing.members)} members, "
                f"{len(existing.target)} targets and the assignment epoch {existing.assignment_epoch}"
            )
        self._groups.remove(record.group_id)

    def _partition_metadata(self, record: ConsumerGroupPartitionMetadata) -> None:
        if record.value is not None:
            self._get_or_create(record.group_id).has_partition_metadata_record = True
            return
        group = self._existing(record.group_id)
        if group is not None:
            group.has_partition_metadata_record = False

    # --- target --------------------------------------------------------------------------------------------

    def _target_epoch(self, record: ConsumerGroupTargetAssignmentMetadata) -> None:
        if record.value is not None:
            group = self._get_or_create(record.group_id)
            group.assignment_epoch = record.value.assignment_epoch
            group.assignment_timestamp_ms = record.value.assignment_timestamp_ms
            return
        existing = self._existing(record.group_id)
        if existing is None:
            return
        if existing.target:
            raise AssertionError(
                f"the target of {record.group_id} is deleted but has {len(existing.target)} members"
            )
        existing.assignment_epoch = -1
        existing.assignment_timestamp_ms = 0

    def _target(self, record: ConsumerGroupTargetAssignmentMember) -> None:
        if record.value is not None:
            self._get_or_create(record.group_id).target[record.member_id] = record.value
            return
        group = self._existing(record.group_id)
        if group is not None:
            group.target.pop(record.member_id, None)

    # --- members -------------------------------------------------------------------------------------------

    def _member(self, record: ConsumerGroupMemberMetadata) -> None:
        if record.value is not None:
            group = self._get_or_create(record.group_id)
            known = group.members.get(record.member_id) or ConsumerMember(record.member_id)
            if known.value == record.value and record.member_id in group.members:
                return
            before = set(group.subscribed_topics)
            group.update_member(known.with_value(record.value))
            self._subscribe(group, before)
            return
        existing = self._existing(record.group_id)
        member = None if existing is None else existing.members.get(record.member_id)
        if existing is None or member is None:
            return
        if member.epoch != LEAVE_EPOCH or record.member_id in existing.target:
            raise AssertionError(f"member {record.member_id} is deleted but still has an assignment")
        before = set(existing.subscribed_topics)
        existing.remove_member(record.member_id)
        self._subscribe(existing, before)

    def _current_assignment(self, record: ConsumerGroupCurrentMemberAssignment) -> None:
        if record.value is not None:
            group = self._get_or_create(record.group_id)
            known = group.members.get(record.member_id) or ConsumerMember(record.member_id)
            current = record.value
            state = MemberState.of(current.state)
            if state != current.state:
                current = replace(current, state=state)
            group.update_member(known.with_current(current))
            return
        existing = self._existing(record.group_id)
        member = None if existing is None else existing.members.get(record.member_id)
        if existing is not None and member is not None:
            existing.update_member(member.with_current(_LEFT))

    # --- regular expressions -------------------------------------------------------------------------------

    def _regular_expression(self, record: ConsumerGroupRegularExpression) -> None:
        group = (
            self._existing(record.group_id) if record.value is None else self._get_or_create(record.group_id)
        )
        if group is None:
            return
        before = set(group.subscribed_topics)
        group.set_resolved_regex(record.regular_expression, record.value)
        self._subscribe(group, before)

    def _subscribe(self, group: ConsumerGroup, before: set[str]) -> None:
        """Update the table of subscribed groups by topic."""
        topics = group.subscribed_topics
        for topic in before:
            if topic not in topics:
                self._groups.unsubscribe(group.group_id, topic)
        for topic in topics:
            if topic not in before:
                self._groups.subscribe(group.group_id, topic)
