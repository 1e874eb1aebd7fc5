"""ConsumerGroupHeartbeat (68), versions 0 and 1: the one request of a consumer group's members (KIP-848).

Joining, subscribing, acknowledging revoked partitions, leaving (epoch -1, or -2 for a static member that will
be back) and being alive are one request; the answer carries the member's epoch and, when it changed, its
assignment.
Version 1 has the member choose its own id and brings regular expressions.
"""

from typing import TYPE_CHECKING

from barnabas.base.deferred import Deferred
from barnabas.base.errors import KafkaError
from barnabas.handlers.context import GroupContext, Request
from barnabas.handlers.group_requests import context_of, same
from barnabas.wire import Reply

if TYPE_CHECKING:
    from kio.schema.consumer_group_heartbeat.v1.request import ConsumerGroupHeartbeatRequest


def handle(context: GroupContext, request: Request) -> Deferred[Reply]:
    body: ConsumerGroupHeartbeatRequest = request.body
    caller = context_of(request)
    answer = context.groups.write(body.group_id, lambda shard: shard.consumer_group_heartbeat(caller, body))
    return answer.map(same, _refused)


def _refused(error: KafkaError) -> Reply:
    return Reply(error_code=error.code, error_message=error.message)
