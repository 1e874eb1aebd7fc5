"""LeaveGroup: members that leave, or that an administrator removes by their instance id."""

import logging
from typing import TYPE_CHECKING

from barnabas.base.errors import CoordinatorNotAvailable, ErrorCode, KafkaError, UnknownMemberId
from barnabas.group.classic.group import ClassicGroup
from barnabas.group.classic.group_state import COMPLETING_REBALANCE, DEAD, PREPARING_REBALANCE, STABLE
from barnabas.group.classic.rebalances import Rebalances
from barnabas.group.classic.replies import UNKNOWN_MEMBER, leave_reply, left
from barnabas.runtime.outcome import NOTHING, Outcome
from barnabas.wire import Reply

if TYPE_CHECKING:
    from kio.schema.leave_group.v5.request import LeaveGroupRequest, MemberIdentity

logger = logging.getLogger("group.classic")


class Leaving:
    def __init__(self, rebalances: Rebalances) -> None:
        self._rebalances: Rebalances = rebalances

    def leave(self, body: "LeaveGroupRequest") -> Outcome[Reply]:
        group = self._rebalances.find(body.group_id)
        if group is None:
            return Outcome(leave_reply([left(each, ErrorCode.unknown_member_id) for each in body.members]))
        if group.state is DEAD:
            raise CoordinatorNotAvailable(f"Group {group.group_id} is dead.")
        replies = [self._leave(group, identity) for identity in body.members]
        removed = [reply.member_id for reply in replies if reply.error_code is ErrorCode.none]
        outcome = self._after(group, removed) if removed else NOTHING
        return Outcome(leave_reply(replies), outcome.records, written=outcome.written)

    def _leave(self, group: ClassicGroup, identity: "MemberIdentity") -> Reply:
        try:
            member_id = self._remove(group, identity)
        except KafkaError as error:
            return left(identity, error.code)
        logger.info(
            "Member %s has left group %s; client reason: %s",
            member_id, group.group_id, identity.reason or "not provided",
        )  # fmt: skip
        return left(identity, ErrorCode.none)

    def _remove(self, group: ClassicGroup, identity: "MemberIdentity") -> str:
        if identity.member_id in group.pending_members:
            self._rebalances.forget(group, identity.member_id)
            return identity.member_id
        if identity.member_id == UNKNOWN_MEMBER and identity.group_instance_id is not None:
            member_id = group.static_members.get(identity.group_instance_id)
            if member_id is None:
                raise UnknownMemberId(f"{identity.group_instance_id} is not a member")
            member = group.members[member_id]
        else:
            member = group.validate_member(identity.member_id, identity.group_instance_id)
        self._rebalances.remove(group, member)
        return member.member_id

    def _after(self, group: ClassicGroup, removed: list[str]) -> Outcome[None]:
        if group.state in (STABLE, COMPLETING_REBALANCE):
            return self._rebalances.prepare(group, f"{', '.join(removed)} left")
        if group.state is PREPARING_REBALANCE:
            return self._rebalances.maybe_complete_join(group)
        return NOTHING
