"""Members of a consumer group that use the classic protocol: their joins, syncs, heartbeats and leaves.

To them the group is a classic one whose leader is somebody else. The generation they know is their member
epoch. When their target has moved on, or they have partitions to give up, or partitions they wait for have
become free, their heartbeats say that a rebalance is in progress; the join that follows takes them one step
towards the target, and the sync tells what they own then. Nobody waits for anybody: every request is
answered as it comes. In place of the deadline for revocations they have one for the join they were told to
make, and one for the sync after it.

Durable state changes in `replay` alone. `GroupShard` calls this for consumer groups that have members.
"""

import logging
from typing import TYPE_CHECKING

from barnabas.base.errors import (
    CorruptMessage,
    ErrorCode,
    IllegalGeneration,
    InconsistentGroupProtocol,
    KafkaError,
    RebalanceInProgress,
    UnknownMemberId,
    UnknownServerError,
)
from barnabas.coordinator.classic.replies import leave_reply, left, sync_reply
from barnabas.coordinator.classic.subscriptions import CONSUMER_PROTOCOL_TYPE
from barnabas.coordinator.classic.syncing import check_sync
from barnabas.coordinator.consumer.consumer_groups import ConsumerGroups
from barnabas.coordinator.consumer.group import ConsumerGroup
from barnabas.coordinator.consumer.member import ConsumerMember, MemberState
from barnabas.coordinator.consumer.membership import check_instance
from barnabas.coordinator.environment import RequestContext, ShardEnvironment
from barnabas.coordinator.group_records import ClassicProtocols
from barnabas.coordinator.groups import Groups
from barnabas.coordinator.migration.classic_joins import ClassicJoins
from barnabas.coordinator.migration.consumer_protocol import (
    by_topic_name,
    protocol_version,
    serialize_assignment,
)
from barnabas.coordinator.migration.downgrade import Downgrades
from barnabas.coordinator.outcome import Outcome
from barnabas.coordinator.subscription_metadata import metadata_hash
from barnabas.wire import Reply

if TYPE_CHECKING:
    from kio.schema.heartbeat.v4.request import HeartbeatRequest
    from kio.schema.join_group.v9.request import JoinGroupRequest
    from kio.schema.leave_group.v5.request import LeaveGroupRequest, MemberIdentity
    from kio.schema.sync_group.v5.request import SyncGroupRequest

logger = logging.getLogger("coordinator")


class ClassicMembers:
    def __init__(
        self,
        groups: Groups,
        environment: ShardEnvironment,
        consumer: ConsumerGroups,
        downgrades: Downgrades,
    ) -> None:
        self._environment: ShardEnvironment = environment
        self._consumer: ConsumerGroups = consumer
        self._joins: ClassicJoins = ClassicJoins(groups, environment, consumer, downgrades)

    def join(self, group: ConsumerGroup, context: RequestContext, body: "JoinGroupRequest") -> Outcome[Reply]:
        return self._joins.join(group, context, body)

    def sync(self, group: ConsumerGroup, context: RequestContext, body: "SyncGroupRequest") -> Outcome[Reply]:
        check_sync(context, body)
        member, classic = _checked_member(group, body.member_id, body.group_instance_id, body.generation_id)
        _check_protocol(member, classic, body.protocol_type, body.protocol_name)
        if group.assignment_epoch > member.epoch and member.state != MemberState.UNREVOKED_PARTITIONS:
            # One that has to give up partitions has joined already; it joins again when it has.
            raise self._told_to_join(group, member)
        fencing = self._consumer.fencing
        fencing.cancel_sync(group.group_id, member.member_id)
        fencing.watch_session(group.group_id, member.member_id, classic.session_timeout_ms)
        assignment = self._assignment(member, classic)
        return Outcome(sync_reply(body.protocol_type, body.protocol_name, assignment))

    def heartbeat(self, group: ConsumerGroup, body: "HeartbeatRequest") -> Outcome[Reply]:
        member, classic = _checked_member(group, body.member_id, body.group_instance_id, body.generation_id)
        self._consumer.fencing.watch_session(group.group_id, member.member_id, classic.session_timeout_ms)
        if _must_join(group, member) or self._must_somebody_join(group):
            raise self._told_to_join(group, member)
        return Outcome(Reply(error_code=ErrorCode.none))

    def leave(self, group: ConsumerGroup, body: "LeaveGroupRequest") -> Outcome[Reply]:
        """Of members of either protocol: an administrator removes them with LeaveGroup too."""
        replies: list[Reply] = []
        leaving: dict[str, ConsumerMember] = {}
        for identity in body.members:
            try:
                member = _leaving_member(group, identity)
            except KafkaError as error:
                replies.append(left(identity, error.code))
                continue
            logger.info(
                "Group %s: member %s leaves; client reason: %s",
                group.group_id, member.member_id, identity.reason or "not provided",
            )  # fmt: skip
            leaving[member.member_id] = member
            replies.append(left(identity, ErrorCode.none))
        return self._consumer.fencing.fence_leaving(group, list(leaving.values()), leave_reply(replies))

    # --- telling members to join ---------------------------------------------------------------------------

    def _told_to_join(self, group: ConsumerGroup, member: ConsumerMember) -> RebalanceInProgress:
        timeout_ms = member.value.rebalance_timeout_ms
        self._consumer.fencing.watch_join(group.group_id, member.member_id, timeout_ms)
        return RebalanceInProgress(f"Group {group.group_id} is rebalancing, {member.member_id} has to join.")

    def _must_somebody_join(self, group: ConsumerGroup) -> bool:
        """Whether the group needs another target, and nobody is there whose heartbeats would compute it.

        Heartbeats of members that use the consumer protocol do. A group without any is one that may not
        become a classic group; its members have to join for it.
        """
        if group.classic_member_count < len(group.members):
            return False
        if group.needs_metadata_refresh:
            if metadata_hash(self._environment.image, group.subscribed_topics) != group.metadata_hash:
                return True
            group.refreshed_epoch = group.epoch
        return group.epoch > group.assignment_epoch

    def _assignment(self, member: ConsumerMember, classic: ClassicProtocols) -> bytes:
        try:
            version = protocol_version(classic.protocols[0][1])
        except CorruptMessage as error:
            raise UnknownServerError(f"What {member.member_id} joined with is malformed: {error}") from error
        return serialize_assignment(by_topic_name(member.assigned, self._environment.image), version)


def _must_join(group: ConsumerGroup, member: ConsumerMember) -> bool:
    if member.epoch < group.assignment_epoch or member.state == MemberState.UNREVOKED_PARTITIONS:
        return True
    # All of it or nothing: a join for each partition that becomes free would be many.
    return (
        member.state == MemberState.UNRELEASED_PARTITIONS
        and not group.is_waiting_for_unreleased_partition(member)
    )


def _checked_member(
    group: ConsumerGroup, member_id: str, instance_id: str | None, generation: int
) -> tuple[ConsumerMember, ClassicProtocols]:
    if instance_id is None:
        member = group.member(member_id)
    else:
        member = check_instance(group, group.static_member(instance_id), member_id, instance_id)
    classic = member.value.classic
    if classic is None:
        raise UnknownMemberId(f"Member {member_id} does not use the classic protocol.")
    if generation != member.epoch:
        raise IllegalGeneration(f"Member {member_id} is at epoch {member.epoch}, not at {generation}.")
    return member, classic


def _check_protocol(
    member: ConsumerMember, classic: ClassicProtocols, protocol_type: str | None, protocol_name: str | None
) -> None:
    joined_with = classic.protocols[0][0]
    if protocol_type not in (None, CONSUMER_PROTOCOL_TYPE) or protocol_name not in (None, joined_with):
        raise InconsistentGroupProtocol(
            f"Member {member.member_id} joined with {CONSUMER_PROTOCOL_TYPE}/{joined_with}, "
            f"not {protocol_type}/{protocol_name}"
        )


def _leaving_member(group: ConsumerGroup, identity: "MemberIdentity") -> ConsumerMember:
    if identity.group_instance_id is None:
        return group.member(identity.member_id)
    member = group.static_member(identity.group_instance_id)
    # An administrator names the instance only.
    member_id = identity.member_id or ("" if member is None else member.member_id)
    return check_instance(group, member, member_id, identity.group_instance_id)
