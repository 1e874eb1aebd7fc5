"""The consumer groups of one shard: the requests of their members.

A heartbeat is the only request. A member joins with epoch 0, sends its changes and the partitions it owns,
and leaves with epoch -1, or with -2 if it is static and will rejoin. The response has its epoch and, if that
has changed, its assignment. No durable state is changed here: see `replay`.
"""

import logging
from collections.abc import Callable, Collection
from datetime import timedelta
from typing import TYPE_CHECKING

from barnabas.base.errors import GroupIdNotFound, KafkaError
from barnabas.base.ids import encode_uuid, random_uuid
from barnabas.group.consumer.description import describe_group
from barnabas.group.consumer.fencing import Downgrade, Fencing
from barnabas.group.consumer.group import ConsumerGroup
from barnabas.group.consumer.heartbeat_request import (
    check_request,
    is_full,
    owned_partitions,
    updated_value,
)
from barnabas.group.consumer.member import JOIN_EPOCH, STATIC_LEAVE_EPOCH, ConsumerMember
from barnabas.group.consumer.membership import (
    check_instance,
    check_not_full,
    dynamic_member,
    static_member,
)
from barnabas.group.consumer.rebalance import Rebalance
from barnabas.group.consumer.records import current_assignment_record
from barnabas.group.consumer.replay import ConsumerRecord, Replay
from barnabas.group.environment import RequestContext, ShardEnvironment
from barnabas.group.group import CLASSIC, Group
from barnabas.group.groups import Groups
from barnabas.group.records import EpochedAssignment, GroupRecord
from barnabas.group.settings import group_setting
from barnabas.metadata.image import ClusterImage
from barnabas.runtime.outcome import Outcome
from barnabas.wire import Reply

if TYPE_CHECKING:
    from kio.schema.consumer_group_heartbeat.v1.request import ConsumerGroupHeartbeatRequest

logger = logging.getLogger("coordinator")

Upgrade = Callable[[Group, list[GroupRecord]], ConsumerGroup]
"""Upgrades a classic group to a consumer group: adds the records, returns the resulting group."""


class ConsumerGroups:
    def __init__(
        self,
        groups: Groups,
        environment: ShardEnvironment,
        *,
        upgrade: Upgrade | None = None,
        downgrade: Downgrade | None = None,
    ) -> None:
        self._groups: Groups = groups
        self._environment: ShardEnvironment = environment
        self.upgrade: Upgrade | None = upgrade
        self.fencing: Fencing = Fencing(groups, environment, downgrade)
        self.rebalance: Rebalance = Rebalance(environment, self.fencing)
        self._replay: Replay = Replay(groups, environment)

    # --- requests ------------------------------------------------------------------------------------------

    def heartbeat(self, context: RequestContext, body: "ConsumerGroupHeartbeatRequest") -> Outcome[Reply]:
        check_request(body, context.version, self._environment.settings)
        if body.member_epoch < JOIN_EPOCH:
            return self._leave(body)
        records: list[GroupRecord] = []
        group = self._group_for(body.group_id, records, may_create=body.member_epoch == JOIN_EPOCH)
        check_not_full(group, body.member_id, self._environment.settings.consumer_max_size)
        owned = owned_partitions(body)
        member_id = body.member_id or encode_uuid(random_uuid(self._environment.rng))
        epoch, may_create = body.member_epoch, body.member_epoch == JOIN_EPOCH
        if body.instance_id is None:
            member = dynamic_member(group, member_id, epoch, owned, may_create=may_create)
        else:
            member = static_member(
                group, member_id, epoch, body.instance_id, owned, records, may_create=may_create
            )
        value = updated_value(member.value, context, body)
        changed = member if value is member.value else member.with_value(value)
        updated = self.rebalance.advance(group, member, changed, owned, records)
        self.fencing.watch_session(body.group_id, member_id)
        reply = self._answer(body.group_id, updated)
        has_moved = updated.current is not member.current and updated.assigned != member.assigned
        if may_create or has_moved or is_full(body):
            reply.assignment = _assignment(updated.assigned)
        return Outcome(reply, records)

    def _leave(self, body: "ConsumerGroupHeartbeatRequest") -> Outcome[Reply]:
        group = self._groups.get(body.group_id)
        if not isinstance(group, ConsumerGroup):
            raise GroupIdNotFound(f"Group {body.group_id} is not a consumer group.")
        reply = Reply(member_id=body.member_id, member_epoch=body.member_epoch)
        if body.instance_id is None:
            member = group.member(body.member_id)
        else:
            existing = group.static_member(body.instance_id)
            member = check_instance(group, existing, body.member_id, body.instance_id)
            if body.member_epoch == STATIC_LEAVE_EPOCH:
                logger.info("Group %s: static member %s leaves temporarily", group.group_id, body.instance_id)
                leaving = member.leaving_for_a_while()
                return Outcome(reply, [current_assignment_record(group.group_id, leaving)])
        logger.info("Group %s: member %s leaves", group.group_id, member.member_id)
        return self.fencing.fence_leaving(group, [member], reply)

    def _group_for(self, group_id: str, records: list[GroupRecord], *, may_create: bool) -> ConsumerGroup:
        group = self._groups.find(group_id)
        if isinstance(group, ConsumerGroup):
            return group
        if group is None:
            if not may_create:
                raise GroupIdNotFound(f"Consumer group {group_id} not found.")
            return ConsumerGroup(group_id, self._environment)
        if may_create and group.type == CLASSIC:
            if group.is_empty:
                records.extend(group.tombstones())
                return ConsumerGroup(group_id, self._environment)
            if self.upgrade is not None:
                return self.upgrade(group, records)
        raise GroupIdNotFound(f"Group {group_id} is not a consumer group.")

    def _answer(self, group_id: str, member: ConsumerMember) -> Reply:
        interval_ms = group_setting(
            self._environment.image.group_configs,
            group_id,
            "consumer.heartbeat.interval.ms",
            self._environment.settings.consumer_heartbeat_interval_ms,
        )
        return Reply(
            member_id=member.member_id,
            member_epoch=member.epoch,
            heartbeat_interval=timedelta(milliseconds=interval_ms),
        )

    def describe(self, group: ConsumerGroup) -> Reply:
        return describe_group(group, self._environment)

    # --- events of the shard -------------------------------------------------------------------------------

    def replay(self, record: ConsumerRecord) -> None:
        self._replay.replay(record)

    def on_loaded(self) -> None:
        """Begin a full session for every member."""
        for group in self._groups:
            if isinstance(group, ConsumerGroup):
                # Topics may have been created while another coordinator, or none, had the group.
                group.topics_created_ms = self._environment.clock.now_ms()
                for member in group.members.values():
                    self.fencing.watch(group.group_id, member)
                logger.info("Group %s: loaded with %d members", group.group_id, len(group.members))

    def on_unloaded(self, error: KafkaError) -> None:
        """No requests wait: every heartbeat is answered at once."""

    def on_image(self, old: ClusterImage, new: ClusterImage, changed: Collection[str]) -> None:
        """Groups of the changed topics check their topics again with the next heartbeat of any member."""
        are_topics_new = False
        for name in changed:
            before, topic = old.topics.get(name), new.topics.get(name)
            are_topics_new |= topic is not None and (before is None or before.topic_id != topic.topic_id)
            for group_id in self._groups.subscribed_to(name):
                group = self._groups.find(group_id)
                if isinstance(group, ConsumerGroup):
                    group.refreshed_epoch = None
        if are_topics_new:
            now_ms = self._environment.clock.now_ms()
            for group in self._groups:
                if isinstance(group, ConsumerGroup):
                    group.topics_created_ms = now_ms


def _assignment(assigned: EpochedAssignment) -> Reply:
    return Reply(
        topic_partitions=[
            Reply(topic_id=topic_id, partitions=tuple(sorted(partitions)))
            for topic_id, partitions in assigned.items()
        ]
    )
