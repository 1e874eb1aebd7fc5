"""A classic group from one generation to the next: deadlines, and the join and sync phases.

Every function that may write returns an `Outcome[None]`. The caller adds the response to its request.
"""

import logging
from functools import partial

from barnabas.base.deferred import Deferred
from barnabas.base.errors import ErrorCode
from barnabas.group.classic.group import ClassicGroup
from barnabas.group.classic.group_state import (
    COMPLETING_REBALANCE,
    DEAD,
    EMPTY,
    PREPARING_REBALANCE,
    STABLE,
)
from barnabas.group.classic.member import NO_ASSIGNMENT, ClassicMember
from barnabas.group.classic.replies import current_generation, join_error, sync_error
from barnabas.group.environment import ShardEnvironment
from barnabas.group.groups import Groups
from barnabas.group.records import ClassicGroupMetadata
from barnabas.runtime.outcome import NOTHING, Outcome, written
from barnabas.runtime.timers import Key

logger = logging.getLogger("group.classic")

RETRY_MS = 500
"""If an empty group could not be written, the write is retried after this time."""


class Rebalances:
    def __init__(self, groups: Groups, environment: ShardEnvironment) -> None:
        self._groups: Groups = groups
        self._environment: ShardEnvironment = environment

    def find(self, group_id: str) -> ClassicGroup | None:
        group = self._groups.find(group_id)
        return group if isinstance(group, ClassicGroup) else None

    # --- sessions ----------------------------------------------------------------------------------------

    def renew_session(
        self, group: ClassicGroup, member: ClassicMember, timeout_ms: int | None = None
    ) -> None:
        if member.session is None:
            expire = partial(self._expire_session, group.group_id, member.member_id)
            member.session = (session_key(group.group_id, member.member_id), expire)
        key, action = member.session
        self._environment.timers.schedule(
            key, member.session_timeout_ms if timeout_ms is None else timeout_ms, action
        )

    def await_pending(self, group: ClassicGroup, member_id: str, timeout_ms: int) -> None:
        """A client was given a member id. The id is removed unless the client joins with it in time."""
        group.pending_members[member_id] = None
        self._environment.timers.schedule(
            session_key(group.group_id, member_id),
            timeout_ms,
            partial(self._expire_session, group.group_id, member_id),
        )

    def remove(self, group: ClassicGroup, member: ClassicMember) -> None:
        """Remove the member. Its waiting requests fail with UNKNOWN_MEMBER_ID."""
        group.answer_join(member, join_error(ErrorCode.unknown_member_id))
        group.answer_sync(member, sync_error(ErrorCode.unknown_member_id))
        self.forget(group, member.member_id)

    def forget(self, group: ClassicGroup, member_id: str) -> None:
        group.remove(member_id)
        self._environment.timers.cancel(session_key(group.group_id, member_id))

    def _expire_session(self, group_id: str, member_id: str) -> Outcome[None]:
        group = self.find(group_id)
        if group is None or group.state is DEAD:
            return NOTHING
        if member_id in group.pending_members:
            logger.info("Pending member %s of group %s did not join in time", member_id, group_id)
            group.remove(member_id)
            return self._complete_if_all_joined(group)
        member = group.members.get(member_id)
        if member is None or member.has_satisfied_heartbeat():
            return NOTHING
        logger.info("Member %s of group %s has expired and is removed", member_id, group_id)
        self.remove(group, member)
        if group.state in (STABLE, COMPLETING_REBALANCE):
            return self.prepare(group, f"the session of {member_id} has expired")
        return self._complete_if_all_joined(group)

    def _complete_if_all_joined(self, group: ClassicGroup) -> Outcome[None]:
        if group.state is PREPARING_REBALANCE and group.has_all_members_joined:
            return self.complete_join(group)
        return NOTHING

    # --- the join phase ----------------------------------------------------------------------------------

    def rebalance_or_complete(self, group: ClassicGroup, reason: str) -> Outcome[None]:
        return self.prepare(group, reason) if group.can_rebalance else self.maybe_complete_join(group)

    def prepare(self, group: ClassicGroup, reason: str) -> Outcome[None]:
        """Begin a rebalance: all members must rejoin. Responses to heartbeats say so."""
        if group.state is COMPLETING_REBALANCE:
            self.reset_assignments(group)
        self.answer_syncs(group, ErrorCode.rebalance_in_progress)
        group.pending_sync_members.clear()
        self._environment.timers.cancel(sync_key(group.group_id))
        is_initial = group.state is EMPTY
        group.transition_to(PREPARING_REBALANCE)
        logger.info(
            "Group %s at generation %d prepares to rebalance: %s", group.group_id, group.generation, reason
        )
        if is_initial:
            group.has_new_member = False
            delay_ms = self._environment.settings.initial_rebalance_delay_ms
            self._delay_initial(group.group_id, delay_ms, max(group.rebalance_timeout_ms - delay_ms, 0))
            return NOTHING
        if group.has_all_members_joined:
            return self.complete_join(group)
        self._await_joins(group)
        return NOTHING

    def maybe_complete_join(self, group: ClassicGroup) -> Outcome[None]:
        """Complete the join unless the initial rebalance delay of the group is running."""
        if group.previous_state is EMPTY:
            return NOTHING
        return self._complete_if_all_joined(group)

    def _await_joins(self, group: ClassicGroup) -> None:
        self._environment.timers.schedule(
            join_key(group.group_id),
            group.rebalance_timeout_ms,
            partial(self._end_join, group.group_id),
        )

    def _end_join(self, group_id: str) -> Outcome[None]:
        group = self.find(group_id)
        if group is None or group.state is not PREPARING_REBALANCE:
            return NOTHING
        return self.complete_join(group)

    def _delay_initial(self, group_id: str, delay_ms: int, remaining_ms: int) -> None:
        self._environment.timers.schedule(
            join_key(group_id), delay_ms, partial(self._end_initial_delay, group_id, delay_ms, remaining_ms)
        )

    def _end_initial_delay(self, group_id: str, delay_ms: int, remaining_ms: int) -> Outcome[None]:
        group = self.find(group_id)
        if group is not None and group.has_new_member and remaining_ms:
            group.has_new_member = False
            delay_next_ms = min(self._environment.settings.initial_rebalance_delay_ms, remaining_ms)
            self._delay_initial(group_id, delay_next_ms, max(remaining_ms - delay_ms, 0))
            return NOTHING
        return self._end_join(group_id)

    def complete_join(self, group: ClassicGroup) -> Outcome[None]:
        """Continue with the members that have joined. Static members stay until their session expires."""
        self._environment.timers.cancel(join_key(group.group_id))
        absent = [m for m in group.members.values() if not m.is_awaiting_join and not m.is_static]
        for member in absent:
            logger.info("Member %s of group %s did not join in time", member.member_id, group.group_id)
            self.remove(group, member)
        if not group.members:
            return self._become_empty(group)
        if not group.elect_joined_leader():
            logger.warning(
                "No member joined group %s; it waits for another rebalance timeout", group.group_id
            )
            self._await_joins(group)
            return NOTHING
        group.begin_generation()
        logger.info(
            "Group %s has generation %d with %d members", group.group_id, group.generation, len(group.members)
        )
        for member in group.members.values():
            group.answer_join(member, current_generation(group, member.member_id))
            self.renew_session(group, member)
            member.is_new = False
        self._environment.timers.schedule(
            sync_key(group.group_id),
            group.rebalance_timeout_ms,
            partial(self._end_sync, group.group_id, group.generation),
        )
        return NOTHING

    def _become_empty(self, group: ClassicGroup) -> Outcome[None]:
        value = group.empty_value(group.generation + 1)
        logger.info("Group %s is empty at generation %d", group.group_id, value.generation)

        def on_written(done: "Deferred[None]") -> None:
            if done.error is not None and group.state is PREPARING_REBALANCE:
                logger.warning("Cannot write that group %s is empty: %s", group.group_id, done.error.message)
                self._environment.timers.schedule(
                    join_key(group.group_id), RETRY_MS, partial(self._end_join, group.group_id)
                )

        record = ClassicGroupMetadata(group.group_id, value)
        return Outcome(None, [record], written=written(on_written))

    # --- the sync phase ----------------------------------------------------------------------------------

    def synced(self, group: ClassicGroup, member: ClassicMember) -> None:
        """The member has sent SyncGroup."""
        group.pending_sync_members.pop(member.member_id, None)
        if not group.pending_sync_members:
            self._environment.timers.cancel(sync_key(group.group_id))

    def _end_sync(self, group_id: str, generation: int) -> Outcome[None]:
        group = self.find(group_id)
        if (
            group is None
            or group.generation != generation
            or group.state not in (COMPLETING_REBALANCE, STABLE)
            or not group.pending_sync_members
        ):
            return NOTHING
        absent = sorted(group.pending_sync_members)
        for member_id in absent:
            self.remove(group, group.members[member_id])
        return self.prepare(group, f"{', '.join(absent)} did not send SyncGroup in time")

    def reset_assignments(self, group: ClassicGroup) -> None:
        for member in group.members.values():
            member.assignment = NO_ASSIGNMENT

    def answer_syncs(self, group: ClassicGroup, error_code: ErrorCode) -> None:
        for member in group.members.values():
            if group.answer_sync(member, sync_error(error_code)):
                self.renew_session(group, member)

    # --- the end -----------------------------------------------------------------------------------------

    def cancel_timers(self, group: ClassicGroup) -> None:
        timers = self._environment.timers
        timers.cancel(join_key(group.group_id))
        timers.cancel(sync_key(group.group_id))
        for member_id in (*group.members, *group.pending_members):
            timers.cancel(session_key(group.group_id, member_id))


def session_key(group_id: str, member_id: str) -> Key:
    return ("classic-session", group_id, member_id)


def join_key(group_id: str) -> Key:
    return ("classic-join", group_id)


def sync_key(group_id: str) -> Key:
    return ("classic-sync", group_id)
