"""Finds the member of a request and validates it: epochs, static members, the group's size."""

import logging

from barnabas.base.errors import (
    FencedInstanceId,
    FencedMemberEpoch,
    GroupMaxSizeReached,
    UnknownMemberId,
    UnreleasedInstanceId,
)
from barnabas.group.consumer.group import ConsumerGroup
from barnabas.group.consumer.member import JOIN_EPOCH, STATIC_LEAVE_EPOCH, ConsumerMember
from barnabas.group.consumer.reconciliation import Owned
from barnabas.group.consumer.records import replacement_records
from barnabas.group.records import EpochedAssignment, GroupRecord

logger = logging.getLogger("coordinator")


def check_not_full(group: ConsumerGroup, member_id: str, max_size: int) -> None:
    if len(group.members) >= max_size and member_id not in group.members:
        raise GroupMaxSizeReached(
            f"The consumer group has reached its maximum capacity of {max_size} members."
        )


def dynamic_member(
    group: ConsumerGroup,
    member_id: str,
    epoch: int,
    owned: Owned | None,
    *,
    may_create: bool,
    is_classic: bool = False,
) -> ConsumerMember:
    """The existing member, or a new one. `is_classic`: it uses the protocol without epochs."""
    member = group.members.get(member_id)
    if member is None:
        if not may_create:
            return group.member(member_id)
        member = ConsumerMember(member_id)
    if not is_classic:
        check_epoch(member, epoch, owned)
    if may_create:
        logger.debug("Group %s: member %s joins", group.group_id, member_id)
    return member


def static_member(
    group: ConsumerGroup,
    member_id: str,
    epoch: int,
    instance_id: str,
    owned: Owned | None,
    records: list[GroupRecord],
    *,
    may_create: bool,
    is_classic: bool = False,
) -> ConsumerMember:
    """Like `dynamic_member`, for a static member. Adds the records if it replaces an existing member."""
    existing = group.static_member(instance_id)
    if not may_create:
        existing = check_instance(group, existing, member_id, instance_id)
        if not is_classic:
            check_epoch(existing, epoch, owned)
        return existing
    logger.info("Group %s: static member %s joins as %s", group.group_id, instance_id, member_id)
    if existing is None:
        return group.members.get(member_id) or ConsumerMember(member_id)
    if not is_classic and not existing.uses_classic_protocol and existing.epoch != STATIC_LEAVE_EPOCH:
        raise UnreleasedInstanceId(
            f"Static member {member_id} with instance id {instance_id} cannot join the group because the "
            f"instance id is owned by {existing.member_id} member."
        )
    new = existing.replaced_by(member_id)
    records.extend(replacement_records(group, existing, new))
    return new


def check_instance(
    group: ConsumerGroup, existing: ConsumerMember | None, member_id: str, instance_id: str
) -> ConsumerMember:
    if existing is None:
        raise UnknownMemberId(f"Instance id {instance_id} is unknown.")
    if existing.member_id != member_id:
        logger.info(
            "Group %s: static member %s is fenced by %s", group.group_id, member_id, existing.member_id
        )
        raise FencedInstanceId(
            f"Static member {member_id} with instance id {instance_id} was fenced by member "
            f"{existing.member_id}."
        )
    return existing


def check_epoch(member: ConsumerMember, epoch: int, owned: Owned | None) -> None:
    if epoch in (member.epoch, JOIN_EPOCH):
        return
    if epoch > member.epoch:
        raise FencedMemberEpoch(_fenced("greater", epoch, member))
    # The response with the member's new epoch may have been lost.
    if epoch != member.previous_epoch or not _is_subset(owned, member.assigned):
        raise FencedMemberEpoch(_fenced("smaller", epoch, member))


def _fenced(how: str, epoch: int, member: ConsumerMember) -> str:
    return (
        f"The consumer group member has a {how} member epoch ({epoch}) than the one known by the group "
        f"coordinator ({member.epoch}). The member must abandon all its partitions and rejoin."
    )


def _is_subset(owned: Owned | None, assigned: EpochedAssignment) -> bool:
    if owned is None:
        return False
    return all(
        topic_id in assigned and all(partition in assigned[topic_id] for partition in partitions)
        for topic_id, partitions in owned.items()
    )
