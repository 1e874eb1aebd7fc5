"""JoinGroup (11), versions 0 to 9: become a member of a classic group, or take part in its next rebalance.

Parked until all expected members have joined or the rebalance timeout has passed. From version 4 on a new
member gets its id first, with MEMBER_ID_REQUIRED (KIP-394); version 5 brings static members (KIP-345), 7 the
protocol type, 8 the reason (KIP-800), 9 `skip_assignment` (KIP-814). A member of a consumer group that still
speaks the classic protocol comes in here too (KIP-848).
"""

from typing import TYPE_CHECKING, Any

from barnabas.base.deferred import Deferred
from barnabas.base.errors import KafkaError
from barnabas.handlers.context import GroupContext, Request
from barnabas.handlers.group_requests import context_of, write
from barnabas.wire import Reply

if TYPE_CHECKING:
    from kio.schema.join_group.v9.request import JoinGroupRequest

_FIRST_WITH_NULLABLE_PROTOCOL = 7


def handle(context: GroupContext, request: Request) -> Deferred[Reply]:
    body: JoinGroupRequest = request.body
    caller = context_of(request)
    answer = write(context, body.group_id, lambda shard: shard.join_group(caller, body))

    def refused(error: KafkaError) -> Reply:
        return _shaped(Reply(error_code=error.code, member_id=body.member_id), request.version)

    return answer.map(lambda reply: _shaped(reply, request.version), refused)


def _shaped(reply: Reply, version: int) -> Reply:
    given: dict[str, Any] = {"generation_id": -1, "protocol_type": None, "protocol_name": None, "leader": ""}
    given |= vars(reply)
    if given["protocol_name"] is None and version < _FIRST_WITH_NULLABLE_PROTOCOL:
        given["protocol_name"] = ""
    return Reply(**given)
