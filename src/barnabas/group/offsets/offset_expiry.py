"""Expiration of offsets after `offsets.retention.minutes`, and of groups without members and offsets.

The retention starts with the commit, or when the group lost its last member. Offsets of subscribed topics,
and of partitions in an open transaction, do not expire. An empty group without offsets is deleted with them.
The shard has one sweep every `offsets.retention.check.interval.ms`. It is done in steps, so that a large
shard does not delay the others.
"""

import logging
from functools import partial

from barnabas.base.deferred import Deferred
from barnabas.group.environment import ShardEnvironment
from barnabas.group.group import ExpirationCondition, Group
from barnabas.group.groups import Groups
from barnabas.group.offsets.offset_store import OffsetStore
from barnabas.group.records import GroupRecord, OffsetCommit
from barnabas.runtime.outcome import Outcome, written

logger = logging.getLogger("coordinator")

STEP = 5_000
"""The number of offsets and groups that are checked in one step, but always a whole group."""
_KEY = ("offset-expiry",)


class OffsetExpiry:
    def __init__(self, groups: Groups, environment: ShardEnvironment, store: OffsetStore) -> None:
        self._groups: Groups = groups
        self._environment: ShardEnvironment = environment
        self._store: OffsetStore = store

    def expire(self) -> Outcome[None]:
        return self._step(tuple(group.group_id for group in self._groups), 0)

    def _step(self, group_ids: tuple[str, ...], position: int) -> Outcome[None]:
        records: list[GroupRecord] = []
        looked_at = 0
        while position < len(group_ids) and looked_at < STEP:
            group = self._groups.find(group_ids[position])
            position += 1
            if group is not None:
                looked_at += 1 + self._expire_group(group, records)
        if records:
            logger.info("Expired offsets and groups: %d tombstones are written", len(records))
        rest = partial(self._go_on, group_ids, position)
        return Outcome(None, records, is_atomic=False, written=written(rest))

    def _go_on(self, group_ids: tuple[str, ...], position: int, done: Deferred[None]) -> None:
        # After a failure the runtime retries the step, or the next sweep finds the same groups.
        if done.error is None and position < len(group_ids):
            self._environment.timers.schedule(_KEY, 0, partial(self._step, group_ids, position))

    def _expire_group(self, group: Group, records: list[GroupRecord]) -> int:
        """Add the tombstones of its expired offsets, and of the group if none is left.

        Returns how many it checked.
        """
        looked_at = 0
        if group.group_id in self._store.committed:
            condition = group.expiration_condition()
            if condition is None:
                return 0
            looked_at, is_all_expired = self._expire_offsets(group, condition, records)
            if not is_all_expired:
                return looked_at
        if group.is_empty and not self._store.transactional.has_group(group.group_id):
            records.extend(group.tombstones())
        return looked_at

    def _expire_offsets(
        self, group: Group, condition: ExpirationCondition, records: list[GroupRecord]
    ) -> tuple[int, bool]:
        group_id = group.group_id
        now_ms = self._environment.clock.now_ms()
        retention_ms = self._environment.settings.offsets_retention_ms
        transactional = self._store.transactional
        looked_at, is_all_expired = 0, True
        for topic, partitions in self._store.committed.of_group(group_id).items():
            if group.is_subscribed_to(topic):
                is_all_expired = False
                continue
            looked_at += len(partitions)
            for partition, value in partitions.items():
                if condition.is_expired(value, now_ms, retention_ms) and not (
                    transactional and transactional.has(group_id, topic, partition)
                ):
                    records.append(OffsetCommit(group_id, topic, partition, None))
                else:
                    is_all_expired = False
        return looked_at, is_all_expired
