"""What the handlers of group requests share: the request's context, and the response to an error."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from barnabas.base.deferred import Deferred
from barnabas.base.errors import InvalidGroupId, KafkaError
from barnabas.group.environment import RequestContext
from barnabas.handlers.context import GroupContext, Request
from barnabas.runtime.outcome import Outcome
from barnabas.wire import Reply

if TYPE_CHECKING:
    from barnabas.group.shard import GroupShard


def context_of(request: Request) -> RequestContext:
    return RequestContext(request.version, request.client_id or "", f"/{request.peer.host}")


def write(
    context: GroupContext, group_id: str, operation: Callable[["GroupShard"], Outcome[Reply]]
) -> Deferred[Reply]:
    """Run the operation in the group's shard. An empty group id is INVALID_GROUP_ID on every broker."""
    if group_id:
        return context.groups.write(group_id, operation)
    refused: Deferred[Reply] = Deferred()
    refused.fail(InvalidGroupId("The group id is empty."))
    return refused


def same(reply: Reply) -> Reply:
    return reply


def error_reply(error: KafkaError) -> Reply:
    """For responses that have only an error code."""
    return Reply(error_code=error.code)
