"""Removes members from a consumer group: members that leave, expire, or do not revoke partitions in time.

Owns the members' deadlines. They are soft state: a deadline for a member, group or epoch that no longer
exists does nothing, and all of them start again when a shard is loaded.
"""

import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

from barnabas.base.deferred import Deferred
from barnabas.group.consumer import subscription_counts
from barnabas.group.consumer.group import ConsumerGroup
from barnabas.group.consumer.member import ConsumerMember, MemberState
from barnabas.group.consumer.records import epoch_record, member_tombstones
from barnabas.group.environment import ShardEnvironment
from barnabas.group.groups import Groups
from barnabas.group.records import ConsumerGroupRegularExpression, GroupRecord
from barnabas.group.settings import group_setting
from barnabas.group.subscription_metadata import metadata_hash
from barnabas.runtime.outcome import Outcome, written
from barnabas.runtime.timers import Key

logger = logging.getLogger("coordinator")

T = TypeVar("T")

Downgrade = Callable[[ConsumerGroup, Sequence[ConsumerMember]], "Outcome[None] | None"]
"""Given a group and the members that leave: converts it to a classic group, or returns None if it stays."""

_SESSION = "consumer-session"
_REBALANCE = "consumer-rebalance"
_JOIN = "consumer-join"
_SYNC = "consumer-sync"


class Fencing:
    def __init__(
        self, groups: Groups, environment: ShardEnvironment, downgrade: Downgrade | None = None
    ) -> None:
        self._groups: Groups = groups
        self._environment: ShardEnvironment = environment
        self.downgrade: Downgrade | None = downgrade

    # --- removal of members ------------------------------------------------------------------------------

    def fence(self, group: ConsumerGroup, members: Sequence[ConsumerMember], response: T) -> Outcome[T]:
        if not members:
            return Outcome(response)
        if self.downgrade is not None:
            downgraded = self.downgrade(group, members)
            if downgraded is not None:
                return Outcome(response, downgraded.records, on_replayed=downgraded.on_replayed)
        records: list[GroupRecord] = []
        for member in members:
            records.extend(member_tombstones(group.group_id, member.member_id))
        topics = self._forget_subscriptions(group, members, records)
        hashed = metadata_hash(self._environment.image, topics)
        records.append(epoch_record(group.group_id, group.epoch + 1, hashed))
        logger.debug("Group %s: bumped the epoch to %d", group.group_id, group.epoch + 1)
        for member in members:
            self.cancel(group.group_id, member.member_id)
        return Outcome(response, records)

    def fence_leaving(
        self, group: ConsumerGroup, members: Sequence[ConsumerMember], response: T
    ) -> Outcome[T]:
        """Members that leave on request. If that cannot be written they stay, with their deadlines."""
        outcome = self.fence(group, members, response)
        if outcome.on_replayed is not None or not members:
            return outcome

        def restore(done: "Deferred[None]") -> None:
            if done.error is not None:
                for member in members:
                    classic = member.value.classic
                    timeout_ms = None if classic is None else classic.session_timeout_ms
                    self.watch_session(group.group_id, member.member_id, timeout_ms)
                    self.watch_revocation(group.group_id, member)

        return Outcome(response, outcome.records, written=written(restore))

    def fence_by_id(self, group_id: str, member_id: str, reason: str) -> Outcome[None] | None:
        """The action of a deadline."""
        group = self._groups.find(group_id)
        if not isinstance(group, ConsumerGroup):
            return None
        member = group.members.get(member_id)
        if member is None:
            return None
        logger.info("Group %s: member %s is fenced because %s", group_id, member_id, reason)
        return self.fence(group, [member], None)

    def _forget_subscriptions(
        self, group: ConsumerGroup, members: Sequence[ConsumerMember], records: list[GroupRecord]
    ) -> subscription_counts.SubscriptionCounts:
        """Returns the topics of the other members. Expressions that no other member has are deleted."""
        topics = dict(group.subscribed_topics)
        leaving: dict[str, int] = {}
        for member in members:
            subscription_counts.add(topics, member.topic_names, by_name=-1)
            if member.topic_regex:
                subscription_counts.increment(leaving, member.topic_regex)
        for regex, count in leaving.items():
            if group.subscribed_regexes.get(regex) == count:
                records.append(ConsumerGroupRegularExpression(group.group_id, regex, None))
                resolved = group.resolved_regexes.get(regex)
                if resolved is not None:
                    subscription_counts.add(topics, resolved.topics, by_regex=-1)
        return topics

    # --- deadlines -----------------------------------------------------------------------------------------

    def watch(self, group_id: str, member: ConsumerMember) -> None:
        """Start all deadlines of a member."""
        self.watch_session(group_id, member.member_id)
        self.watch_revocation(group_id, member)

    def watch_session(self, group_id: str, member_id: str, timeout_ms: int | None = None) -> None:
        """Renew the session of a member. Without `timeout_ms`, the configured session timeout applies."""
        if timeout_ms is None:
            timeout_ms = self.session_timeout_ms(group_id)
        self._schedule((_SESSION, group_id, member_id), timeout_ms, "its session expired")

    def watch_revocation(self, group_id: str, member: ConsumerMember) -> None:
        """A member that has to revoke partitions must do so within its rebalance timeout."""
        if member.uses_classic_protocol:
            # Classic members have deadlines for joins and syncs instead.
            return
        key = (_REBALANCE, group_id, member.member_id)
        if member.state != MemberState.UNREVOKED_PARTITIONS:
            self._environment.timers.cancel(key)
            return
        expire = partial(self._expire_revocation, group_id, member.member_id, member.epoch)
        self._environment.timers.schedule(key, member.value.rebalance_timeout_ms, expire)

    def _expire_revocation(self, group_id: str, member_id: str, epoch: int) -> Outcome[None] | None:
        group = self._groups.find(group_id)
        member = group.members.get(member_id) if isinstance(group, ConsumerGroup) else None
        if member is None or member.epoch != epoch:
            return None
        return self.fence_by_id(group_id, member_id, f"it did not leave epoch {epoch} in time")

    def watch_join(self, group_id: str, member_id: str, timeout_ms: int) -> None:
        """A classic member must rejoin. Repeated calls do not extend the deadline."""
        expire = partial(
            self.fence_by_id, group_id, member_id, "it did not join within the rebalance timeout"
        )
        self._environment.timers.schedule_if_absent((_JOIN, group_id, member_id), timeout_ms, expire)

    def watch_sync(self, group_id: str, member_id: str, timeout_ms: int) -> None:
        """A classic member has joined and must sync."""
        self._schedule(
            (_SYNC, group_id, member_id), timeout_ms, "it did not sync within the rebalance timeout"
        )

    def cancel_join(self, group_id: str, member_id: str) -> None:
        self._environment.timers.cancel((_JOIN, group_id, member_id))

    def cancel_sync(self, group_id: str, member_id: str) -> None:
        self._environment.timers.cancel((_SYNC, group_id, member_id))

    def cancel(self, group_id: str, member_id: str) -> None:
        for kind in (_SESSION, _REBALANCE, _JOIN, _SYNC):
            self._environment.timers.cancel((kind, group_id, member_id))

    def session_timeout_ms(self, group_id: str) -> int:
        return group_setting(
            self._environment.image.group_configs,
            group_id,
            "consumer.session.timeout.ms",
            self._environment.settings.consumer_session_timeout_ms,
        )

    def _schedule(self, key: Key, timeout_ms: int, reason: str) -> None:
        expire = partial(self.fence_by_id, key[1], key[2], reason)
        self._environment.timers.schedule(key, timeout_ms, expire)
