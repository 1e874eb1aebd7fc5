"""ConsumerGroupDescribe (69), versions 0 and 1: epochs, members and assignments of consumer groups (KIP-848).

A group of the classic protocol is GROUP_ID_NOT_FOUND here, as is an unknown one. Version 1 has the protocol
of each member.
"""

from typing import TYPE_CHECKING

from barnabas.base.deferred import Deferred, gather
from barnabas.base.errors import InvalidGroupId, KafkaError
from barnabas.handlers.authorized_operations import NOT_REQUESTED, ON_GROUP
from barnabas.handlers.context import GroupContext, Request
from barnabas.handlers.group_requests import same
from barnabas.wire import Reply

if TYPE_CHECKING:
    from kio.schema.consumer_group_describe.v1.request import ConsumerGroupDescribeRequest


def handle(context: GroupContext, request: Request) -> Deferred[Reply]:
    body: ConsumerGroupDescribeRequest = request.body
    operations = ON_GROUP if body.include_authorized_operations else NOT_REQUESTED
    found = gather([_described(context, group_id) for group_id in body.group_ids])

    def reply(groups: list[Reply]) -> Reply:
        return Reply(groups=[Reply(**vars(each), authorized_operations=operations) for each in groups])

    return found.then(reply)


def _described(context: GroupContext, group_id: str) -> Deferred[Reply]:
    def refused(error: KafkaError) -> Reply:
        return Reply(group_id=group_id, error_code=error.code, error_message=error.message)

    if not group_id:
        return Deferred.of(refused(InvalidGroupId()))
    return context.groups.read(group_id, lambda shard: shard.describe_consumer_group(group_id)).map(
        same, refused
    )
