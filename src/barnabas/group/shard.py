"""The part of the group coordinator for one partition of `__consumer_offsets`.

Combines the groups of both protocols, the migration between them and the offsets. Dispatches requests and
records to them. Does no I/O: `runtime` appends the records and replays them.
"""

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Any

from barnabas.base.errors import GroupIdNotFound, KafkaError, UnsupportedVersion
from barnabas.group.classic.classic_groups import ClassicGroups
from barnabas.group.classic.group import ClassicGroup
from barnabas.group.consumer.consumer_groups import ConsumerGroups
from barnabas.group.consumer.group import ConsumerGroup
from barnabas.group.deletion import delete_groups
from barnabas.group.environment import RequestContext, ShardEnvironment
from barnabas.group.group import CONSUMER
from barnabas.group.groups import Groups
from barnabas.group.listing import list_groups
from barnabas.group.migration.classic_members import ClassicMembers
from barnabas.group.migration.downgrade import Downgrades
from barnabas.group.migration.upgrade import Upgrades
from barnabas.group.offsets.offsets import Offsets
from barnabas.group.records import (
    ClassicGroupMetadata,
    GroupRecord,
    OffsetCommit,
    TopicCommit,
)
from barnabas.metadata.image import ClusterImage, TopicImage
from barnabas.runtime.end_marker import EndMarker
from barnabas.runtime.outcome import NOTHING, Outcome
from barnabas.runtime.timers import Timers
from barnabas.wire import Reply
from barnabas.wire.offset_commit import OffsetCommitRequest

if TYPE_CHECKING:
    from kio.schema.consumer_group_heartbeat.v1.request import ConsumerGroupHeartbeatRequest
    from kio.schema.heartbeat.v4.request import HeartbeatRequest
    from kio.schema.join_group.v9.request import JoinGroupRequest
    from kio.schema.leave_group.v5.request import LeaveGroupRequest
    from kio.schema.offset_delete.v0.request import OffsetDeleteRequest
    from kio.schema.sync_group.v5.request import SyncGroupRequest
    from kio.schema.txn_offset_commit.v5.request import TxnOffsetCommitRequest

NO_PRODUCER_ID = -1


class GroupShard:
    def __init__(self, environment: ShardEnvironment) -> None:
        self.environment: ShardEnvironment = environment
        self.timers: Timers = environment.timers
        self.groups: Groups = Groups()
        self.classic: ClassicGroups = ClassicGroups(self.groups, environment)
        self.consumer: ConsumerGroups = ConsumerGroups(self.groups, environment)
        downgrades = Downgrades(self.classic, self.consumer.fencing, environment)
        self.consumer.upgrade = Upgrades(self.consumer.fencing, environment).upgrade
        self.consumer.fencing.downgrade = downgrades.when_fenced
        self.classic_members: ClassicMembers = ClassicMembers(
            self.groups, environment, self.consumer, downgrades
        )
        self.offsets: Offsets = Offsets(
            self.groups,
            environment,
            create_simple_group=self.classic.create_simple_group,
            renew_session=self.classic.renew_session,
        )

    # --- the classic protocol ------------------------------------------------------------------------------

    def join_group(self, context: RequestContext, body: "JoinGroupRequest") -> Outcome[Reply]:
        group = self._consumer_group(body.group_id)
        if group is not None:
            return self.classic_members.join(group, context, body)
        return self.classic.join(context, body)

    def sync_group(self, context: RequestContext, body: "SyncGroupRequest") -> Outcome[Reply]:
        group = self._consumer_group(body.group_id)
        if group is not None:
            return self.classic_members.sync(group, context, body)
        return self.classic.sync(context, body)

    def heartbeat(self, context: RequestContext, body: "HeartbeatRequest") -> Outcome[Reply]:
        group = self._consumer_group(body.group_id)
        if group is not None:
            return self.classic_members.heartbeat(group, body)
        return self.classic.heartbeat(context, body)

    def leave_group(self, context: RequestContext, body: "LeaveGroupRequest") -> Outcome[Reply]:
        group = self._consumer_group(body.group_id)
        if group is not None:
            return self.classic_members.leave(group, body)
        return self.classic.leave(context, body)

    def _consumer_group(self, group_id: str) -> ConsumerGroup | None:
        """Returns a consumer group that members of the classic protocol are in, or may join.

        Returns None for a consumer group without members: a classic group replaces it.
        """
        group = self.groups.find(group_id)
        return group if isinstance(group, ConsumerGroup) and not group.is_empty else None

    # --- the consumer protocol -----------------------------------------------------------------------------

    def consumer_group_heartbeat(
        self, context: RequestContext, body: "ConsumerGroupHeartbeatRequest"
    ) -> Outcome[Reply]:
        return self.consumer.heartbeat(context, body)

    # --- offsets -------------------------------------------------------------------------------------------

    def commit_offsets(self, context: RequestContext, body: OffsetCommitRequest) -> Outcome[Reply]:
        return self.offsets.commit(context, body)

    def commit_transactional_offsets(
        self, context: RequestContext, body: "TxnOffsetCommitRequest"
    ) -> Outcome[Reply]:
        return self.offsets.commit_transactional(context, body)

    def fetch_offsets(self, context: RequestContext, group: Any, require_stable: bool) -> Reply:
        """One group of OffsetFetch. The version determines whether topics have names or ids."""
        return self.offsets.fetch(context, group, require_stable)

    def delete_offsets(self, context: RequestContext, body: "OffsetDeleteRequest") -> Outcome[Reply]:
        return self.offsets.delete(context, body)

    def expire(self) -> Outcome[None]:
        return self.offsets.expire()

    # --- groups --------------------------------------------------------------------------------------------

    def describe_group(self, group_id: str) -> Reply:
        group = self.groups.get(group_id)
        if not isinstance(group, ClassicGroup):
            raise GroupIdNotFound(f"Group {group_id} is not a classic group.")
        return self.classic.describe(group)

    def describe_consumer_group(self, group_id: str) -> Reply:
        if CONSUMER not in self.environment.settings.rebalance_protocols:
            raise UnsupportedVersion("The consumer group protocol is not enabled.")
        group = self.groups.get(group_id)
        if not isinstance(group, ConsumerGroup):
            raise GroupIdNotFound(f"Group {group_id} is not a consumer group.")
        return self.consumer.describe(group)

    def list_groups(self, states: Collection[str], types: Collection[str]) -> list[Reply]:
        return list_groups(self.groups, states, types)

    def delete_groups(self, group_ids: Iterable[str]) -> Outcome[list[Reply]]:
        return delete_groups(self.groups, self.offsets, group_ids)

    # --- replay, loading and unloading ---------------------------------------------------------------------

    def replay(
        self, record: GroupRecord | TopicCommit | EndMarker, *, producer_id: int = NO_PRODUCER_ID
    ) -> None:
        if isinstance(record, TopicCommit):
            self.offsets.replay_topic(record)
        elif isinstance(record, OffsetCommit):
            self.offsets.replay(record, producer_id=producer_id)
        elif isinstance(record, ClassicGroupMetadata):
            self.classic.replay(record)
        elif isinstance(record, EndMarker):
            self.replay_end_marker(record.producer_id, record.is_commit)
        else:
            self.consumer.replay(record)

    def replay_end_marker(self, producer_id: int, commit: bool) -> None:
        self.offsets.replay_end_marker(producer_id, commit)

    def on_loaded(self) -> None:
        self.classic.on_loaded()
        self.consumer.on_loaded()

    def on_unloaded(self, error: KafkaError) -> None:
        self.classic.on_unloaded(error)
        self.consumer.on_unloaded(error)

    def on_image(
        self, image: ClusterImage, changed: Collection[str], deleted: Collection[TopicImage]
    ) -> Outcome[None]:
        """The cluster has changed: groups check the changed topics, offsets of deleted topics are removed."""
        before, self.environment.image = self.environment.image, image
        if not len(self.groups):
            return NOTHING
        self.consumer.on_image(before, image, changed)
        return self.offsets.on_topics_deleted(deleted) if deleted else NOTHING
