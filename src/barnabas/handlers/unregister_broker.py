"""UnregisterBroker (64), version 0: the cluster forgets a broker that was removed for good (KIP-631).

An id that is not registered is BROKER_ID_NOT_REGISTERED. As in Kafka, partitions keep the broker among their
replicas until they are reassigned.

Deviation: a broker that is running is INVALID_REQUEST. Kafka forgets it, and the broker stops serving.
"""

from typing import TYPE_CHECKING

from barnabas.base.errors import ErrorCode, KafkaError, NotController, StorageError
from barnabas.controller.brokers import unregister_broker
from barnabas.handlers.context import ControllerContext, Request
from barnabas.metadata.store import StoreError
from barnabas.wire import Reply

if TYPE_CHECKING:
    from kio.schema.unregister_broker.v0.request import UnregisterBrokerRequest


async def handle(context: ControllerContext, request: Request) -> Reply:
    body: UnregisterBrokerRequest = request.body
    try:
        await context.store.run(unregister_broker, context.controller, body.broker_id)
    except NotController:
        raise
    except KafkaError as error:
        return Reply(error_code=error.code, error_message=error.message)
    except StoreError as error:
        return Reply(error_code=StorageError.code, error_message=str(error))
    return Reply(error_code=ErrorCode.none, error_message=None)
