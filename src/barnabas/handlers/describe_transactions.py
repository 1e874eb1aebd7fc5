"""DescribeTransactions (65), version 0: transactional ids with their producer and transaction (KIP-664).

While the end of a transaction is being written, its partitions are those that have no marker yet. An id that
is not coordinated here is NOT_COORDINATOR, one that was never used TRANSACTIONAL_ID_NOT_FOUND, an empty one
INVALID_REQUEST. Without a transaction the start is -1.
"""

from typing import TYPE_CHECKING

from barnabas.base.deferred import Deferred, gather
from barnabas.base.errors import ErrorCode
from barnabas.handlers.context import Request, TransactionContext
from barnabas.wire import Reply

if TYPE_CHECKING:
    from kio.schema.describe_transactions.v0.request import DescribeTransactionsRequest

    from barnabas.transaction.transaction import Transaction


def handle(context: TransactionContext, request: Request) -> Deferred[Reply]:
    body: DescribeTransactionsRequest = request.body
    states = gather([_described(context, each) for each in body.transactional_ids])
    return states.then(lambda found: Reply(transaction_states=found))


def _described(context: TransactionContext, transactional_id: str) -> Deferred[Reply]:
    """Never fails."""
    if not transactional_id:
        return Deferred.of(_refused(transactional_id, ErrorCode.invalid_request))
    found = context.transactions.read(transactional_id, lambda shard: shard.describe(transactional_id))
    return found.map(
        lambda transaction: _description(context, transaction),
        lambda error: _refused(transactional_id, error.code),
    )


def _refused(transactional_id: str, code: ErrorCode) -> Reply:
    # No transaction has started in 1970 either, but that is what Kafka says of an error.
    return Reply(error_code=code, transactional_id=transactional_id, transaction_start_time=0)


def _description(context: TransactionContext, transaction: "Transaction") -> Reply:
    topics: dict[str, list[int]] = {}
    for partition in sorted(context.transactions.markers.unmarked(transaction)):
        topics.setdefault(partition.topic, []).append(partition.partition)
    return Reply(
        error_code=ErrorCode.none,
        transactional_id=transaction.transactional_id,
        transaction_state=transaction.state.label,
        transaction_timeout=transaction.timeout_ms,
        transaction_start_time=transaction.start_ms,
        producer_id=transaction.producer_id,
        producer_epoch=transaction.producer_epoch,
        topics=[Reply(topic=name, partitions=numbers) for name, numbers in topics.items()],
    )
