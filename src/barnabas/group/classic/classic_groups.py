"""The classic groups of one shard: their requests, and the replay of their records.

`GroupShard` calls this for groups that are classic or do not exist. The migration calls `install` and
`release` when a group changes its protocol. Only `replay` makes a decision durable, live and at load. The
soft state that follows from a live change is set after the replay (`Outcome.on_replayed`).
"""

import logging
from typing import TYPE_CHECKING

from barnabas.base.errors import (
    CoordinatorNotAvailable,
    ErrorCode,
    IllegalGeneration,
    InvalidGroupId,
    KafkaError,
    RebalanceInProgress,
    UnknownMemberId,
)
from barnabas.group.classic.group import ClassicGroup
from barnabas.group.classic.group_state import DEAD, PREPARING_REBALANCE, STABLE
from barnabas.group.classic.joining import Join, Joining
from barnabas.group.classic.leaving import Leaving
from barnabas.group.classic.rebalances import Rebalances
from barnabas.group.classic.replies import described, join_error, sync_error
from barnabas.group.classic.static_members import StaticMembers
from barnabas.group.classic.syncing import Syncing
from barnabas.group.environment import RequestContext, ShardEnvironment
from barnabas.group.group import Group
from barnabas.group.groups import Groups
from barnabas.group.records import ClassicGroupMetadata, ClassicGroupValue
from barnabas.runtime.outcome import Outcome
from barnabas.wire import Reply

if TYPE_CHECKING:
    from kio.schema.heartbeat.v4.request import HeartbeatRequest
    from kio.schema.join_group.v9.request import JoinGroupRequest
    from kio.schema.leave_group.v5.request import LeaveGroupRequest
    from kio.schema.sync_group.v5.request import SyncGroupRequest

logger = logging.getLogger("group.classic")


class ClassicGroups:
    def __init__(self, groups: Groups, environment: ShardEnvironment) -> None:
        self._groups: Groups = groups
        self._environment: ShardEnvironment = environment
        self._rebalances: Rebalances = Rebalances(groups, environment)
        static_members = StaticMembers(self._rebalances, environment.timers, environment.rng)
        self._joining: Joining = Joining(groups, environment, self._rebalances, static_members.rejoin)
        self._syncing: Syncing = Syncing(self._rebalances)
        self._leaving: Leaving = Leaving(self._rebalances)

    # --- requests ----------------------------------------------------------------------------------------

    def join(self, context: RequestContext, body: "JoinGroupRequest") -> Outcome[Reply]:
        return self._joining.join(Join.of(context, body))

    def sync(self, context: RequestContext, body: "SyncGroupRequest") -> Outcome[Reply]:
        _check_group_id(body.group_id)
        return self._syncing.sync(context, body)

    def leave(self, context: RequestContext, body: "LeaveGroupRequest") -> Outcome[Reply]:
        _check_group_id(body.group_id)
        return self._leaving.leave(body)

    def heartbeat(self, context: RequestContext, body: "HeartbeatRequest") -> Outcome[Reply]:
        _check_group_id(body.group_id)
        group = self._rebalances.find(body.group_id)
        if group is None:
            raise UnknownMemberId(f"Group {body.group_id} not found.")
        if group.state is DEAD:
            raise CoordinatorNotAvailable(f"Group {body.group_id} is dead.")
        member = group.validate_member(body.member_id, body.group_instance_id)
        if body.generation_id != group.generation:
            raise IllegalGeneration(
                f"Group {body.group_id} is at generation {group.generation}, not {body.generation_id}"
            )
        self._rebalances.renew_session(group, member)
        if group.state is PREPARING_REBALANCE:
            raise RebalanceInProgress(f"Group {body.group_id} is rebalancing.")
        return Outcome(Reply(error_code=ErrorCode.none))

    def describe(self, group: ClassicGroup) -> Reply:
        """One group of a DescribeGroups response."""
        return described(group)

    # --- what offsets need -------------------------------------------------------------------------------

    def create_simple_group(self, group_id: str) -> ClassicGroup:
        """A group without members: a client commits offsets to it without group management."""
        group = ClassicGroup(group_id, self._environment.clock)
        self._groups.put(group)
        return group

    def renew_session(self, group: Group, member_id: str) -> None:
        """Renew the session of a member that has committed offsets."""
        if isinstance(group, ClassicGroup) and group.state in (STABLE, PREPARING_REBALANCE):
            member = group.members.get(member_id)
            if member is not None:
                self._rebalances.renew_session(group, member)

    # --- the log -----------------------------------------------------------------------------------------

    def replay(self, record: ClassicGroupMetadata) -> None:
        """The one way to a durable change, live and at load."""
        if record.value is None:
            self._remove(record.group_id)
            return
        group = self._rebalances.find(record.group_id)
        if group is None:
            group = ClassicGroup(record.group_id, self._environment.clock)
            self._groups.put(group)
        group.replay(record.value)

    def _remove(self, group_id: str) -> None:
        group = self._rebalances.find(group_id)
        if group is not None:
            # Only a group that becomes a consumer group is removed while members wait: they join that group.
            self.release(group, ErrorCode.rebalance_in_progress)
            group.transition_to(DEAD)
            self._groups.remove(group_id)

    def on_loaded(self) -> None:
        max_size = self._environment.settings.max_size
        for group in self._groups:
            if not isinstance(group, ClassicGroup):
                continue
            for member in group.members.values():
                self._rebalances.renew_session(group, member)
            if len(group.members) > max_size:
                self._rebalances.prepare(group, f"it was loaded with more than {max_size} members")

    def on_unloaded(self, error: KafkaError) -> None:
        """All waiting requests fail with `error`."""
        for group in self._groups:
            if isinstance(group, ClassicGroup):
                self.release(group, error.code)
                group.transition_to(DEAD)

    # --- groups that change their protocol ---------------------------------------------------------------

    def release(self, group: ClassicGroup, error_code: ErrorCode) -> None:
        """Answer all waiting requests with an error, and cancel all deadlines of the group."""
        for member in group.members.values():
            group.answer_join(member, join_error(error_code, member.member_id))
            group.answer_sync(member, sync_error(error_code))
        self._rebalances.cancel_timers(group)

    def install(self, group: ClassicGroup, value: ClassicGroupValue) -> None:
        """The record of a group that was a consumer group is replayed: its members' sessions begin.

        `group` is what the migration made of the consumer group. It replaces the replayed one, because it
        has all protocols of its members.
        """
        group.replay(value)
        self._groups.put(group)
        for member in group.members.values():
            self._rebalances.renew_session(group, member)

    def prepare_rebalance(self, group: ClassicGroup, reason: str) -> Outcome[None]:
        return self._rebalances.prepare(group, reason)


def _check_group_id(group_id: str) -> None:
    if not group_id:
        raise InvalidGroupId("A group id must not be empty.")
