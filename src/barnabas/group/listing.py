"""ListGroups for the groups of one shard, and the description of a group that does not exist."""

from collections.abc import Collection

from barnabas.base.errors import ErrorCode, GroupIdNotFound
from barnabas.group.groups import Groups
from barnabas.wire import Reply

FIRST_WITH_GROUP_ID_NOT_FOUND = 6
_DEAD = "Dead"


def list_groups(groups: Groups, states: Collection[str], types: Collection[str]) -> list[Reply]:
    """Returns the groups in one of `states` and of one of `types`. An empty filter matches all.

    As in Kafka, case and blanks around a state are ignored. An unknown state or type is no error and matches
    nothing.
    """
    wanted_states = {state.lower().strip() for state in states}
    wanted_types = {group_type.lower() for group_type in types}
    return [
        Reply(
            group_id=group.group_id,
            protocol_type=group.protocol_type,
            group_state=group.state_name,
            group_type=group.type,
        )
        for group in groups
        if (not wanted_states or group.state_name.lower() in wanted_states)
        and (not wanted_types or group.type in wanted_types)
    ]


def describe_absent_group(version: int, group_id: str, reason: GroupIdNotFound) -> Reply:
    """DescribeGroups for a group that does not exist: Dead, and from version 6 on the reason."""
    dead = Reply(
        group_id=group_id,
        group_state=_DEAD,
        protocol_type="",
        protocol_data="",
        members=[],
        error_code=ErrorCode.none,
        error_message=None,
    )
    if version >= FIRST_WITH_GROUP_ID_NOT_FOUND:
        dead.error_code = reason.code
        dead.error_message = reason.message
    return dead
