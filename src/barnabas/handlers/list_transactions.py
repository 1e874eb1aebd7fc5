"""ListTransactions (66), versions 0 to 2: the transactional ids that this broker coordinates (KIP-664).

Filters by state, by producer id, by duration (version 1, KIP-994) and by a pattern that the whole id must
match (version 2, KIP-1152; INVALID_REGULAR_EXPRESSION if it is none). States that do not exist are told.
While a partition is loading the answer is COORDINATOR_LOAD_IN_PROGRESS, never a part of the list.
"""

from typing import TYPE_CHECKING

from barnabas.base.deferred import Deferred
from barnabas.base.errors import ErrorCode, KafkaError
from barnabas.handlers.context import Context, Request
from barnabas.wire import Reply

if TYPE_CHECKING:
    from kio.schema.list_transactions.v2.request import ListTransactionsRequest


def handle(context: Context, request: Request) -> Reply | Deferred[Reply]:
    from barnabas.coordinator.transactions.listing import Listed, listed
    from barnabas.coordinator.transactions.requests import TransactionFilter

    body: ListTransactionsRequest = request.body
    wanted = TransactionFilter(
        body.state_filters,
        body.producer_id_filters,
        body.duration_filter,
        body.transactional_id_pattern or "",
    )
    try:
        _, unknown = listed((), wanted, 0)  # what is wrong with the filters, even if nothing is coordinated
    except KafkaError as error:
        return Reply(error_code=error.code)

    def reply(shards: "list[Listed]") -> Reply:
        return Reply(
            error_code=ErrorCode.none,
            unknown_state_filters=unknown,
            transaction_states=[
                Reply(
                    transactional_id=transaction.transactional_id,
                    producer_id=transaction.producer_id,
                    transaction_state=transaction.state.label,
                )
                for found, _ in shards
                for transaction in found
            ],
        )

    answer = context.transactions.read_all(lambda shard: shard.list(wanted))
    return answer.map(reply, lambda error: Reply(error_code=error.code))
