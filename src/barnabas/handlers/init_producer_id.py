"""InitProducerId (22), versions 0 to 6: a producer id, for idempotence or for transactions (KIP-98).

Without a transactional id every request gets a new id with epoch 0. With one, its coordinator gives the id
that belongs to it with a raised epoch, which fences the producer that used it before; a transaction that is
still open is aborted first, and the client retries after CONCURRENT_TRANSACTIONS. The id and epoch that a
producer brings along to have its epoch raised (KIP-360) come both or not at all, else INVALID_REQUEST; as in
Kafka, a producer without transactions gets a new id then too.

Version 6 (two-phase commit, KIP-939) requests transactions without a timeout, and may keep the one that is
open instead of aborting it: the answer then has the id and epoch of that transaction beside the producer's
new ones, with which alone it can be ended. It is not final in Kafka 4.3 and served only where the
configuration opens it (see the registry); Kafka 4.3 keeps no transaction yet.

Clients below version 4 do not know PRODUCER_FENCED and get INVALID_PRODUCER_EPOCH (KIP-588).
"""

from typing import TYPE_CHECKING

from barnabas.base.deferred import Deferred, in_sequence
from barnabas.base.errors import ErrorCode, KafkaError
from barnabas.handlers.context import Request, TransactionContext
from barnabas.handlers.fresh_producer_ids import fresh_producer_id
from barnabas.handlers.transaction_requests import code_for, milliseconds
from barnabas.wire import Reply

if TYPE_CHECKING:
    from kio.schema.init_producer_id.v6.request import InitProducerIdRequest

    from barnabas.transaction.requests import InitResult

_NONE = -1
_FENCED_SINCE = 4


@in_sequence
async def handle(context: TransactionContext, request: Request) -> Reply:
    body: InitProducerIdRequest = request.body
    if (body.producer_id == _NONE) != (body.producer_epoch == _NONE) or body.transactional_id == "":
        return _refused(ErrorCode.invalid_request)
    try:
        fresh_id = await fresh_producer_id(context)
        if body.transactional_id is None:
            return _granted(fresh_id)
        return _granted(*await _initialise(context, body, fresh_id))
    except KafkaError as error:
        return _refused(code_for(request, error, _FENCED_SINCE))


def _initialise(
    context: TransactionContext, body: "InitProducerIdRequest", fresh_id: int
) -> Deferred["InitResult"]:
    from barnabas.transaction.requests import InitProducerId  # idempotent producers need it not

    requested = InitProducerId(
        body.transactional_id or "",
        milliseconds(body.transaction_timeout),
        body.producer_id,
        body.producer_epoch,
        enable_two_phase=body.enable2_pc,
        keep_prepared=body.keep_prepared_txn,
    )
    return context.transactions.write(
        requested.transactional_id, lambda shard: shard.init_producer_id(requested, fresh_id)
    )


def _granted(
    producer_id: int, producer_epoch: int = 0, ongoing_id: int = _NONE, ongoing_epoch: int = _NONE
) -> Reply:
    return Reply(
        error_code=ErrorCode.none,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        ongoing_txn_producer_id=ongoing_id,
        ongoing_txn_producer_epoch=ongoing_epoch,
    )


def _refused(code: ErrorCode) -> Reply:
    return Reply(error_code=code, producer_id=_NONE, producer_epoch=_NONE)
