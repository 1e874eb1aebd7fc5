"""One step of a member on the way to its target. A pure function of the member and its goal.

    Stable --------- target is newer ----> gives up first: Unrevoked ---- revoked ----+
       ^                                   else                                       |
       |                                     v                                        v
       +--- everything is released ---- Unreleased, or Stable at once  <---- at the target's epoch

A member stays at its epoch while it has partitions to revoke. It advances to the target's epoch when it has
none. There it gets free partitions at once and the others when they are released. A partition is revoked when
the member no longer names it among those it owns. Kafka: CurrentAssignmentBuilder.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from uuid import UUID

from barnabas.base.errors import FencedMemberEpoch
from barnabas.group.consumer.member import ConsumerMember, MemberState
from barnabas.group.consumer.partition_epochs import PartitionEpochs
from barnabas.group.consumer.subscription import Subscription
from barnabas.group.records import Assignment, EpochedAssignment

Owned = Mapping[UUID, Collection[int]]
"""The partitions that a member reports as owned."""

_Epochs = dict[UUID, Mapping[int, int]]


@dataclass(frozen=True, slots=True)
class Goal:
    """The target of a member, and the state that limits its next step."""

    target_epoch: int
    target: Assignment
    subscription: Subscription
    partition_epochs: PartitionEpochs
    owned: Owned | None
    """None if the request does not say."""
    has_subscription_changed: bool = False
    """By the current request: unsubscribed partitions must be revoked at once."""


def next_member(member: ConsumerMember, goal: Goal) -> ConsumerMember:
    """Returns the member after one step. The same object if there is no step."""
    if member.state == MemberState.STABLE:
        if member.epoch != goal.target_epoch:
            return _next_assignment(member, goal)
        return _without_unsubscribed(member, goal) if goal.has_subscription_changed else member
    if member.state == MemberState.UNREVOKED_PARTITIONS:
        if _owns_any(goal.owned, member.pending_revocation):
            return _without_unsubscribed(member, goal) if goal.has_subscription_changed else member
        return _next_assignment(member, goal)
    if member.state == MemberState.UNKNOWN and (goal.owned is None or goal.owned):
        raise FencedMemberEpoch(
            "The consumer group member is in a unknown state. "
            "The member must abandon all its partitions and rejoin."
        )
    return _next_assignment(member, goal)


def _owns_any(owned: Owned | None, revoked: EpochedAssignment) -> bool:
    """Whether the member has not revoked all of `revoked`. True if the request does not say."""
    if owned is None:
        return True
    return any(
        partition in revoked[topic_id]
        for topic_id, partitions in owned.items()
        if topic_id in revoked
        for partition in partitions
    )


def _without_unsubscribed(member: ConsumerMember, goal: Goal) -> ConsumerMember:
    """Revoke the topics that the member is no longer subscribed to, at its current epoch."""
    unwanted = [topic_id for topic_id in member.assigned if topic_id not in goal.subscription]
    if not unwanted:
        return member
    assigned: _Epochs = dict(member.assigned)
    revoked: _Epochs = dict(member.pending_revocation)
    for topic_id in unwanted:
        revoked[topic_id] = {**revoked.get(topic_id, {}), **assigned.pop(topic_id)}
    if _owns_any(goal.owned, revoked):
        return member.at_epoch(member.epoch, MemberState.UNREVOKED_PARTITIONS, assigned, revoked)
    # It has already revoked them.
    return member.at_epoch(member.epoch, member.state, assigned, member.pending_revocation)


@dataclass(slots=True)
class _Step:
    kept: _Epochs
    revoked: _Epochs
    granted: _Epochs
    """Free partitions of the target."""
    has_unreleased: bool


def _next_assignment(member: ConsumerMember, goal: Goal) -> ConsumerMember:
    step = _compare(member, goal)
    if step.revoked and _owns_any(goal.owned, step.revoked):
        return member.at_epoch(member.epoch, MemberState.UNREVOKED_PARTITIONS, step.kept, step.revoked)
    assigned = step.kept
    for topic_id, partitions in step.granted.items():
        assigned[topic_id] = {**assigned.get(topic_id, {}), **partitions}
    state = MemberState.UNRELEASED_PARTITIONS if step.has_unreleased else MemberState.STABLE
    return member.at_epoch(goal.target_epoch, state, assigned, {})


def _compare(member: ConsumerMember, goal: Goal) -> _Step:
    step = _Step({}, {}, {}, False)
    assigned, target = member.assigned, goal.target
    for topic_id in {**target, **assigned}:
        wanted = target.get(topic_id, frozenset()) if topic_id in goal.subscription else frozenset()
        current = assigned.get(topic_id, {})
        kept = {partition: epoch for partition, epoch in current.items() if partition in wanted}
        if kept:
            step.kept[topic_id] = kept
        if len(kept) < len(current):
            step.revoked[topic_id] = {
                partition: epoch for partition, epoch in current.items() if partition not in wanted
            }
        if len(kept) < len(wanted):
            _grant(step, member, goal, topic_id, wanted.difference(kept))
    return step


def _grant(step: _Step, member: ConsumerMember, goal: Goal, topic_id: UUID, missing: frozenset[int]) -> None:
    taken = goal.partition_epochs.owned(topic_id)
    # Partitions that the member itself was revoking are free for it.
    own = member.pending_revocation.get(topic_id, {})
    free = {
        partition: goal.target_epoch for partition in missing if partition not in taken or partition in own
    }
    if free:
        step.granted[topic_id] = free
    if len(free) < len(missing):
        step.has_unreleased = True
