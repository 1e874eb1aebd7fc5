"""Which transactions ListTransactions shows (KIP-664, KIP-994, KIP-1152)."""

from collections.abc import Iterable

from barnabas.base.errors import InvalidRegularExpression
from barnabas.coordinator.topic_regex import TopicRegex, compile_topic_regex
from barnabas.coordinator.transactions.requests import TransactionFilter
from barnabas.coordinator.transactions.transaction import STATES_BY_LABEL, Transaction

_SHOWN = 200
Listed = tuple[list[Transaction], list[str]]
"""Transactions, and the names of states that are none."""


def listed(transactions: Iterable[Transaction], wanted: TransactionFilter, now_ms: int) -> Listed:
    unknown = [name for name in dict.fromkeys(wanted.states) if name not in STATES_BY_LABEL]
    return [transaction for transaction in transactions if _is_wanted(transaction, wanted, now_ms)], unknown


def _is_wanted(transaction: Transaction, wanted: TransactionFilter, now_ms: int) -> bool:
    if wanted.producer_ids and transaction.producer_id not in wanted.producer_ids:
        return False
    if wanted.states and transaction.state.label not in wanted.states:
        return False
    # As in Kafka one that has not started (-1) runs longer than anything.
    longer_than_ms = wanted.running_longer_than_ms
    return longer_than_ms < 0 or now_ms - transaction.start_ms > longer_than_ms


def compiled_pattern(pattern: str) -> TopicRegex:
    """The pattern that ids must match; matching all of them may take long, so the caller does it in steps."""
    try:
        return compile_topic_regex(pattern)
    except InvalidRegularExpression as error:
        # The same limits and reasons as for topics, under the name that the field has here.
        reason = error.message.partition("is not a valid")[2]
        message = f"Transaction ID pattern `{pattern[:_SHOWN]}` is not a valid{reason}"
        raise InvalidRegularExpression(message) from None
