"""EndTxn (26), versions 0 to 5: commit or abort (KIP-98).

Answered when the outcome is in the coordinator's log; the markers follow, at the latest when the producer
asks for something else. From version 5 on (transaction version 2, KIP-890) each end raises the producer's
epoch, and the answer has the id and epoch to go on with. Clients below version 2 are told
INVALID_PRODUCER_EPOCH for PRODUCER_FENCED (KIP-588).
"""

from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

from barnabas.base.deferred import Deferred
from barnabas.base.errors import ErrorCode
from barnabas.handlers.context import Context, Request
from barnabas.handlers.fresh_producer_ids import with_fresh_id
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


def handle(context: Context, request: Request) -> Reply | Deferred[Reply] | Coroutine[Any, Any, Reply]:
    body: EndTxnRequest = request.body
    if not body.transactional_id:
        return _refused(ErrorCode.invalid_request)
    if request.version < _EPOCH_BUMP_SINCE or body.producer_epoch < _EPOCHS_RUN_OUT_AT:
        return _end(context, request, _NONE)
    return with_fresh_id(context, lambda fresh_id: _end(context, request, fresh_id), _refused)


def _end(context: Context, request: Request, fresh_id: int) -> Deferred[Reply]:
    body: EndTxnRequest = request.body
    answer = context.transactions.write(
        body.transactional_id,
        lambda shard: shard.end(
            body.transactional_id,
            body.producer_id,
            body.producer_epoch,
            is_commit=body.committed,
            client_version=_OLD if request.version < _EPOCH_BUMP_SINCE else _WITH_EPOCH_BUMP,
            fresh_id=fresh_id,
        ),
    )
    return answer.map(
        lambda result: Reply(
            error_code=ErrorCode.none,
            producer_id=result.producer_id,
            producer_epoch=result.producer_epoch,
        ),
        lambda error: _refused(code_for(request, error, _FENCED_SINCE)),
    )


def _refused(code: ErrorCode) -> Reply:
    return Reply(error_code=code, producer_id=_NONE, producer_epoch=_NONE)
