"""State transitions of a transaction: pure functions that return the next `Transaction`.

The caller has checked the producer, and that the request is valid in the state. A transition that is not in
the table is a bug, and raises an error. Each transition is one record of the log.

    Empty           -> Empty, Ongoing, PrepareAbort (version 2: abort of a transaction without partitions)
    Ongoing         -> Ongoing, PrepareCommit, PrepareAbort
    Prepare*        -> Complete* of the same outcome
    Complete*       -> Empty, Ongoing, PrepareAbort (as from Empty)
"""

from collections.abc import Collection

from barnabas.base.errors import ProducerFenced, UnknownServerError
from barnabas.base.ids import TopicPartition
from barnabas.transaction.transaction import (
    EPOCH_BUMP_VERSION,
    MAX_EPOCH,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_TIMESTAMP,
    Transaction,
    TransactionState,
    is_exhausted,
)

_NO_PARTITIONS: frozenset[TopicPartition] = frozenset()
_BETWEEN = frozenset({TransactionState.EMPTY, TransactionState.ONGOING, TransactionState.PREPARE_ABORT})
_NEXT: dict[TransactionState, frozenset[TransactionState]] = {
    TransactionState.EMPTY: _BETWEEN,
    TransactionState.ONGOING: frozenset(
        {TransactionState.ONGOING, TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT}
    ),
    TransactionState.PREPARE_COMMIT: frozenset({TransactionState.COMPLETE_COMMIT}),
    TransactionState.PREPARE_ABORT: frozenset({TransactionState.COMPLETE_ABORT}),
    TransactionState.COMPLETE_COMMIT: _BETWEEN,
    TransactionState.COMPLETE_ABORT: _BETWEEN,
}


def can_follow(before: TransactionState, after: TransactionState) -> bool:
    return after in _NEXT.get(before, ())


def _moved(
    transaction: Transaction,
    state: TransactionState,
    now_ms: int,
    *,
    partitions: frozenset[TopicPartition] | None = None,
    producer_id: int | None = None,
    producer_epoch: int | None = None,
    timeout_ms: int | None = None,
    previous_producer_id: int | None = None,
    next_producer_id: int | None = None,
    next_producer_epoch: int | None = None,
    last_producer_epoch: int | None = None,
    start_ms: int | None = None,
    client_version: int | None = None,
) -> Transaction:
    """Returns the transaction in another state. None leaves a field unchanged.

    All fields are written out, because this runs for every change of every transaction.
    """
    before = transaction
    if not can_follow(before.state, state):
        raise UnknownServerError(
            f"Transaction {before.transactional_id} cannot go from {before.state.label} to {state.label}."
        )
    return Transaction(
        transactional_id=before.transactional_id,
        producer_id=before.producer_id if producer_id is None else producer_id,
        producer_epoch=before.producer_epoch if producer_epoch is None else producer_epoch,
        timeout_ms=before.timeout_ms if timeout_ms is None else timeout_ms,
        state=state,
        partitions=before.partitions if partitions is None else partitions,
        previous_producer_id=(
            before.client_producer_id if previous_producer_id is None else previous_producer_id
        ),
        next_producer_id=before.next_producer_id if next_producer_id is None else next_producer_id,
        next_producer_epoch=(
            before.next_producer_epoch if next_producer_epoch is None else next_producer_epoch
        ),
        last_producer_epoch=(
            before.last_producer_epoch if last_producer_epoch is None else last_producer_epoch
        ),
        start_ms=before.start_ms if start_ms is None else start_ms,
        update_ms=now_ms,
        client_version=before.client_version if client_version is None else client_version,
    )


# --- a producer begins ------------------------------------------------------------------------------------


def bump_epoch(
    transaction: Transaction, expected_epoch: int | None, timeout_ms: int, now_ms: int
) -> Transaction:
    epoch, last_epoch = _bumped(transaction, expected_epoch)
    return _begun(transaction, timeout_ms, now_ms, producer_epoch=epoch, last_producer_epoch=last_epoch)


def rotate_producer_id(
    transaction: Transaction, expected_epoch: int | None, timeout_ms: int, now_ms: int, fresh_id: int
) -> Transaction:
    """The epochs of the producer id are exhausted: continue with a new id."""
    last_epoch = NO_PRODUCER_EPOCH if expected_epoch is None else transaction.producer_epoch
    return _begun(
        transaction,
        timeout_ms,
        now_ms,
        producer_id=fresh_id,
        producer_epoch=0,
        last_producer_epoch=last_epoch,
    )


def _begun(
    transaction: Transaction,
    timeout_ms: int,
    now_ms: int,
    *,
    producer_epoch: int,
    last_producer_epoch: int,
    producer_id: int | None = None,
) -> Transaction:
    return _moved(
        transaction,
        TransactionState.EMPTY,
        now_ms,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        last_producer_epoch=last_producer_epoch,
        timeout_ms=timeout_ms,
        partitions=_NO_PARTITIONS,
        start_ms=NO_TIMESTAMP,
    )


def keep_prepared(
    transaction: Transaction, expected_epoch: int | None, now_ms: int, fresh_id: int
) -> Transaction:
    """Keep an ongoing transaction. Only the producer that begins now may complete it (KIP-939).

    Its timeout is kept too: the timeout of the request applies to later transactions.
    """
    is_current = expected_epoch is None or expected_epoch == transaction.client_epoch
    if is_exhausted(transaction.client_epoch) and is_current:
        producer_id, epoch = fresh_id, 0
        last_epoch = NO_PRODUCER_EPOCH if expected_epoch is None else transaction.client_epoch
    else:
        producer_id = transaction.client_producer_id
        epoch, last_epoch = _bumped(transaction, expected_epoch)
    return _moved(
        transaction,
        TransactionState.ONGOING,
        now_ms,
        next_producer_id=producer_id,
        next_producer_epoch=epoch,
        last_producer_epoch=last_epoch,
    )


def _bumped(transaction: Transaction, expected_epoch: int | None) -> tuple[int, int]:
    """The next epoch and the one before it, for a producer that may send its current epoch (KIP-360)."""
    epoch = transaction.client_epoch
    if expected_epoch is None:
        # A new producer: no other producer may take this response for a repeated one.
        return epoch + 1, NO_PRODUCER_EPOCH
    if epoch in (NO_PRODUCER_EPOCH, expected_epoch):
        return epoch + 1, epoch
    if expected_epoch == transaction.last_producer_epoch:
        # Repeated after the response was lost.
        return epoch, transaction.last_producer_epoch
    raise ProducerFenced(
        f"Epoch {expected_epoch} of {transaction.transactional_id} is neither the current epoch {epoch} "
        f"nor the previous epoch {transaction.last_producer_epoch}."
    )


# --- a transaction -----------------------------------------------------------------------------------------


def add_partitions(
    transaction: Transaction, partitions: Collection[TopicPartition], now_ms: int, client_version: int
) -> Transaction:
    is_ongoing = transaction.state is TransactionState.ONGOING
    return _moved(
        transaction,
        TransactionState.ONGOING,
        now_ms,
        partitions=transaction.partitions.union(partitions),
        start_ms=transaction.start_ms if is_ongoing else now_ms,
        client_version=client_version,
    )


def needs_fresh_id(transaction: Transaction, version: int) -> bool:
    """Whether ending the transaction, in that transaction version, uses a new producer id."""
    bumps = version >= EPOCH_BUMP_VERSION or transaction.is_kept
    return bumps and is_exhausted(transaction.client_epoch)


def prepare_end(
    transaction: Transaction, *, is_commit: bool, version: int, now_ms: int, fresh_id: int
) -> Transaction:
    """Decide the outcome. From version 2 on the epoch is bumped: the markers carry the new one."""
    state = TransactionState.PREPARE_COMMIT if is_commit else TransactionState.PREPARE_ABORT
    # An abort without partitions never had a start time.
    is_ongoing = transaction.state is TransactionState.ONGOING
    start_ms = transaction.start_ms if is_ongoing else now_ms
    if version < EPOCH_BUMP_VERSION:
        # The producer that wrote a kept transaction does not end it: the marker fences that producer.
        epoch = min(transaction.producer_epoch + transaction.is_kept, MAX_EPOCH)
        return _moved(transaction, state, now_ms, producer_epoch=epoch, start_ms=start_ms, client_version=0)
    next_id, next_epoch = _next_identity(transaction, version, fresh_id)
    return _moved(
        transaction,
        state,
        now_ms,
        producer_epoch=min(transaction.producer_epoch + 1, MAX_EPOCH),
        last_producer_epoch=transaction.client_epoch,
        next_producer_id=next_id,
        next_producer_epoch=next_epoch,
        start_ms=start_ms,
        client_version=version,
    )


def fence(transaction: Transaction, *, version: int, now_ms: int, fresh_id: int) -> Transaction:
    """The coordinator aborts an ongoing transaction. Its producer cannot continue with this epoch."""
    if version >= EPOCH_BUMP_VERSION:
        return prepare_end(transaction, is_commit=False, version=version, now_ms=now_ms, fresh_id=fresh_id)
    next_id, next_epoch = _next_identity(transaction, version, fresh_id)
    return _moved(
        transaction,
        TransactionState.PREPARE_ABORT,
        now_ms,
        producer_epoch=min(transaction.producer_epoch + 1, MAX_EPOCH),
        last_producer_epoch=NO_PRODUCER_EPOCH,
        next_producer_id=next_id,
        next_producer_epoch=next_epoch,
        client_version=0,
    )


def _next_identity(transaction: Transaction, version: int, fresh_id: int) -> tuple[int, int]:
    """The producer id and epoch after the transaction, if they differ from those of the transaction.

    A kept transaction bumps the client's epoch once more. Otherwise a delayed EndTxn of the same producer
    could end its next transaction.
    """
    if needs_fresh_id(transaction, version):
        return fresh_id, 0 if transaction.is_kept else NO_PRODUCER_EPOCH
    if transaction.is_kept:
        return transaction.client_producer_id, transaction.client_epoch + 1
    return NO_PRODUCER_ID, NO_PRODUCER_EPOCH


def client_after(transaction: Transaction) -> tuple[int, int]:
    """The client's producer id and epoch once a prepared transaction is complete."""
    if transaction.is_kept:
        return transaction.client_producer_id, transaction.client_epoch
    if transaction.next_producer_id != NO_PRODUCER_ID and transaction.client_version >= EPOCH_BUMP_VERSION:
        return transaction.next_producer_id, 0
    return transaction.producer_id, transaction.producer_epoch


def complete(transaction: Transaction, now_ms: int) -> Transaction:
    """All markers are written."""
    is_commit = transaction.state is TransactionState.PREPARE_COMMIT
    producer_id, epoch = client_after(transaction)
    return _moved(
        transaction,
        TransactionState.COMPLETE_COMMIT if is_commit else TransactionState.COMPLETE_ABORT,
        now_ms,
        producer_id=producer_id,
        producer_epoch=epoch,
        # Of a kept transaction: the client's identity when it requested the end, as it may repeat the
        # request.
        previous_producer_id=(
            transaction.previous_producer_id if transaction.is_kept else transaction.producer_id
        ),
        next_producer_id=NO_PRODUCER_ID,
        next_producer_epoch=NO_PRODUCER_EPOCH,
        partitions=_NO_PARTITIONS,
    )
