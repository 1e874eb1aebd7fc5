"""A static member that comes back without its member id, as after a restart of its process (KIP-345).

It takes the place of its former self, whose id is fenced from then on. If the group is stable and would
choose the same protocol again, nobody else notices: the new id is written, and the member goes on with the
assignment it had.
"""

import logging
from dataclasses import replace

from barnabas.base.deferred import Deferred
from barnabas.base.errors import ErrorCode, KafkaError
from barnabas.coordinator.classic.group import ClassicGroup
from barnabas.coordinator.classic.group_state import COMPLETING_REBALANCE, STABLE
from barnabas.coordinator.classic.joining import Join
from barnabas.coordinator.classic.member import ClassicMember
from barnabas.coordinator.classic.rebalances import Rebalances, session_key
from barnabas.coordinator.classic.replies import UNKNOWN_MEMBER, join_error, joined, sync_error
from barnabas.coordinator.group_records import ClassicGroupValue
from barnabas.coordinator.outcome import Outcome
from barnabas.coordinator.timers import Timers
from barnabas.wire import Reply

logger = logging.getLogger("coordinator.classic")

FIRST_VERSION_WITH_SKIP_ASSIGNMENT = 9


class StaticMembers:
    def __init__(self, rebalances: Rebalances, timers: Timers) -> None:
        self._rebalances: Rebalances = rebalances
        self._timers: Timers = timers

    def rejoin(self, group: ClassicGroup, join: Join) -> Outcome[Reply]:
        answer: Deferred[Reply] = Deferred()
        old = group.members[group.static_members[join.group_instance_id or ""]]
        member_id = join.new_member_id()
        logger.info(
            "Static member %s of group %s comes back; its member id is %s now, no longer %s",
            join.group_instance_id, group.group_id, member_id, old.member_id,
        )  # fmt: skip
        if group.state is STABLE and _next_protocol(group, old, join) == group.protocol:
            return self._rejoin_stable(group, join, old, member_id, answer)
        self._replace(group, join, old, member_id, answer)
        reason = f"static member {join.group_instance_id} came back; client reason: {join.reason}"
        if group.state in (STABLE, COMPLETING_REBALANCE):
            # Its former self may be part of what the leader is assigning just now.
            outcome = self._rebalances.prepare(group, reason)
        else:
            outcome = self._rebalances.maybe_complete_join(group)
        return Outcome(answer, outcome.records, on_written=outcome.on_written)

    def _rejoin_stable(
        self, group: ClassicGroup, join: Join, old: ClassicMember, member_id: str, answer: Deferred[Reply]
    ) -> Outcome[Reply]:
        leader = group.leader
        value = _value_with(group, join, old, member_id)

        def apply() -> None:
            self._replace(group, join, old, member_id, answer)
            group.take_over(value)

        def on_written(error: KafkaError | None) -> None:
            if error is None:
                self._tell(group, join, member_id, leader, answer)
            else:
                logger.warning("Cannot write that %s is %s now: %s", old.member_id, member_id, error.message)
                self._rebalances.withdraw(group.group_id)
                self._fail(group, member_id, leader, answer, error)

        record = self._rebalances.announce(group.group_id, value, apply)
        return Outcome(answer, [record], on_written=on_written)

    def _replace(
        self, group: ClassicGroup, join: Join, old: ClassicMember, member_id: str, answer: Deferred[Reply]
    ) -> None:
        group.answer_join(old, join_error(ErrorCode.fenced_instance_id, old.member_id))
        group.answer_sync(old, sync_error(ErrorCode.fenced_instance_id))
        self._timers.cancel(session_key(group.group_id, old.member_id))
        member = group.replace_static_member(join.group_instance_id or "", member_id)
        group.update_member(member, join.protocols, join.rebalance_timeout_ms, join.session_timeout_ms)
        group.await_join(member, answer)
        self._rebalances.renew_session(group, member)

    def _tell(
        self,
        group: ClassicGroup,
        join: Join,
        member_id: str,
        former_leader: str | None,
        answer: Deferred[Reply],
    ) -> None:
        member = group.members.get(member_id)
        if member is None or member.awaiting_join is not answer or group.state is not STABLE:
            # A rebalance has begun meanwhile, and the member waits for it to end like all others.
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
            # It was replayed, but not committed: the member may try again, and takes over from itself.
            group.await_join(member, None)
        if not answer.is_done:
            reply = joined(group, UNKNOWN_MEMBER, with_members=False, leader=leader)
            reply.error_code = error.code
            answer.complete(reply)


def _next_protocol(group: ClassicGroup, member: ClassicMember, join: Join) -> str:
    """What the group would choose with the protocols that the member brings now."""
    now = (member.protocols, member.rebalance_timeout_ms, member.session_timeout_ms)
    group.update_member(member, join.protocols, join.rebalance_timeout_ms, join.session_timeout_ms)
    protocol = group.select_protocol()
    group.update_member(member, *now)
    return protocol


def _value_with(group: ClassicGroup, join: Join, old: ClassicMember, member_id: str) -> ClassicGroupValue:
    """The group as it is, but with the member's new id, timeouts and subscription."""
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
