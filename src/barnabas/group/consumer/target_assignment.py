"""The target assignment of a group: the partitions that each member is to own.

Computed by one of the server's assignors when the group epoch is newer than the target's, but not more often
than the assignment interval allows (KIP-1263). While a thousand members join one by one, the assignor runs
once a second, at the first heartbeat after the interval. Kafka: TargetAssignmentBuilder.
"""

import logging
from typing import NamedTuple
from uuid import UUID

from barnabas.base.errors import UnknownServerError
from barnabas.group.assignors import ASSIGNORS
from barnabas.group.assignors.spec import GroupSpec, MemberSpec, PartitionAssignorError
from barnabas.group.consumer.group import NO_ASSIGNMENT, ConsumerGroup
from barnabas.group.consumer.member import ConsumerMember
from barnabas.group.consumer.records import target_epoch_record
from barnabas.group.consumer.subscription import ResolvedRegexes, Subscription
from barnabas.group.consumer.subscription_counts import increment
from barnabas.group.environment import ShardEnvironment
from barnabas.group.records import (
    Assignment,
    ConsumerGroupTargetAssignmentMember,
    GroupRecord,
)
from barnabas.group.settings import group_setting

logger = logging.getLogger("coordinator")


class Target(NamedTuple):
    """Of one member."""

    epoch: int
    assignment: Assignment


class SubscriptionState(NamedTuple):
    """The subscriptions of a group once the current records are written."""

    epoch: int
    is_homogeneous: bool | None
    """None if they are those of the group."""
    resolved: ResolvedRegexes


def update_target(
    group: ConsumerGroup,
    member: ConsumerMember,
    updated: ConsumerMember,
    state: SubscriptionState,
    environment: ShardEnvironment,
    records: list[GroupRecord],
) -> Target:
    """Returns the member's target. Computes a new target for the whole group if it is due."""
    if group.assignment_epoch >= state.epoch or not _may_compute(group, environment):
        return Target(group.assignment_epoch, group.target_of(updated.member_id, updated.instance_id))
    assignor = _preferred_assignor(group, member, updated, environment)
    try:
        computed = ASSIGNORS[assignor].assign(_group_spec(group, updated, state, environment))
    except PartitionAssignorError as error:
        message = f"Failed to compute a new target assignment for epoch {state.epoch}: {error.message}"
        logger.error("Group %s: %s", group.group_id, message)
        raise UnknownServerError(message) from error
    logger.debug(
        "Group %s: computed a new target assignment for epoch %d with the assignor %s",
        group.group_id,
        state.epoch,
        assignor,
    )
    for member_id, assignment in computed.items():
        if group.target.get(member_id) != assignment:
            records.append(ConsumerGroupTargetAssignmentMember(group.group_id, member_id, assignment))
    records.append(target_epoch_record(group.group_id, state.epoch, environment.clock.now_ms()))
    return Target(state.epoch, computed.get(updated.member_id, NO_ASSIGNMENT))


def _may_compute(group: ConsumerGroup, environment: ShardEnvironment) -> bool:
    if group.assignment_timestamp_ms == 0:
        return True
    interval_ms = group_setting(
        environment.image.group_configs,
        group.group_id,
        "consumer.assignment.interval.ms",
        environment.settings.consumer_assignment_interval_ms,
    )
    # With an interval of zero a clock that was set back does no harm.
    return interval_ms == 0 or environment.clock.now_ms() >= group.assignment_timestamp_ms + interval_ms


def preferred_assignor(group: ConsumerGroup, environment: ShardEnvironment) -> str:
    """The assignor that most members prefer, or else the default."""
    return _most_wanted(group.server_assignors, environment)


def _preferred_assignor(
    group: ConsumerGroup, member: ConsumerMember, updated: ConsumerMember, environment: ShardEnvironment
) -> str:
    counts = group.server_assignors
    old, new = member.value.server_assignor, updated.value.server_assignor
    if old != new:
        counts = dict(counts)
        if old is not None:
            increment(counts, old, -1)
        if new is not None:
            increment(counts, new)
    return _most_wanted(counts, environment)


def _most_wanted(counts: dict[str, int], environment: ShardEnvironment) -> str:
    # Ties are broken by the broker's order. An assignor that this broker does not have is ignored.
    offered = [name for name in environment.settings.consumer_assignors if name in ASSIGNORS]
    return max(offered, key=lambda name: counts.get(name, 0))


def _group_spec(
    group: ConsumerGroup, updated: ConsumerMember, state: SubscriptionState, environment: ShardEnvironment
) -> GroupSpec:
    members = dict(group.members)
    previous_id = None if updated.instance_id is None else group.static_members.get(updated.instance_id)
    if previous_id is not None and previous_id != updated.member_id:
        members.pop(previous_id, None)
    members[updated.member_id] = updated
    image = environment.image
    # Most members of a group have the same subscription.
    topic_ids: dict[tuple[tuple[str, ...], str], frozenset[UUID]] = {}
    specs: dict[str, MemberSpec] = {}
    for member_id, each in members.items():
        key = (each.topic_names, each.topic_regex)
        wanted = topic_ids.get(key)
        if wanted is None:
            wanted = topic_ids[key] = Subscription(each, state.resolved, image).topic_ids()
        target_id = previous_id if each is updated and previous_id is not None else member_id
        specs[member_id] = MemberSpec(
            each.instance_id, each.value.rack_id, wanted, group.target.get(target_id, NO_ASSIGNMENT)
        )
    counts = {
        topic_id: len(image.topic_by_id[topic_id].partitions)
        for topic_id in frozenset[UUID]().union(*topic_ids.values())
    }
    is_homogeneous = group.is_homogeneous if state.is_homogeneous is None else state.is_homogeneous
    return GroupSpec(specs, is_homogeneous, counts)
