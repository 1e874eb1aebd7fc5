"""The changes of a member's request, as records, in three steps: subscription, target, own assignment.

1. The member is created or updated. If its subscription has changed, or the topics of the group's
subscription have (the metadata hash), the group epoch is bumped. 2. If the group epoch is newer than the
target's, a new target is computed, unless that was done very recently. 3. The member advances one step
towards its target.

No durable state is changed here. `Rebalance.advance` does all three. The single steps are for callers that
need only some of them, such as a downgrade to the classic protocol.
"""

import logging

from barnabas.group.consumer import subscription_counts
from barnabas.group.consumer.fencing import Fencing
from barnabas.group.consumer.group import ConsumerGroup
from barnabas.group.consumer.member import ConsumerMember
from barnabas.group.consumer.reconciliation import Goal, Owned, next_member
from barnabas.group.consumer.records import (
    current_assignment_record,
    epoch_record,
    subscription_record,
)
from barnabas.group.consumer.regular_expressions import RegexUpdate, update_regular_expressions
from barnabas.group.consumer.subscription import ResolvedRegexes, Subscription
from barnabas.group.consumer.subscription_counts import SubscriptionCounts, increment
from barnabas.group.consumer.target_assignment import SubscriptionState, Target, update_target
from barnabas.group.environment import ShardEnvironment
from barnabas.group.records import ConsumerGroupPartitionMetadata, GroupRecord
from barnabas.group.subscription_metadata import metadata_hash

logger = logging.getLogger("coordinator")


class Rebalance:
    def __init__(self, environment: ShardEnvironment, fencing: Fencing) -> None:
        self._environment: ShardEnvironment = environment
        self._fencing: Fencing = fencing

    def advance(
        self,
        group: ConsumerGroup,
        member: ConsumerMember,
        updated: ConsumerMember,
        owned: Owned | None,
        records: list[GroupRecord],
    ) -> ConsumerMember:
        """`member` is the existing member, `updated` that of the request with its assignment unchanged."""
        if updated is member and _is_at_rest(group, member):
            return member
        have_names_changed = self.update_subscription(group, member, updated, records)
        regexes = update_regular_expressions(group, member, updated, self._environment, records)
        state = self.update_subscription_state(group, member, updated, regexes, have_names_changed, records)
        target = update_target(group, member, updated, state, self._environment, records)
        has_changed = have_names_changed or regexes.has_changed
        return self.reconcile(group, updated, target, state.resolved, has_changed, owned, records)

    def update_subscription(
        self,
        group: ConsumerGroup,
        member: ConsumerMember,
        updated: ConsumerMember,
        records: list[GroupRecord],
    ) -> bool:
        """Write the member if it has changed. Returns True if its topics have changed."""
        if updated.value is member.value or updated.value == member.value:
            return False
        records.append(subscription_record(group.group_id, updated))
        return updated.topic_names != member.topic_names

    def update_subscription_state(
        self,
        group: ConsumerGroup,
        member: ConsumerMember,
        updated: ConsumerMember,
        regexes: RegexUpdate,
        have_names_changed: bool,
        records: list[GroupRecord],
    ) -> SubscriptionState:
        """Bump the group epoch if its subscription or its topics have changed."""
        is_bump_due = have_names_changed or regexes.has_changed or regexes.have_topics_changed
        if not is_bump_due and not group.needs_metadata_refresh:
            return SubscriptionState(group.epoch, None, regexes.resolved)
        topics = _topics_after(group, member, updated, regexes.resolved)
        hashed = metadata_hash(self._environment.image, topics)
        epoch = group.epoch
        if is_bump_due or hashed != group.metadata_hash:
            epoch += 1
            records.append(epoch_record(group.group_id, epoch, hashed))
            logger.debug("Group %s: bumped the epoch to %d", group.group_id, epoch)
        group.refreshed_epoch = epoch
        if group.has_partition_metadata_record:
            records.append(ConsumerGroupPartitionMetadata(group.group_id, None))
        is_known = updated.member_id in group.members or updated.instance_id in group.static_members
        is_homogeneous = subscription_counts.is_homogeneous(
            _regexes_after(group, member, updated), topics, len(group.members) + (not is_known)
        )
        return SubscriptionState(epoch, is_homogeneous, regexes.resolved)

    def reconcile(
        self,
        group: ConsumerGroup,
        updated: ConsumerMember,
        target: Target,
        resolved: ResolvedRegexes,
        has_subscription_changed: bool,
        owned: Owned | None,
        records: list[GroupRecord],
    ) -> ConsumerMember:
        """Advance the member one step towards its target, and watch that it revokes partitions in time."""
        if not has_subscription_changed and updated.is_reconciled_to(target.epoch):
            return updated
        goal = Goal(
            target.epoch,
            target.assignment,
            Subscription(updated, resolved, self._environment.image),
            group.partition_epochs,
            owned,
            has_subscription_changed,
        )
        reconciled = next_member(updated, goal)
        if reconciled is updated or reconciled.current == updated.current:
            return updated
        records.append(current_assignment_record(group.group_id, reconciled))
        self._fencing.watch_revocation(group.group_id, reconciled)
        return reconciled


def _is_at_rest(group: ConsumerGroup, member: ConsumerMember) -> bool:
    """The usual heartbeat: nothing has changed. Regular expressions may have to be resolved again."""
    return (
        not group.subscribed_regexes
        and group.epoch <= group.assignment_epoch
        and member.is_reconciled_to(group.assignment_epoch)
        and not group.needs_metadata_refresh
    )


def _topics_after(
    group: ConsumerGroup, member: ConsumerMember, updated: ConsumerMember, resolved: ResolvedRegexes
) -> SubscriptionCounts:
    counts = dict(group.subscribed_topics)
    subscription_counts.add(counts, updated.topic_names, by_name=1)
    subscription_counts.add(counts, member.topic_names, by_name=-1)
    before = group.resolved_regexes
    for regex in {**before, **resolved}:
        old, new = before.get(regex), resolved.get(regex)
        if old is not new:
            subscription_counts.add(counts, () if new is None else new.topics, by_regex=1)
            subscription_counts.add(counts, () if old is None else old.topics, by_regex=-1)
    return counts


def _regexes_after(group: ConsumerGroup, member: ConsumerMember, updated: ConsumerMember) -> dict[str, int]:
    old, new = member.topic_regex, updated.topic_regex
    counts = dict(group.subscribed_regexes)
    if old != new:
        if old:
            increment(counts, old, -1)
        if new:
            increment(counts, new)
    return counts
