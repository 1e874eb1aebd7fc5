"""A record of `__transaction_state`: one transactional id as it is now, or that it is gone."""

from typing import NamedTuple

from barnabas.coordinator.transactions.transaction import Transaction


class TransactionRecord(NamedTuple):
    transaction: Transaction | None
    """None: a tombstone."""
    transactional_id: str
