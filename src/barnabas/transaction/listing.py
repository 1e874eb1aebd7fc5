"""The transactions in a ListTransactions response (KIP-664, KIP-994, KIP-1152)."""

from collections.abc import Iterable

from barnabas.base.errors import InvalidRegularExpression
from barnabas.base.topic_regex import TopicRegex, compile_topic_regex
from barnabas.transaction.requests import TransactionFilter
from barnabas.transaction.transaction import STATES_BY_LABEL, Transaction

_SHOWN = 200
Listed = tuple[list[Transaction], list[str]]
"""Transactions, and the unknown state names of the filter."""


def listed(transactions: Iterable[Transaction], wanted: TransactionFilter, now_ms: int) -> Listed:
    unknown = [name for name in dict.fromkeys(wanted.states) if name not in STATES_BY_LABEL]
    return [transaction for transaction in transactions if _is_wanted(transaction, wanted, now_ms)], unknown


def _is_wanted(transaction: Transaction, wanted: TransactionFilter, now_ms: int) -> bool:
    if wanted.producer_ids and transaction.producer_id not in wanted.producer_ids:
        return False
    if wanted.states and transaction.state.label not in wanted.states:
        return False
    # As in Kafka, a transaction that has not started (-1) has run longer than any duration.
    longer_than_ms = wanted.running_longer_than_ms
    return longer_than_ms < 0 or now_ms - transaction.start_ms > longer_than_ms


def compiled_pattern(pattern: str) -> TopicRegex:
    """Returns the pattern that ids must match.

    Matching many ids takes long, so the caller does it in steps.
    """
    try:
        return compile_topic_regex(pattern)
    except InvalidRegularExpression as error:
        # The same limits and reasons as for topics, with this field's name.
        reason = error.message.partition("is not a valid")[2]
        message = f"Transaction ID pattern `{pattern[:_SHOWN]}` is not a valid{reason}"
        raise InvalidRegularExpression(message) from None
