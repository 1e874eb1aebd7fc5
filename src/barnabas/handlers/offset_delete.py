"""OffsetDelete (47), version 0: forget committed offsets of a group (KIP-496).

A partition of a topic that the group's members are subscribed to is GROUP_SUBSCRIBED_TO_TOPIC; a group with
members of an unknown protocol is NON_EMPTY_GROUP as a whole.
"""

from typing import TYPE_CHECKING

from barnabas.base.deferred import Deferred
from barnabas.handlers.context import GroupContext, Request
from barnabas.handlers.group_requests import context_of, error_reply, same
from barnabas.wire import Reply

if TYPE_CHECKING:
    from kio.schema.offset_delete.v0.request import OffsetDeleteRequest


def handle(context: GroupContext, request: Request) -> Deferred[Reply]:
    body: OffsetDeleteRequest = request.body
    caller = context_of(request)
    answer = context.groups.write(body.group_id, lambda shard: shard.delete_offsets(caller, body))
    return answer.map(same, error_reply)
