"""DeleteGroups (42), versions 0 to 2: forget groups that have no members, and all their offsets (KIP-229).

NON_EMPTY_GROUP while there are members, GROUP_ID_NOT_FOUND for an unknown group.
"""

from typing import TYPE_CHECKING

from barnabas.base.deferred import Deferred, gather
from barnabas.base.errors import InvalidGroupId, KafkaError
from barnabas.handlers.context import GroupContext, Request
from barnabas.wire import Reply

if TYPE_CHECKING:
    from kio.schema.delete_groups.v2.request import DeleteGroupsRequest


def handle(context: GroupContext, request: Request) -> Deferred[Reply]:
    body: DeleteGroupsRequest = request.body
    deleted = gather([_delete(context, group_id) for group_id in dict.fromkeys(body.groups_names)])
    return deleted.then(lambda results: Reply(results=results))


def _delete(context: GroupContext, group_id: str) -> Deferred[Reply]:
    def refused(error: KafkaError) -> Reply:
        return Reply(group_id=group_id, error_code=error.code)

    if not group_id:
        return Deferred.of(refused(InvalidGroupId()))
    answer = context.groups.write(group_id, lambda shard: shard.delete_groups([group_id]))
    return answer.map(lambda results: results[0], refused)
