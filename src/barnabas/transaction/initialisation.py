"""How InitProducerId changes a transactional id: a new producer begins and fences the previous one.

The order of checks and the errors are Kafka's, with one exception. An ongoing transaction of the last
producer is aborted first, or kept for the new producer to complete (two-phase commit, KIP-939). Only a new
producer, or the producer of the transaction, may do so: one with an older epoch of the same producer id is
fenced at once. Kafka aborts the transaction of its successor, and fences it when it retries.
"""

from barnabas.base.errors import (
    ConcurrentTransactions,
    InvalidRequest,
    InvalidTransactionTimeout,
    ProducerFenced,
    TransactionalIdAuthorizationFailed,
    UnsupportedVersion,
)
from barnabas.transaction.environment import TransactionSettings
from barnabas.transaction.requests import InitProducerId
from barnabas.transaction.transaction import (
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_TIMEOUT_MS,
    Transaction,
    TransactionState,
    is_exhausted,
)
from barnabas.transaction.transitions import bump_epoch, fence, keep_prepared, rotate_producer_id


def check_init(request: InitProducerId, settings: TransactionSettings) -> None:
    """Check the request. Only the configuration allows a producer to use two-phase commit."""
    if not request.transactional_id:
        raise InvalidRequest("The transactional id is empty.")
    if request.enable_two_phase and not settings.is_two_phase_enabled:
        raise TransactionalIdAuthorizationFailed("Two-phase commit is not enabled on this broker.")
    if request.keep_prepared and not settings.is_two_phase_enabled:
        raise UnsupportedVersion(
            "Two-phase commit is not enabled on this broker: transactions cannot be kept."
        )
    if not request.enable_two_phase and not 0 < request.timeout_ms <= settings.max_timeout_ms:
        raise InvalidTransactionTimeout(
            f"A timeout of {request.timeout_ms} ms exceeds the limits 1 to {settings.max_timeout_ms}."
        )


def initialised(
    transaction: Transaction | None,
    request: InitProducerId,
    settings: TransactionSettings,
    fresh_id: int,
    now_ms: int,
) -> Transaction:
    """Returns the next transaction: of a new producer, kept by one, or (PrepareAbort) to be aborted first."""
    timeout_ms = NO_TIMEOUT_MS if request.enable_two_phase else request.timeout_ms
    if transaction is None:
        transaction = _unknown(request.transactional_id, timeout_ms, fresh_id, now_ms)
    if transaction.state.is_prepared:
        raise ConcurrentTransactions("The last transaction is not complete yet.")
    is_known = request.producer_id != NO_PRODUCER_ID
    if is_known and not _may_be(transaction, request.producer_id, request.producer_epoch):
        raise ProducerFenced(
            f"Transactional id {request.transactional_id} is not that of producer id {request.producer_id}."
        )
    expected_epoch = request.producer_epoch if is_known else None
    if transaction.state is TransactionState.ONGOING:
        if request.keep_prepared:
            return keep_prepared(transaction, expected_epoch, now_ms, fresh_id)
        if is_known and not _has(transaction, request.producer_id, request.producer_epoch):
            raise ProducerFenced(f"{request.transactional_id} has a transaction of a newer producer.")
        # This epoch is in no response: the client retries, and gets the next one.
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
    """Whether this may be the producer of the transaction. Its epoch is compared when it is bumped."""
    return (
        # Just created: a producer whose id has expired continues with the new one.
        transaction.producer_epoch == NO_PRODUCER_EPOCH
        or producer_id == transaction.client_producer_id
        # Repeated after a response with a new id was lost.
        or (producer_id == transaction.previous_producer_id and is_exhausted(epoch))
    )
