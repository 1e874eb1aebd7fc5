"""What InitProducerId makes of a transactional id: a producer begins, and fences the one before it.

Order of checks and errors are Kafka's, but for one. A transaction that the last producer left ongoing is
aborted first, or kept for the new producer to complete (two-phase commit, KIP-939). Only a new producer, or
the one that has the transaction, may do so: one with an older epoch of the same producer id is told at once
that it is fenced. Kafka aborts the transaction of its successor, and tells it when it asks again.
"""

from barnabas.base.errors import (
    ConcurrentTransactions,
    InvalidRequest,
    InvalidTransactionTimeout,
    ProducerFenced,
    TransactionalIdAuthorizationFailed,
    UnsupportedVersion,
)
from barnabas.coordinator.transactions.environment import TransactionSettings
from barnabas.coordinator.transactions.requests import InitProducerId
from barnabas.coordinator.transactions.transaction import (
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_TIMEOUT_MS,
    Transaction,
    TransactionState,
    is_exhausted,
)
from barnabas.coordinator.transactions.transitions import bump_epoch, fence, keep_prepared, rotate_producer_id


def check_init(asked: InitProducerId, settings: TransactionSettings) -> None:
    """The one place that says who may take part in a two-phase commit: so far the configuration alone."""
    if not asked.transactional_id:
        raise InvalidRequest("The transactional id is empty.")
    if asked.enable_two_phase and not settings.is_two_phase_enabled:
        raise TransactionalIdAuthorizationFailed("Two-phase commit is not enabled on this broker.")
    if asked.keep_prepared and not settings.is_two_phase_enabled:
        raise UnsupportedVersion("Transactions are not kept: two-phase commit is not enabled on this broker.")
    if not asked.enable_two_phase and not 0 < asked.timeout_ms <= settings.max_timeout_ms:
        raise InvalidTransactionTimeout(
            f"A timeout of {asked.timeout_ms} ms is not allowed, {settings.max_timeout_ms} is the most."
        )


def initialised(
    transaction: Transaction | None,
    asked: InitProducerId,
    settings: TransactionSettings,
    fresh_id: int,
    now_ms: int,
) -> Transaction:
    """The transaction as it is to be: of a new producer, kept by one, or (PrepareAbort) out of its way."""
    timeout_ms = NO_TIMEOUT_MS if asked.enable_two_phase else asked.timeout_ms
    if transaction is None:
        transaction = _unknown(asked.transactional_id, timeout_ms, fresh_id, now_ms)
    if transaction.state.is_prepared:
        raise ConcurrentTransactions("The last transaction is not complete yet.")
    is_known = asked.producer_id != NO_PRODUCER_ID
    if is_known and not _may_be(transaction, asked.producer_id, asked.producer_epoch):
        raise ProducerFenced(f"{asked.transactional_id} has another producer than {asked.producer_id}.")
    expected_epoch = asked.producer_epoch if is_known else None
    if transaction.state is TransactionState.ONGOING:
        if asked.keep_prepared:
            return keep_prepared(transaction, expected_epoch, now_ms, fresh_id)
        if is_known and not _has(transaction, asked.producer_id, asked.producer_epoch):
            raise ProducerFenced(f"{asked.transactional_id} has a transaction of a newer producer.")
        # Its epoch is never told to anybody: the client asks again, and gets the next one.
        return fence(transaction, version=settings.transaction_version, now_ms=now_ms, fresh_id=fresh_id)
    epoch = transaction.producer_epoch
    if is_exhausted(epoch) and expected_epoch in (None, epoch):
        return rotate_producer_id(transaction, expected_epoch, timeout_ms, now_ms, fresh_id)
    return bump_epoch(transaction, expected_epoch, timeout_ms, now_ms)


def _unknown(transactional_id: str, timeout_ms: int, fresh_id: int, now_ms: int) -> Transaction:
    return Transaction(
        transactional_id=transactional_id,
        producer_id=fresh_id,
        producer_epoch=NO_PRODUCER_EPOCH,
        timeout_ms=timeout_ms,
        update_ms=now_ms,
    )


def _has(transaction: Transaction, producer_id: int, epoch: int) -> bool:
    return (producer_id, epoch) == (transaction.client_producer_id, transaction.client_epoch)


def _may_be(transaction: Transaction, producer_id: int, epoch: int) -> bool:
    """May this be the producer of the transaction. Its epoch is compared when it is bumped."""
    return (
        # Just created: a producer whose id has expired goes on with the new one.
        transaction.producer_epoch == NO_PRODUCER_EPOCH
        or producer_id == transaction.client_producer_id
        # Asked again after an answer with a new id got lost.
        or (producer_id == transaction.previous_producer_id and is_exhausted(epoch))
    )
