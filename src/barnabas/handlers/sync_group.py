"""SyncGroup (14), versions 0 to 5: the leader sends all assignments, and each member gets its own.

Parked until the leader's assignments are in the log. Version 3 brings static members, 5 the protocol type and
name, which must be the group's: else INCONSISTENT_GROUP_PROTOCOL.
"""

from typing import TYPE_CHECKING

from barnabas.base.deferred import Deferred
from barnabas.base.errors import KafkaError
from barnabas.handlers.context import GroupContext, Request
from barnabas.handlers.group_requests import context_of, same, write
from barnabas.wire import Reply

if TYPE_CHECKING:
    from kio.schema.sync_group.v5.request import SyncGroupRequest


def handle(context: GroupContext, request: Request) -> Deferred[Reply]:
    body: SyncGroupRequest = request.body
    caller = context_of(request)
    return write(context, body.group_id, lambda shard: shard.sync_group(caller, body)).map(same, _refused)


def _refused(error: KafkaError) -> Reply:
    return Reply(error_code=error.code, assignment=b"")
