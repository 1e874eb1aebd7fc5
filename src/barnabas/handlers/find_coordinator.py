"""FindCoordinator (10), versions 0 to 6: which broker coordinates a group or a transactional id.

Type 0 is a group, type 1 a transactional id; version 4 takes several keys (KIP-699). The topic that keeps the
state (`__consumer_offsets`, `__transaction_state`) is created by the first request, and the response waits
for it. Kafka responds with COORDINATOR_NOT_AVAILABLE and lets the client retry. Share groups (type 2) are not
served: INVALID_REQUEST.
"""

from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

from barnabas.base.errors import CoordinatorNotAvailable, ErrorCode, KafkaError
from barnabas.handlers import coordinators
from barnabas.handlers.context import CoordinatorContext, Request
from barnabas.metadata.image import BrokerImage
from barnabas.wire import Reply

if TYPE_CHECKING:
    from kio.schema.find_coordinator.v6.request import FindCoordinatorRequest

_FIRST_BATCHED = 4
_NO_ERROR_MESSAGE = "NONE"
"""What Kafka's single answers say when all is well."""


def handle(context: CoordinatorContext, request: Request) -> Reply | Coroutine[Any, Any, Reply]:
    body: FindCoordinatorRequest = request.body
    if all(_is_known(context, body.key_type, key) for key in body.coordinator_keys):
        return _reply(request, [_found(context, request, key) for key in body.coordinator_keys])
    return _create_and_answer(context, request)


async def _create_and_answer(context: CoordinatorContext, request: Request) -> Reply:
    body: FindCoordinatorRequest = request.body
    found: list[Reply] = []
    for key in body.coordinator_keys:
        try:
            broker = await coordinators.find_or_create(context, body.key_type, key)
            found.append(_coordinator(request, key, broker))
        except KafkaError as error:
            found.append(_refused(request, key, error))
    return _reply(request, found)


def _is_known(context: CoordinatorContext, key_type: int, key: str) -> bool:
    try:
        return coordinators.find(context, key_type, key) is not None
    except KafkaError:
        return True


def _found(context: CoordinatorContext, request: Request, key: str) -> Reply:
    try:
        broker = coordinators.find(context, request.body.key_type, key)
        if broker is None:
            raise CoordinatorNotAvailable("the topic of the coordinator was deleted")
        return _coordinator(request, key, broker)
    except KafkaError as error:
        return _refused(request, key, error)


def _coordinator(request: Request, key: str, broker: BrokerImage) -> Reply:
    address = broker.endpoints.get(request.peer.listener)
    if address is None:
        raise CoordinatorNotAvailable(f"broker {broker.id} has no listener {request.peer.listener}")
    return Reply(
        key=key,
        node_id=broker.id,
        host=address.host,
        port=address.port,
        error_code=ErrorCode.none,
        error_message=_NO_ERROR_MESSAGE if request.version < _FIRST_BATCHED else "",
    )


def _refused(request: Request, key: str, error: KafkaError) -> Reply:
    # Kafka's batched answers carry no message.
    message = error.message if request.version < _FIRST_BATCHED else ""
    return Reply(key=key, node_id=-1, host="", port=-1, error_code=error.code, error_message=message)


def _reply(request: Request, found: list[Reply]) -> Reply:
    if request.version >= _FIRST_BATCHED:
        return Reply(coordinators=found)
    return found[0]
