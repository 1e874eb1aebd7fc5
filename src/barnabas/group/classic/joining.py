"""JoinGroup: which requests create a member, and when the group must rebalance.

A request that must wait for other members is parked with its member and answered later. A new group is
visible once the record of its creation is replayed.
"""

import logging
from collections.abc import Callable, Collection
from datetime import timedelta
from random import Random
from typing import TYPE_CHECKING, NamedTuple

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
from barnabas.base.ids import any_uuid
from barnabas.group.classic.group import ClassicGroup
from barnabas.group.classic.group_state import (
    COMPLETING_REBALANCE,
    DEAD,
    EMPTY,
    PREPARING_REBALANCE,
    STABLE,
)
from barnabas.group.classic.member import ClassicMember, Protocols
from barnabas.group.classic.rebalances import Rebalances
from barnabas.group.classic.replies import UNKNOWN_MEMBER, current_generation, join_error
from barnabas.group.environment import RequestContext, ShardEnvironment
from barnabas.group.groups import Groups
from barnabas.group.records import ClassicGroupMetadata, ClassicGroupValue, GroupRecord
from barnabas.group.settings import GroupSettings
from barnabas.runtime.outcome import NOTHING, Outcome, written
from barnabas.wire import Reply

if TYPE_CHECKING:
    from kio.schema.join_group.v9.request import JoinGroupRequest

logger = logging.getLogger("group.classic")

FIRST_VERSION_WITH_REBALANCE_TIMEOUT = 1
FIRST_VERSION_WITH_REQUIRED_MEMBER_ID = 4
NEW_MEMBER_JOIN_TIMEOUT_MS = 5 * 60_000
"""The session of a new member whose client retries without a member id is not longer than this."""

_MILLISECOND = timedelta(milliseconds=1)


class Join(NamedTuple):
    """A parsed JoinGroup request."""

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
        # A duplicate name counts once.
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

    @property
    def must_have_id(self) -> bool:
        """Whether a new member gets its id first, and joins with it (KIP-394)."""
        return self.group_instance_id is None and self.version >= FIRST_VERSION_WITH_REQUIRED_MEMBER_ID

    def new_member_id(self, rng: Random) -> str:
        prefix = self.client_id if self.group_instance_id is None else self.group_instance_id
        return f"{prefix}-{any_uuid(rng)}"


Rejoin = Callable[[ClassicGroup, Join], Outcome[Reply]]
"""A static member rejoins without its member id."""


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
            # It is no longer a member, if it was one. The other members may have waited for it alone.
            self._rebalances.forget(group, join.member_id)
            outcome = self._rebalances.maybe_complete_join(group)
            refusal = join_error(ErrorCode.group_max_size_reached)
            return Outcome(refusal, outcome.records, written=outcome.written)
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
            return self._add(group, join, join.member_id, Deferred())
        return self._join_again(group, group.validate_member(join.member_id, join.group_instance_id), join)

    def _has_room_for(self, group: ClassicGroup, member_id: str) -> bool:
        max_size = self._environment.settings.max_size
        member = group.members.get(member_id)
        if group.state is PREPARING_REBALANCE:
            # Members that have joined count, so a group that is too large rejects the members that join last.
            return (member is not None and member.is_awaiting_join) or group.awaiting_joins < max_size
        if group.state in (COMPLETING_REBALANCE, STABLE):
            return member is not None or len(group.members) < max_size
        return True

    # --- new members -------------------------------------------------------------------------------------

    def _join_new_group(self, join: Join) -> Outcome[Reply]:
        """Join a group that does not exist, or replace an empty group of the other protocol."""
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
        value = ClassicGroupValue("", 0, None, None, self._environment.clock.now_ms(), ())
        records: list[GroupRecord] = [] if other is None else list(other.tombstones())
        records.append(ClassicGroupMetadata(join.group_id, value))
        member_id = join.new_member_id(self._environment.rng)
        if join.must_have_id:
            response: Reply | Deferred[Reply] = join_error(ErrorCode.member_id_required, member_id)
        else:
            response = Deferred()

        def on_replayed() -> None:
            replayed = self._rebalances.find(join.group_id)
            if replayed is None:
                raise AssertionError(f"group {join.group_id} was not replayed")
            if isinstance(response, Deferred):
                # It writes no records: the group is empty, and its initial delay begins.
                self._add(replayed, join, member_id, response)
            else:
                self._rebalances.await_pending(replayed, member_id, join.session_timeout_ms)

        def on_written(done: "Deferred[None]") -> None:
            if done.error is not None:
                self._give_up(join.group_id, response, done.error)

        return Outcome(response, records, on_replayed=on_replayed, written=written(on_written))

    def _give_up(self, group_id: str, answer: Reply | Deferred[Reply], error: KafkaError) -> None:
        """The new group is not committed. If it is in the log it stays, and the member retries."""
        logger.warning("Cannot write the new group %s: %s", group_id, error.message)
        group = self._rebalances.find(group_id)
        if group is not None:
            for member in group.members.values():
                if member.awaiting_join is answer:
                    group.answer_join(member, join_error(error.code))

    def _join_without_id(self, group: ClassicGroup, join: Join) -> Outcome[Reply]:
        if join.group_instance_id is not None and join.group_instance_id in group.static_members:
            return self._rejoin(group, join)
        member_id = join.new_member_id(self._environment.rng)
        if not join.must_have_id:
            return self._add(group, join, member_id, Deferred())
        logger.debug("Group %s requires a new member to join with member id %s", group.group_id, member_id)
        self._rebalances.await_pending(group, member_id, join.session_timeout_ms)
        return Outcome(join_error(ErrorCode.member_id_required, member_id))

    def _add(
        self, group: ClassicGroup, join: Join, member_id: str, answer: Deferred[Reply]
    ) -> Outcome[Reply]:
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
            # The response to its last request may have been lost.
            return Outcome(current_generation(group, join.member_id))
        if group.state is STABLE:
            if group.leader == join.member_id:
                # The leader may have seen a change that concerns all, such as a topic with more partitions.
                return self._update(group, member, join, "leads, and joins again")
            if has_changed:
                return self._update(group, member, join, "has changed its metadata")
            return Outcome(current_generation(group, join.member_id))
        raise UnknownMemberId(f"Group {join.group_id} is {group.state_name}")

    def _update(self, group: ClassicGroup, member: ClassicMember, join: Join, what: str) -> Outcome[Reply]:
        answer: Deferred[Reply] = Deferred()
        # A member that sends the request again no longer waits for its first request.
        group.answer_join(member, join_error(ErrorCode.rebalance_in_progress, member.member_id))
        group.update_member(member, join.protocols, join.rebalance_timeout_ms, join.session_timeout_ms)
        group.await_join(member, answer)
        outcome = self._rebalances.rebalance_or_complete(
            group, f"member {member.member_id} {what}; client reason: {join.reason}"
        )
        return _with(answer, outcome)


def check_join(join: Join, settings: GroupSettings) -> None:
    """Checks for groups of every kind."""
    if not join.group_id:
        raise InvalidGroupId("A group id must not be empty.")
    if not settings.min_session_timeout_ms <= join.session_timeout_ms <= settings.max_session_timeout_ms:
        raise InvalidSessionTimeout(f"A session timeout of {join.session_timeout_ms} ms is not allowed.")


def _with(answer: Deferred[Reply], outcome: Outcome[None]) -> Outcome[Reply]:
    if outcome is NOTHING:
        return Outcome(answer)
    return Outcome(answer, outcome.records, written=outcome.written)
