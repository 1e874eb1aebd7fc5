"""One step of a member on the way to its target. Pure: a member and what is known go in, a member comes out.

    Stable --------- target is newer ----> gives up first: Unrevoked ---- revoked ----+
       ^                                   else                                       |
       |                                     v                                        v
       +--- everything is released ---- Unreleased, or Stable at once  <---- at the target's epoch

A member stays at its epoch while it has partitions to give up; it goes to the target's epoch when it has
none, and there gets what is free at once and the rest as others let go. A partition has been given up when
the member does not name it any more among those it owns. Kafka: CurrentAssignmentBuilder.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from uuid import UUID

from barnabas.base.errors import FencedMemberEpoch
from barnabas.coordinator.consumer.member import ConsumerMember, MemberState
from barnabas.coordinator.consumer.partition_epochs import PartitionEpochs
from barnabas.coordinator.consumer.subscription import Subscription
from barnabas.coordinator.group_records import Assignment, EpochedAssignment

Owned = Mapping[UUID, Collection[int]]
"""What a member says it owns."""

_Epochs = dict[UUID, Mapping[int, int]]


@dataclass(frozen=True, slots=True)
class Goal:
    """Where a member shall get to, and what stands in its way."""

    target_epoch: int
    target: Assignment
    subscription: Subscription
    partition_epochs: PartitionEpochs
    owned: Owned | None
    """None: the member did not say."""
    has_subscription_changed: bool = False
    """By the request at hand: what is not subscribed to any more has to go at once."""


def next_member(member: ConsumerMember, goal: Goal) -> ConsumerMember:
    """The member after one step; the same object when there is no step to take."""
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
    """Whether the member has not given up all of `revoked`; one that does not say has not."""
    if owned is None:
        return True
    return any(
        partition in revoked[topic_id]
        for topic_id, partitions in owned.items()
        if topic_id in revoked
        for partition in partitions
    )


def _without_unsubscribed(member: ConsumerMember, goal: Goal) -> ConsumerMember:
    """Give up the topics that the member does not want any more, at the epoch it has."""
    unwanted = [topic_id for topic_id in member.assigned if topic_id not in goal.subscription]
    if not unwanted:
        return member
    assigned: _Epochs = dict(member.assigned)
    revoked: _Epochs = dict(member.pending_revocation)
    for topic_id in unwanted:
        revoked[topic_id] = {**revoked.get(topic_id, {}), **assigned.pop(topic_id)}
    if _owns_any(goal.owned, revoked):
        return member.at_epoch(member.epoch, MemberState.UNREVOKED_PARTITIONS, assigned, revoked)
    # It has let go of them already.
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
    # What the member itself was giving up is free for it.
    own = member.pending_revocation.get(topic_id, {})
    free = {
        partition: goal.target_epoch for partition in missing if partition not in taken or partition in own
    }
    if free:
        step.granted[topic_id] = free
    if len(free) < len(missing):
        step.has_unreleased = True
