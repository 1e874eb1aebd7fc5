"""JoinGroup: who may become a member, and when the group must rebalance for it.

A request that must wait for the others is answered later: it is parked with its member. A new group is known
to nobody until the record that it exists is replayed.
"""

import logging
from collections.abc import Callable, Collection
from datetime import timedelta
from typing import TYPE_CHECKING, NamedTuple
from uuid import uuid4

from barnabas.base.deferred import Deferred
from barnabas.base.errors import (
    CoordinatorNotAvailable,
    ErrorCode,
    InconsistentGroupProtocol,
    InvalidGroupId,
    InvalidRequest,
    InvalidSessionTimeout,
    KafkaError,
    UnknownMemberId,
)
from barnabas.coordinator.classic.group import ClassicGroup
from barnabas.coordinator.classic.group_state import (
    COMPLETING_REBALANCE,
    DEAD,
    EMPTY,
    PREPARING_REBALANCE,
    STABLE,
)
from barnabas.coordinator.classic.member import ClassicMember, Protocols
from barnabas.coordinator.classic.rebalances import Rebalances
from barnabas.coordinator.classic.replies import UNKNOWN_MEMBER, current_generation, join_error
from barnabas.coordinator.environment import RequestContext, ShardEnvironment
from barnabas.coordinator.group_records import ClassicGroupValue, GroupRecord
from barnabas.coordinator.group_settings import GroupSettings
from barnabas.coordinator.groups import Groups
from barnabas.coordinator.outcome import NOTHING, Outcome
from barnabas.wire import Reply

if TYPE_CHECKING:
    from kio.schema.join_group.v9.request import JoinGroupRequest

logger = logging.getLogger("coordinator.classic")

FIRST_VERSION_WITH_REBALANCE_TIMEOUT = 1
FIRST_VERSION_WITH_REQUIRED_MEMBER_ID = 4
NEW_MEMBER_JOIN_TIMEOUT_MS = 5 * 60_000
"""A new member whose client has gone, and tries again with no id, does not stay longer than this."""

_MILLISECOND = timedelta(milliseconds=1)


class Join(NamedTuple):
    """A JoinGroup request, read."""

    version: int
    client_id: str
    client_host: str
    group_id: str
    member_id: str
    group_instance_id: str | None
    rebalance_timeout_ms: int
    session_timeout_ms: int
    protocol_type: str
    protocols: Protocols
    reason: str

    @classmethod
    def of(cls, context: RequestContext, body: "JoinGroupRequest") -> "Join":
        session_timeout_ms = body.session_timeout // _MILLISECOND
        has_timeout = context.version >= FIRST_VERSION_WITH_REBALANCE_TIMEOUT
        # A name that comes twice counts once.
        protocols = {each.name: each.metadata for each in reversed(body.protocols)}
        names = dict.fromkeys(each.name for each in body.protocols)
        return cls(
            version=context.version,
            client_id=context.client_id,
            client_host=context.client_host,
            group_id=body.group_id,
            member_id=body.member_id,
            group_instance_id=body.group_instance_id,
            rebalance_timeout_ms=body.rebalance_timeout // _MILLISECOND
            if has_timeout
            else session_timeout_ms,
            session_timeout_ms=session_timeout_ms,
            protocol_type=body.protocol_type,
            protocols=tuple((name, bytes(protocols[name])) for name in names),
            reason=body.reason or "not provided",
        )

    @property
    def protocol_names(self) -> Collection[str]:
        return [name for name, _ in self.protocols]

    def new_member_id(self) -> str:
        return f"{self.client_id if self.group_instance_id is None else self.group_instance_id}-{uuid4()}"


Rejoin = Callable[[ClassicGroup, Join], Outcome[Reply]]
"""A static member comes back without its member id."""


class Joining:
    def __init__(
        self, groups: Groups, environment: ShardEnvironment, rebalances: Rebalances, rejoin: Rejoin
    ) -> None:
        self._groups: Groups = groups
        self._environment: ShardEnvironment = environment
        self._rebalances: Rebalances = rebalances
        self._rejoin: Rejoin = rejoin

    def join(self, join: Join) -> Outcome[Reply]:
        check_join(join, self._environment.settings)
        group = self._rebalances.find(join.group_id)
        if group is None:
            return self._join_new_group(join)
        if not self._has_room_for(group, join.member_id):
            # It is a member no more, if it was one; those who are may have waited for it only.
            self._rebalances.forget(group, join.member_id)
            outcome = self._rebalances.maybe_complete_join(group)
            refusal = join_error(ErrorCode.group_max_size_reached)
            return Outcome(refusal, outcome.records, on_written=outcome.on_written)
        if group.state is DEAD:
            raise CoordinatorNotAvailable(f"Group {join.group_id} is dead.")
        if not group.supports(join.protocol_type, join.protocol_names):
            raise InconsistentGroupProtocol(
                f"{join.protocol_names} of {join.protocol_type!r} does not fit group {join.group_id}"
            )
        if join.member_id == UNKNOWN_MEMBER:
            return self._join_without_id(group, join)
        if join.member_id in group.pending_members:
            if join.group_instance_id is not None:
                raise InvalidRequest(f"Pending member {join.member_id} is not {join.group_instance_id}")
            return self._add(group, join, join.member_id)
        return self._join_again(group, group.validate_member(join.member_id, join.group_instance_id), join)

    def _has_room_for(self, group: ClassicGroup, member_id: str) -> bool:
        max_size = self._environment.settings.max_size
        member = group.members.get(member_id)
        if group.state is PREPARING_REBALANCE:
            # Whoever has joined counts: so a group that is too large sheds those who come last.
            return (member is not None and member.is_awaiting_join) or group.awaiting_joins < max_size
        if group.state in (COMPLETING_REBALANCE, STABLE):
            return member is not None or len(group.members) < max_size
        return True

    # --- new members -------------------------------------------------------------------------------------

    def _join_new_group(self, join: Join) -> Outcome[Reply]:
        """A group that is not there yet, or an empty one of the other protocol that gives way."""
        if join.member_id != UNKNOWN_MEMBER:
            raise UnknownMemberId(f"Group {join.group_id} not found.")
        group = ClassicGroup(join.group_id, self._environment.clock)
        other = self._groups.find(join.group_id)
        if not group.supports(join.protocol_type, join.protocol_names) or not (
            other is None or other.is_empty
        ):
            raise InconsistentGroupProtocol(
                f"{join.protocol_names} of {join.protocol_type!r} does not fit group {join.group_id}"
            )
        joined = self._join_without_id(group, join)
        value = ClassicGroupValue("", 0, None, None, self._environment.clock.now_ms(), ())

        def on_written(error: KafkaError | None) -> None:
            if error is not None:
                logger.warning("Cannot write the new group %s: %s", join.group_id, error.message)
                self._rebalances.withdraw(join.group_id)
                self._give_up(group, joined.response, error)

        records: list[GroupRecord] = [] if other is None else list(other.tombstones())
        records.append(self._rebalances.announce(join.group_id, value, lambda: self._groups.put(group)))
        return Outcome(joined.response, records, on_written=on_written)

    def _give_up(self, group: ClassicGroup, answer: Reply | Deferred[Reply], error: KafkaError) -> None:
        for member in group.members.values():
            if member.awaiting_join is answer:
                group.answer_join(member, join_error(error.code))
        if self._groups.find(group.group_id) is not group:
            self._rebalances.cancel_timers(group)
        # Else its record is in the log, and may be committed yet: the group stays, the member tries again.

    def _join_without_id(self, group: ClassicGroup, join: Join) -> Outcome[Reply]:
        if join.group_instance_id is not None:
            if join.group_instance_id in group.static_members:
                return self._rejoin(group, join)
            return self._add(group, join, join.new_member_id())
        member_id = join.new_member_id()
        if join.version < FIRST_VERSION_WITH_REQUIRED_MEMBER_ID:
            return self._add(group, join, member_id)
        logger.debug("Group %s asks a new member to join as %s", group.group_id, member_id)
        self._rebalances.await_pending(group, member_id, join.session_timeout_ms)
        return Outcome(join_error(ErrorCode.member_id_required, member_id))

    def _add(self, group: ClassicGroup, join: Join, member_id: str) -> Outcome[Reply]:
        member = ClassicMember(
            member_id,
            join.group_instance_id,
            join.client_id,
            join.client_host,
            join.rebalance_timeout_ms,
            join.session_timeout_ms,
            join.protocol_type,
            join.protocols,
        )
        member.is_new = True
        if group.state is PREPARING_REBALANCE and group.previous_state is EMPTY:
            group.has_new_member = True
        answer: Deferred[Reply] = Deferred()
        group.add(member, answer)
        self._rebalances.renew_session(group, member, NEW_MEMBER_JOIN_TIMEOUT_MS)
        outcome = self._rebalances.rebalance_or_complete(
            group,
            f"new member {member_id} with instance id {join.group_instance_id}; client reason: {join.reason}",
        )
        return _with(answer, outcome)

    # --- members that join again -------------------------------------------------------------------------

    def _join_again(self, group: ClassicGroup, member: ClassicMember, join: Join) -> Outcome[Reply]:
        has_changed = member.protocols != join.protocols
        if group.state is PREPARING_REBALANCE:
            return self._update(group, member, join, "joins again")
        if group.state is COMPLETING_REBALANCE:
            if has_changed:
                return self._update(group, member, join, "has changed its metadata")
            # The answer to its last request may have been lost.
            return Outcome(current_generation(group, join.member_id))
        if group.state is STABLE:
            if group.leader == join.member_id:
                # The leader may have seen something that concerns all, such as a topic with more partitions.
                return self._update(group, member, join, "leads, and joins again")
            if has_changed:
                return self._update(group, member, join, "has changed its metadata")
            return Outcome(current_generation(group, join.member_id))
        raise UnknownMemberId(f"Group {join.group_id} is {group.state_name}")

    def _update(self, group: ClassicGroup, member: ClassicMember, join: Join, what: str) -> Outcome[Reply]:
        answer: Deferred[Reply] = Deferred()
        # A member that asks again has given up waiting for its first request.
        group.answer_join(member, join_error(ErrorCode.rebalance_in_progress, member.member_id))
        group.update_member(member, join.protocols, join.rebalance_timeout_ms, join.session_timeout_ms)
        group.await_join(member, answer)
        outcome = self._rebalances.rebalance_or_complete(
            group, f"member {member.member_id} {what}; client reason: {join.reason}"
        )
        return _with(answer, outcome)


def check_join(join: Join, settings: GroupSettings) -> None:
    """What holds for every group, whatever its kind."""
    if not join.group_id:
        raise InvalidGroupId("A group id must not be empty.")
    if not settings.min_session_timeout_ms <= join.session_timeout_ms <= settings.max_session_timeout_ms:
        raise InvalidSessionTimeout(f"A session timeout of {join.session_timeout_ms} ms is not allowed.")


def _with(answer: Deferred[Reply], outcome: Outcome[None]) -> Outcome[Reply]:
    if outcome is NOTHING:
        return Outcome(answer)
    return Outcome(answer, outcome.records, on_written=outcome.on_written)
