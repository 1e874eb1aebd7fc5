"""LeaveGroup (13), versions 0 to 5: members leave a classic group, which then rebalances at once.

Version 3 takes several members, by id or by instance id (KIP-345), with an error each; before, the one
member's error is the answer's. Version 5 brings the reason (KIP-800), which is logged.
"""

from typing import TYPE_CHECKING

from barnabas.base.deferred import Deferred
from barnabas.base.errors import ErrorCode
from barnabas.handlers.context import GroupContext, Request
from barnabas.handlers.group_requests import context_of, error_reply, write
from barnabas.wire import Reply

if TYPE_CHECKING:
    from kio.schema.leave_group.v5.request import LeaveGroupRequest

_FIRST_BATCHED = 3


def handle(context: GroupContext, request: Request) -> Deferred[Reply]:
    body: LeaveGroupRequest = request.body
    caller = context_of(request)
    answer = write(context, body.group_id, lambda shard: shard.leave_group(caller, body))
    return answer.map(lambda reply: _shaped(reply, request.version), error_reply)


def _shaped(reply: Reply, version: int) -> Reply:
    members = vars(reply).get("members", ())
    if version >= _FIRST_BATCHED or reply.error_code is not ErrorCode.none or not members:
        return reply
    return Reply(error_code=members[0].error_code)
