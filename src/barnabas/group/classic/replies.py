"""Responses to members of classic groups."""

from typing import TYPE_CHECKING

from barnabas.base.errors import ErrorCode
from barnabas.group.classic.group import ClassicGroup
from barnabas.group.classic.group_state import STABLE
from barnabas.group.classic.member import NO_ASSIGNMENT, ClassicMember
from barnabas.wire import Reply

if TYPE_CHECKING:
    from kio.schema.leave_group.v5.request import MemberIdentity

UNKNOWN_MEMBER = ""
"""The member id of a client that has none."""
NO_GENERATION = -1


def joined(
    group: ClassicGroup,
    member_id: str,
    *,
    with_members: bool,
    leader: str | None,
    skip_assignment: bool = False,
) -> Reply:
    """The member is part of the current generation. The leader gets the list of members."""
    return Reply(
        error_code=ErrorCode.none,
        generation_id=group.generation,
        protocol_type=group.protocol_type or None,
        protocol_name=group.protocol,
        leader=leader or "",
        skip_assignment=skip_assignment,
        member_id=member_id,
        members=_members(group) if with_members else (),
    )


def _members(group: ClassicGroup) -> tuple[Reply, ...]:
    protocol = group.protocol or ""
    return tuple(
        Reply(
            member_id=member.member_id,
            group_instance_id=member.group_instance_id,
            metadata=member.metadata_for(protocol),
        )
        for member in group.members.values()
    )


def current_generation(group: ClassicGroup, member_id: str) -> Reply:
    return joined(group, member_id, with_members=group.leader == member_id, leader=group.leader)


def join_error(error_code: ErrorCode, member_id: str = UNKNOWN_MEMBER) -> Reply:
    return Reply(
        error_code=error_code,
        generation_id=NO_GENERATION,
        protocol_type=None,
        protocol_name=None,
        leader="",
        skip_assignment=False,
        member_id=member_id,
        members=(),
    )


def synced(group: ClassicGroup, member: ClassicMember) -> Reply:
    return sync_reply(group.protocol_type or None, group.protocol, member.assignment)


def sync_reply(protocol_type: str | None, protocol: str | None, assignment: bytes) -> Reply:
    return Reply(
        error_code=ErrorCode.none,
        protocol_type=protocol_type,
        protocol_name=protocol,
        assignment=assignment,
    )


def sync_error(error_code: ErrorCode) -> Reply:
    return Reply(error_code=error_code, protocol_type=None, protocol_name=None, assignment=NO_ASSIGNMENT)


def left(identity: "MemberIdentity", error_code: ErrorCode) -> Reply:
    """One member of a LeaveGroup response."""
    return Reply(
        member_id=identity.member_id, group_instance_id=identity.group_instance_id, error_code=error_code
    )


def leave_reply(members: list[Reply]) -> Reply:
    return Reply(error_code=ErrorCode.none, members=tuple(members))


def described(group: ClassicGroup) -> Reply:
    """One group of a DescribeGroups response.

    Subscriptions and assignments are shown for a stable group only.
    """
    protocol = group.protocol if group.state is STABLE else None
    return Reply(
        error_code=ErrorCode.none,
        error_message=None,
        group_id=group.group_id,
        group_state=group.state_name,
        protocol_type=group.protocol_type,
        protocol_data=protocol or "",
        members=tuple(
            Reply(
                member_id=member.member_id,
                group_instance_id=member.group_instance_id,
                client_id=member.client_id,
                client_host=member.client_host,
                member_metadata=b"" if protocol is None else member.metadata_for(protocol),
                member_assignment=member.assignment,
            )
            for member in group.members.values()
        ),
    )
