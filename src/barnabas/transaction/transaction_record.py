"""A record of `__transaction_state`: the state of one transactional id, or its tombstone."""

from typing import NamedTuple

from barnabas.transaction.transaction import Transaction


class TransactionRecord(NamedTuple):
    transaction: Transaction | None
    """None for a tombstone."""
    transactional_id: str
