"""ListGroups over the groups of one shard, and what is said of a group that is not there."""

from collections.abc import Collection

from barnabas.base.errors import ErrorCode, GroupIdNotFound
from barnabas.coordinator.groups import Groups
from barnabas.wire import Reply

FIRST_WITH_GROUP_ID_NOT_FOUND = 6
_DEAD = "Dead"


def list_groups(groups: Groups, states: Collection[str], types: Collection[str]) -> list[Reply]:
    """The groups in one of `states` and of one of `types`; an empty filter lets all pass.

    As Kafka: upper and lower case are the same, blanks around a state do not count, and a state or type that
    nobody knows is no error but lets nothing pass.
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
    """What DescribeGroups says of a group it does not find: dead, and from version 6 on also why."""
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
