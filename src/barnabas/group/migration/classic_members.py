"""Members of a consumer group that use the classic protocol: their joins, syncs, heartbeats and leaves.

For them the group is a classic group with another leader. Their generation is their member epoch. If their
target has changed, or they must revoke partitions, or partitions they wait for have become free, the response
to their heartbeat is REBALANCE_IN_PROGRESS. The next join advances them one step towards the target, and the
sync returns their partitions. No request waits for another member: every request is answered at once. They
have no deadline for revocations, but one for the join they must make, and one for the sync after it.

Only `replay` changes durable state. `GroupShard` calls this for consumer groups that have members.
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
from barnabas.group.classic.replies import leave_reply, left, sync_reply
from barnabas.group.classic.subscriptions import CONSUMER_PROTOCOL_TYPE
from barnabas.group.classic.syncing import check_sync
from barnabas.group.consumer.consumer_groups import ConsumerGroups
from barnabas.group.consumer.group import ConsumerGroup
from barnabas.group.consumer.member import ConsumerMember, MemberState
from barnabas.group.consumer.membership import check_instance
from barnabas.group.environment import RequestContext, ShardEnvironment
from barnabas.group.groups import Groups
from barnabas.group.migration.classic_joins import ClassicJoins
from barnabas.group.migration.consumer_protocol import (
    by_topic_name,
    protocol_version,
    serialize_assignment,
)
from barnabas.group.migration.downgrade import Downgrades
from barnabas.group.records import ClassicProtocols
from barnabas.group.subscription_metadata import metadata_hash
from barnabas.runtime.outcome import Outcome
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
            # A member that must revoke partitions has already joined. It joins again after the revocation.
            raise self._must_rejoin(group, member)
        fencing = self._consumer.fencing
        fencing.cancel_sync(group.group_id, member.member_id)
        fencing.watch_session(group.group_id, member.member_id, classic.session_timeout_ms)
        assignment = self._assignment(member, classic)
        return Outcome(sync_reply(body.protocol_type, body.protocol_name, assignment))

    def heartbeat(self, group: ConsumerGroup, body: "HeartbeatRequest") -> Outcome[Reply]:
        member, classic = _checked_member(group, body.member_id, body.group_instance_id, body.generation_id)
        self._consumer.fencing.watch_session(group.group_id, member.member_id, classic.session_timeout_ms)
        if _must_join(group, member) or self._needs_rejoin(group):
            raise self._must_rejoin(group, member)
        return Outcome(Reply(error_code=ErrorCode.none))

    def leave(self, group: ConsumerGroup, body: "LeaveGroupRequest") -> Outcome[Reply]:
        """For members of either protocol: an administrator removes both with LeaveGroup."""
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

    # --- members that must join ----------------------------------------------------------------------------

    def _must_rejoin(self, group: ConsumerGroup, member: ConsumerMember) -> RebalanceInProgress:
        timeout_ms = member.value.rebalance_timeout_ms
        self._consumer.fencing.watch_join(group.group_id, member.member_id, timeout_ms)
        return RebalanceInProgress(f"Group {group.group_id} is rebalancing; {member.member_id} must rejoin.")

    def _needs_rejoin(self, group: ConsumerGroup) -> bool:
        """Whether the group needs a new target, and no member's heartbeats would compute it.

        Heartbeats of members with the consumer protocol compute it. A group without such members is one that
        may not become a classic group. Its members must rejoin.
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
            raise UnknownServerError(
                f"The subscription of {member.member_id} is malformed: {error}"
            ) from error
        return serialize_assignment(by_topic_name(member.assigned, self._environment.image), version)


def _must_join(group: ConsumerGroup, member: ConsumerMember) -> bool:
    if member.epoch < group.assignment_epoch or member.state == MemberState.UNREVOKED_PARTITIONS:
        return True
    # All or nothing: a join for each partition that becomes free would be too many.
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
    # An administrator sends the instance id only.
    member_id = identity.member_id or ("" if member is None else member.member_id)
    return check_instance(group, member, member_id, identity.group_instance_id)
