"""ListTransactions (66), versions 0 to 2: the transactional ids that this broker coordinates (KIP-664).

Filters by state, by producer id, by duration (version 1, KIP-994) and by a pattern that the whole id must
match (version 2, KIP-1152; INVALID_REGULAR_EXPRESSION if it is none). The response lists unknown states.
While a partition is loading the answer is COORDINATOR_LOAD_IN_PROGRESS, never a part of the list.
"""

from itertools import chain
from typing import TYPE_CHECKING

from barnabas.base.deferred_tasks import awaited
from barnabas.base.errors import ErrorCode, KafkaError
from barnabas.handlers.context import Request, TransactionContext
from barnabas.wire import Reply

if TYPE_CHECKING:
    from kio.schema.list_transactions.v2.request import ListTransactionsRequest

    from barnabas.transaction.transaction import Transaction


async def handle(context: TransactionContext, request: Request) -> Reply:
    from barnabas.transaction.listing import compiled_pattern, listed
    from barnabas.transaction.requests import TransactionFilter

    body: ListTransactionsRequest = request.body
    pattern = body.transactional_id_pattern or ""
    wanted = TransactionFilter(body.state_filters, body.producer_id_filters, body.duration_filter)
    try:
        regex = compiled_pattern(pattern) if pattern else None
        _, unknown = listed((), wanted, 0)  # unknown filters, even if nothing is coordinated here
        shards = await awaited(context.transactions.read_all(lambda shard: shard.list(wanted)))
    except KafkaError as error:
        return Reply(error_code=error.code)
    shown: list[Reply] = []
    for transaction in chain.from_iterable(found for found, _ in shards):
        await context.slices.pause()
        if regex is None or regex.matching([transaction.transactional_id]):
            shown.append(_described(transaction))
    return Reply(error_code=ErrorCode.none, unknown_state_filters=unknown, transaction_states=shown)


def _described(transaction: "Transaction") -> Reply:
    return Reply(
        transactional_id=transaction.transactional_id,
        producer_id=transaction.producer_id,
        transaction_state=transaction.state.label,
    )
