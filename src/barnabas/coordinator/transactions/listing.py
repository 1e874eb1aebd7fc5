"""Which transactions ListTransactions shows (KIP-664, KIP-994, KIP-1152)."""

from collections.abc import Iterable
from functools import lru_cache

from barnabas.base.errors import InvalidRegularExpression
from barnabas.coordinator.topic_regex import compile_topic_regex
from barnabas.coordinator.transactions.requests import TransactionFilter
from barnabas.coordinator.transactions.transaction import STATES_BY_LABEL, Transaction

_SHOWN = 200
Listed = tuple[list[Transaction], list[str]]
"""Transactions, and the names of states that are none."""


# Each shard of a broker is asked with the same pattern, one after the other.
_compiled = lru_cache(maxsize=1)(compile_topic_regex)


def listed(transactions: Iterable[Transaction], wanted: TransactionFilter, now_ms: int) -> Listed:
    unknown = [name for name in dict.fromkeys(wanted.states) if name not in STATES_BY_LABEL]
    found = [transaction for transaction in transactions if _is_wanted(transaction, wanted, now_ms)]
    if wanted.id_pattern:
        ids = _matching(wanted.id_pattern, [transaction.transactional_id for transaction in found])
        found = [transaction for transaction in found if transaction.transactional_id in ids]
    return found, unknown


def _is_wanted(transaction: Transaction, wanted: TransactionFilter, now_ms: int) -> bool:
    if wanted.producer_ids and transaction.producer_id not in wanted.producer_ids:
        return False
    if wanted.states and transaction.state.label not in wanted.states:
        return False
    # As in Kafka one that has not started (-1) runs longer than anything.
    longer_than_ms = wanted.running_longer_than_ms
    return longer_than_ms < 0 or now_ms - transaction.start_ms > longer_than_ms


def _matching(pattern: str, ids: Iterable[str]) -> frozenset[str]:
    try:
        return _compiled(pattern).matching(ids)
    except InvalidRegularExpression as error:
        # The same limits and reasons as for topics, under the name that the field has here.
        reason = error.message.partition("is not a valid")[2]
        message = f"Transaction ID pattern `{pattern[:_SHOWN]}` is not a valid{reason}"
        raise InvalidRegularExpression(message) from None
