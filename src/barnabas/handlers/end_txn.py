"""EndTxn (26), versions 0 to 5: commit or abort (KIP-98).

Answered when the outcome is in the coordinator's log; the markers follow, at the latest when the producer
sends its next request. From version 5 on (transaction version 2, KIP-890) each end raises the producer's
epoch, and the answer has the id and epoch to go on with. Clients below version 2 get
INVALID_PRODUCER_EPOCH for PRODUCER_FENCED (KIP-588).
"""

from typing import TYPE_CHECKING

from barnabas.base.deferred import in_sequence
from barnabas.base.errors import ErrorCode, KafkaError
from barnabas.handlers.context import Request, TransactionContext
from barnabas.handlers.fresh_producer_ids import fresh_producer_id
from barnabas.handlers.transaction_requests import code_for
from barnabas.wire import Reply

if TYPE_CHECKING:
    from kio.schema.end_txn.v5.request import EndTxnRequest

_FENCED_SINCE = 2
_EPOCH_BUMP_SINCE = 5
_OLD, _WITH_EPOCH_BUMP = 0, 2
_EPOCHS_RUN_OUT_AT = 2**15 - 4
"""From here on the end of a transaction may need a new producer id; before it none is used up."""
_NONE = -1


@in_sequence
async def handle(context: TransactionContext, request: Request) -> Reply:
    body: EndTxnRequest = request.body
    if not body.transactional_id:
        return _refused(ErrorCode.invalid_request)
    is_bumped = request.version >= _EPOCH_BUMP_SINCE
    fresh_id = _NONE
    try:
        if is_bumped and body.producer_epoch >= _EPOCHS_RUN_OUT_AT:
            fresh_id = await fresh_producer_id(context)
        result = await context.transactions.write(
            body.transactional_id,
            lambda shard: shard.end(
                body.transactional_id,
                body.producer_id,
                body.producer_epoch,
                is_commit=body.committed,
                client_version=_WITH_EPOCH_BUMP if is_bumped else _OLD,
                fresh_id=fresh_id,
            ),
        )
    except KafkaError as error:
        return _refused(code_for(request, error, _FENCED_SINCE))
    return Reply(
        error_code=ErrorCode.none, producer_id=result.producer_id, producer_epoch=result.producer_epoch
    )


def _refused(code: ErrorCode) -> Reply:
    return Reply(error_code=code, producer_id=_NONE, producer_epoch=_NONE)
