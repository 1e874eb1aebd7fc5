"""InitProducerId (22), versions 0 to 5: a producer id for an idempotent producer (KIP-98).

Without a transactional id every request gets a new id with epoch 0. The id and epoch that a producer brings
along to have its epoch raised (KIP-360) come both or not at all, else INVALID_REQUEST; as in Kafka, a
producer without transactions gets a new id then too.

Deviation: there is no transaction coordinator, so a transactional id is
TRANSACTIONAL_ID_AUTHORIZATION_FAILED: no client retries it. librdkafka and kafka-python take it as fatal,
the Java client and aiokafka raise it from the start of transactions, while librdkafka asks again for ever
after codes it does not list. Kafka says the same where two-phase commit is switched off. An empty
transactional id is INVALID_REQUEST.
"""

from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

from barnabas.base.errors import ErrorCode, error_of
from barnabas.handlers.context import Context, Request
from barnabas.wire import Reply

if TYPE_CHECKING:
    from kio.schema.init_producer_id.v5.request import InitProducerIdRequest

_NONE = -1


def handle(context: Context, request: Request) -> Reply | Coroutine[Any, Any, Reply]:
    body: InitProducerIdRequest = request.body
    if (body.producer_id == _NONE) != (body.producer_epoch == _NONE) or body.transactional_id == "":
        return _refused(ErrorCode.invalid_request)
    if body.transactional_id is not None:
        return _refused(ErrorCode.transactional_id_authorization_failed)
    producer_id = context.producer_ids.next_if_ready()
    return _from_next_block(context) if producer_id is None else _granted(producer_id)


async def _from_next_block(context: Context) -> Reply:
    try:
        return _granted(await context.store.run(context.producer_ids.next_producer_id))
    except Exception as error:  # noqa: BLE001  whatever the store says, the client is told
        return _refused(error_of(error)[0])


def _granted(producer_id: int) -> Reply:
    return Reply(error_code=ErrorCode.none, producer_id=producer_id, producer_epoch=0)


def _refused(code: ErrorCode) -> Reply:
    return Reply(error_code=code, producer_id=_NONE, producer_epoch=_NONE)
