"""BrokerHeartbeat (63), versions 0 and 1: a broker that wants to shut down hands over its leaderships.

Brokers send it to the controller. A session in the metadata store says whether a broker lives, so a heartbeat
without `want_shut_down` changes nothing. The response says whether the broker may stop (KIP-631).
"""

from typing import TYPE_CHECKING

from barnabas.base.errors import ErrorCode, KafkaError
from barnabas.controller.brokers import begin_controlled_shutdown
from barnabas.controller.isr_changes import check_broker_epoch
from barnabas.handlers.context import ControllerContext, Request
from barnabas.metadata.store import StoreError
from barnabas.wire import Reply

if TYPE_CHECKING:
    from kio.schema.broker_heartbeat.v1.request import BrokerHeartbeatRequest


async def handle(context: ControllerContext, request: Request) -> Reply:
    body: BrokerHeartbeatRequest = request.body
    should_shut_down = False
    try:
        if body.want_shut_down:
            should_shut_down = await context.store.run(
                begin_controlled_shutdown, context.controller, body.broker_id, body.broker_epoch
            )
        else:
            check_broker_epoch(context.image, body.broker_id, body.broker_epoch)
    except KafkaError as error:
        return Reply(error_code=error.code)
    except StoreError:
        return Reply(error_code=ErrorCode.not_controller)
    known = context.image.registrations.get(body.broker_id)
    return Reply(
        error_code=ErrorCode.none,
        is_caught_up=True,
        is_fenced=known is None or not known.is_active,
        should_shut_down=should_shut_down,
    )
