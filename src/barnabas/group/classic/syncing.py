"""SyncGroup: the leader sends the assignment of all members, the other members wait for theirs."""

import logging
from typing import TYPE_CHECKING

from barnabas.base.deferred import Deferred
from barnabas.base.errors import (
    CoordinatorNotAvailable,
    ErrorCode,
    IllegalGeneration,
    InconsistentGroupProtocol,
    KafkaError,
    RebalanceInProgress,
    UnknownMemberId,
)
from barnabas.group.classic.group import ClassicGroup
from barnabas.group.classic.group_state import COMPLETING_REBALANCE, DEAD, PREPARING_REBALANCE, STABLE
from barnabas.group.classic.member import ClassicMember
from barnabas.group.classic.rebalances import Rebalances
from barnabas.group.classic.replies import sync_error, synced
from barnabas.group.environment import RequestContext
from barnabas.group.records import ClassicGroupMetadata
from barnabas.runtime.outcome import Outcome, written
from barnabas.wire import Reply

if TYPE_CHECKING:
    from kio.schema.sync_group.v5.request import SyncGroupRequest

logger = logging.getLogger("group.classic")

FIRST_VERSION_WITH_PROTOCOL = 5


class Syncing:
    def __init__(self, rebalances: Rebalances) -> None:
        self._rebalances: Rebalances = rebalances

    def sync(self, context: RequestContext, body: "SyncGroupRequest") -> Outcome[Reply]:
        check_sync(context, body)
        group = self._rebalances.find(body.group_id)
        if group is None or group.is_empty:
            raise UnknownMemberId(f"Group {body.group_id} has no members.")
        member = _checked_member(group, body)
        if group.state is PREPARING_REBALANCE:
            raise RebalanceInProgress(f"Group {body.group_id} is rebalancing.")
        self._rebalances.synced(group, member)
        if group.state is STABLE:
            return Outcome(synced(group, member))
        answer: Deferred[Reply] = Deferred()
        # A member that sends the request again no longer waits for its first request.
        group.answer_sync(member, sync_error(ErrorCode.rebalance_in_progress))
        member.awaiting_sync = answer
        if group.leader != member.member_id:
            return Outcome(answer)
        return self._assign(group, body, answer)

    def _assign(
        self, group: ClassicGroup, body: "SyncGroupRequest", answer: Deferred[Reply]
    ) -> Outcome[Reply]:
        assignments = {each.member_id: bytes(each.assignment) for each in body.assignments}
        forgotten = [member_id for member_id in group.members if member_id not in assignments]
        if forgotten:
            logger.warning(
                "The leader of group %s assigned nothing to %s in generation %d",
                group.group_id, forgotten, group.generation,
            )  # fmt: skip
        value = group.stable_value(assignments)

        def on_written(done: "Deferred[None]") -> None:
            # A member may have joined or left while the record was being committed.
            if group.generation != value.generation or group.state not in (COMPLETING_REBALANCE, STABLE):
                return
            if done.error is None:
                self._answer_syncs(group)
            else:
                self._fail(group, done.error)

        record = ClassicGroupMetadata(group.group_id, value)
        return Outcome(answer, [record], written=written(on_written))

    def _answer_syncs(self, group: ClassicGroup) -> None:
        for member in group.members.values():
            if group.answer_sync(member, synced(group, member)):
                # Sessions do not expire while a member waits for the coordinator: they begin again.
                self._rebalances.renew_session(group, member)

    def _fail(self, group: ClassicGroup, error: KafkaError) -> None:
        logger.warning("Cannot write the assignment of group %s: %s", group.group_id, error.message)
        self._rebalances.reset_assignments(group)
        self._rebalances.answer_syncs(group, error.code)
        self._rebalances.prepare(group, f"its assignment could not be written: {error.message}")


def check_sync(context: RequestContext, body: "SyncGroupRequest") -> None:
    """Checks for groups of every kind."""
    is_required = context.version >= FIRST_VERSION_WITH_PROTOCOL
    if is_required and (body.protocol_type is None or body.protocol_name is None):
        raise InconsistentGroupProtocol("A SyncGroup request must name the protocol and its type")


def _checked_member(group: ClassicGroup, body: "SyncGroupRequest") -> ClassicMember:
    if group.state is DEAD:
        raise CoordinatorNotAvailable(f"Group {group.group_id} is dead.")
    member = group.validate_member(body.member_id, body.group_instance_id)
    if body.generation_id != group.generation:
        raise IllegalGeneration(
            f"Group {group.group_id} is at generation {group.generation}, not {body.generation_id}"
        )
    if _differs(body.protocol_type, group.protocol_type or None) or _differs(
        body.protocol_name, group.protocol
    ):
        raise InconsistentGroupProtocol(
            f"Group {group.group_id} uses {group.protocol_type}/{group.protocol}, "
            f"not {body.protocol_type}/{body.protocol_name}"
        )
    return member


def _differs(of_request: str | None, of_group: str | None) -> bool:
    return of_request is not None and of_group is not None and of_request != of_group
