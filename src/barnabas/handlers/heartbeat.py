"""Heartbeat (12), versions 0 to 4: a member of a classic group is alive, and learns of rebalances.

REBALANCE_IN_PROGRESS makes the member join again. While the coordinator loads the answer is NONE, as in
Kafka: a member need not do anything about it.
"""

from typing import TYPE_CHECKING

from barnabas.base.deferred import Deferred
from barnabas.base.errors import CoordinatorLoadInProgress, ErrorCode, KafkaError
from barnabas.handlers.context import GroupContext, Request
from barnabas.handlers.group_requests import context_of, same, write
from barnabas.wire import Reply

if TYPE_CHECKING:
    from kio.schema.heartbeat.v4.request import HeartbeatRequest


def handle(context: GroupContext, request: Request) -> Deferred[Reply]:
    body: HeartbeatRequest = request.body
    caller = context_of(request)
    return write(context, body.group_id, lambda shard: shard.heartbeat(caller, body)).map(same, _refused)


def _refused(error: KafkaError) -> Reply:
    if isinstance(error, CoordinatorLoadInProgress):
        return Reply(error_code=ErrorCode.none)
    return Reply(error_code=error.code)
