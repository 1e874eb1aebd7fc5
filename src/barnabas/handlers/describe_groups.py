"""DescribeGroups (15), versions 0 to 6: state, protocol, members and assignments of classic groups.

A group that is not known, or is no classic one, has the state `Dead`; version 6 says GROUP_ID_NOT_FOUND as
well (KIP-1043). Metadata and assignments of members are in the response for stable groups only, as in
Kafka.
"""

from typing import TYPE_CHECKING

from barnabas.base.deferred import Deferred, gather
from barnabas.base.errors import GroupIdNotFound, InvalidGroupId, KafkaError
from barnabas.group.listing import describe_absent_group
from barnabas.handlers.authorized_operations import NOT_REQUESTED, ON_GROUP
from barnabas.handlers.context import GroupContext, Request
from barnabas.wire import Reply

if TYPE_CHECKING:
    from kio.schema.describe_groups.v6.request import DescribeGroupsRequest


def handle(context: GroupContext, request: Request) -> Deferred[Reply]:
    body: DescribeGroupsRequest = request.body
    operations = ON_GROUP if body.include_authorized_operations else NOT_REQUESTED
    found = gather([_described(context, group_id, request.version) for group_id in body.groups])

    def reply(groups: list[Reply]) -> Reply:
        return Reply(groups=[Reply(**vars(each), authorized_operations=operations) for each in groups])

    return found.then(reply)


def _described(context: GroupContext, group_id: str, version: int) -> Deferred[Reply]:
    if not group_id:
        return Deferred.of(_refused("", InvalidGroupId(), version))
    answer = context.groups.read(group_id, lambda shard: shard.describe_group(group_id))
    return answer.map(lambda reply: reply, lambda error: _refused(group_id, error, version))


def _refused(group_id: str, error: KafkaError, version: int) -> Reply:
    if isinstance(error, GroupIdNotFound):
        return describe_absent_group(version, group_id, error)
    return Reply(group_id=group_id, group_state="", error_code=error.code)
