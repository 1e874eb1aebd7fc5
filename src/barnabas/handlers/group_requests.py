"""What the handlers of group requests share: who asks, and how an error becomes an answer."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from barnabas.base.deferred import Deferred
from barnabas.base.errors import InvalidGroupId, KafkaError
from barnabas.coordinator.environment import RequestContext
from barnabas.coordinator.outcome import Outcome
from barnabas.handlers.context import Context, Request
from barnabas.wire import Reply

if TYPE_CHECKING:
    from barnabas.coordinator.shard import GroupShard


def context_of(request: Request) -> RequestContext:
    return RequestContext(request.version, request.client_id or "", f"/{request.peer.host}")


def write(
    context: Context, group_id: str, operation: Callable[["GroupShard"], Outcome[Reply]]
) -> Deferred[Reply]:
    """Ask the group's shard; a group without a name has none, whoever coordinates."""
    if group_id:
        return context.groups.write(group_id, operation)
    refused: Deferred[Reply] = Deferred()
    refused.fail(InvalidGroupId("The group id is empty."))
    return refused


def same(reply: Reply) -> Reply:
    return reply


def error_reply(error: KafkaError) -> Reply:
    """For answers that have nothing but a code."""
    return Reply(error_code=error.code)
