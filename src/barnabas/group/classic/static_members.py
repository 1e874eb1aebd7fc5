"""A static member that rejoins without its member id, as after a restart of its process (KIP-345).

It replaces its previous member id, which is fenced from then on. If the group is stable and would select the
same protocol again, there is no rebalance: the new id is written, and the member continues with its
assignment.
"""

import logging
from dataclasses import replace
from random import Random

from barnabas.base.deferred import Deferred
from barnabas.base.errors import ErrorCode, KafkaError
from barnabas.group.classic.group import ClassicGroup
from barnabas.group.classic.group_state import COMPLETING_REBALANCE, STABLE
from barnabas.group.classic.joining import Join
from barnabas.group.classic.member import ClassicMember
from barnabas.group.classic.rebalances import Rebalances, session_key
from barnabas.group.classic.replies import UNKNOWN_MEMBER, join_error, joined, sync_error
from barnabas.group.records import ClassicGroupMetadata, ClassicGroupValue
from barnabas.runtime.outcome import Outcome, written
from barnabas.runtime.timers import Timers
from barnabas.wire import Reply

logger = logging.getLogger("group.classic")

FIRST_VERSION_WITH_SKIP_ASSIGNMENT = 9


class StaticMembers:
    def __init__(self, rebalances: Rebalances, timers: Timers, rng: Random) -> None:
        self._rebalances: Rebalances = rebalances
        self._timers: Timers = timers
        self._rng: Random = rng

    def rejoin(self, group: ClassicGroup, join: Join) -> Outcome[Reply]:
        answer: Deferred[Reply] = Deferred()
        old = group.members[group.static_members[join.group_instance_id or ""]]
        member_id = join.new_member_id(self._rng)
        logger.info(
            "Static member %s of group %s rejoins; its member id is now %s, it was %s",
            join.group_instance_id, group.group_id, member_id, old.member_id,
        )  # fmt: skip
        if group.state is STABLE and _next_protocol(group, old, join) == group.protocol:
            return self._rejoin_stable(group, join, old, member_id, answer)
        self._replace(group, join, old, member_id, answer)
        reason = f"static member {join.group_instance_id} rejoined; client reason: {join.reason}"
        if group.state in (STABLE, COMPLETING_REBALANCE):
            # Its previous member id may be part of the assignment that the leader is computing.
            outcome = self._rebalances.prepare(group, reason)
        else:
            outcome = self._rebalances.maybe_complete_join(group)
        return Outcome(answer, outcome.records, written=outcome.written)

    def _rejoin_stable(
        self, group: ClassicGroup, join: Join, old: ClassicMember, member_id: str, answer: Deferred[Reply]
    ) -> Outcome[Reply]:
        leader = group.leader
        value = _value_with(group, join, old, member_id)

        must_sync = old.member_id in group.pending_sync_members

        def on_replayed() -> None:
            fenced = join_error(ErrorCode.fenced_instance_id, old.member_id)
            group.answer_removed(old, fenced, sync_error(ErrorCode.fenced_instance_id))
            self._timers.cancel(session_key(group.group_id, old.member_id))
            if must_sync:
                group.pending_sync_members[member_id] = None
            self._joined(group, join, group.members[member_id], answer)

        def on_written(done: "Deferred[None]") -> None:
            if done.error is None:
                self._answer(group, join, member_id, leader, answer)
            else:
                logger.warning(
                    "Cannot write the new member id %s of %s: %s",
                    member_id, old.member_id, done.error.message,
                )  # fmt: skip
                self._fail(group, member_id, leader, answer, done.error)

        record = ClassicGroupMetadata(group.group_id, value)
        return Outcome(answer, [record], on_replayed=on_replayed, written=written(on_written))

    def _replace(
        self, group: ClassicGroup, join: Join, old: ClassicMember, member_id: str, answer: Deferred[Reply]
    ) -> None:
        group.answer_join(old, join_error(ErrorCode.fenced_instance_id, old.member_id))
        group.answer_sync(old, sync_error(ErrorCode.fenced_instance_id))
        self._timers.cancel(session_key(group.group_id, old.member_id))
        self._joined(
            group, join, group.replace_static_member(join.group_instance_id or "", member_id), answer
        )

    def _joined(
        self, group: ClassicGroup, join: Join, member: ClassicMember, answer: Deferred[Reply]
    ) -> None:
        group.update_member(member, join.protocols, join.rebalance_timeout_ms, join.session_timeout_ms)
        group.await_join(member, answer)
        self._rebalances.renew_session(group, member)

    def _answer(
        self,
        group: ClassicGroup,
        join: Join,
        member_id: str,
        former_leader: str | None,
        answer: Deferred[Reply],
    ) -> None:
        member = group.members.get(member_id)
        if member is None or member.awaiting_join is not answer or group.state is not STABLE:
            # A rebalance has begun meanwhile. The member waits for its end like all others.
            return
        if join.version >= FIRST_VERSION_WITH_SKIP_ASSIGNMENT:
            is_leader = group.leader == member_id
            reply = joined(
                group, member_id, with_members=is_leader, leader=group.leader, skip_assignment=is_leader
            )
        else:
            # A client that cannot skip the assignment must not know that it leads: it would assign (KIP-814).
            reply = joined(group, member_id, with_members=False, leader=former_leader)
        group.answer_join(member, reply)
        self._rebalances.renew_session(group, member)

    def _fail(
        self,
        group: ClassicGroup,
        member_id: str,
        leader: str | None,
        answer: Deferred[Reply],
        error: KafkaError,
    ) -> None:
        member = group.members.get(member_id)
        if member is not None and member.awaiting_join is answer:
            # It was replayed, but not committed: the member may retry, and replaces its own id.
            group.await_join(member, None)
        if not answer.is_done:
            reply = joined(group, UNKNOWN_MEMBER, with_members=False, leader=leader)
            reply.error_code = error.code
            answer.complete(reply)


def _next_protocol(group: ClassicGroup, member: ClassicMember, join: Join) -> str:
    """The protocol that the group would select with the member's new protocols."""
    now = (member.protocols, member.rebalance_timeout_ms, member.session_timeout_ms)
    group.update_member(member, join.protocols, join.rebalance_timeout_ms, join.session_timeout_ms)
    protocol = group.select_protocol()
    group.update_member(member, *now)
    return protocol


def _value_with(group: ClassicGroup, join: Join, old: ClassicMember, member_id: str) -> ClassicGroupValue:
    """The current group, with the member's new id, timeouts and subscription."""
    value = group.stable_value({each.member_id: each.assignment for each in group.members.values()})
    return replace(
        value,
        leader=member_id if value.leader == old.member_id else value.leader,
        members=tuple(
            replace(
                each,
                member_id=member_id,
                rebalance_timeout_ms=join.rebalance_timeout_ms,
                session_timeout_ms=join.session_timeout_ms,
                subscription=dict(join.protocols)[group.protocol or ""],
            )
            if each.member_id == old.member_id
            else each
            for each in value.members
        ),
    )
