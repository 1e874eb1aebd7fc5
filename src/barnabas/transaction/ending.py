"""How EndTxn changes a transaction: requests that end it, repeated requests, and refused requests.

The order of checks and the errors are Kafka's. Up to version 1 a repeated request is recognised by the state
alone. From version 2 (KIP-890) each end bumps the epoch. A repeated request has the epoch before the current
one (or the last one of the previous producer id). A request with the current epoch is for a new transaction.
That transaction may have no partitions yet: its abort is granted, as the client cannot know. An end in an
older version bumps nothing: the epoch before is then that of a fenced producer. Kafka takes its request for a
repeated one.

    Empty, commit or any other wrong outcome   INVALID_TXN_STATE
    Prepare*                                   CONCURRENT_TRANSACTIONS: markers are being written
"""

from barnabas.base.errors import (
    ConcurrentTransactions,
    InvalidProducerIdMapping,
    InvalidTxnState,
    ProducerFenced,
)
from barnabas.transaction.transaction import (
    EPOCH_BUMP_VERSION,
    MAX_EPOCH,
    Transaction,
    TransactionState,
)
from barnabas.transaction.transitions import prepare_end


def ended(
    transaction: Transaction,
    producer_id: int,
    epoch: int,
    *,
    is_commit: bool,
    client_version: int,
    fresh_id: int,
    now_ms: int,
) -> Transaction:
    """Returns the transaction with its outcome decided, or unchanged if the request is a repeated one."""
    is_repeated = (
        _is_repeated(transaction, producer_id, epoch, is_commit)
        if client_version >= EPOCH_BUMP_VERSION
        else _is_repeated_before_2(transaction, producer_id, epoch, is_commit)
    )
    if is_repeated:
        return transaction
    return prepare_end(
        transaction, is_commit=is_commit, version=client_version, now_ms=now_ms, fresh_id=fresh_id
    )


def _is_repeated_before_2(transaction: Transaction, producer_id: int, epoch: int, is_commit: bool) -> bool:
    check_producer(transaction, producer_id, epoch)
    if transaction.state.is_prepared:
        raise _concurrent()
    if transaction.state is TransactionState.ONGOING:
        return False
    if not transaction.state.is_complete or transaction.is_commit is not is_commit:
        raise _invalid(transaction, is_commit)
    return True


def _is_repeated(transaction: Transaction, producer_id: int, epoch: int, is_commit: bool) -> bool:
    if transaction.state.is_prepared:
        # First check: the client may already know a new producer id that takes effect with completion.
        raise _concurrent()
    is_bumped = transaction.client_version >= EPOCH_BUMP_VERSION
    is_over_ids = (
        is_bumped
        and producer_id == transaction.previous_producer_id
        and epoch == MAX_EPOCH - 1
        and transaction.client_epoch == 0
    )
    if not is_over_ids:
        _check_id(transaction, producer_id)
    is_before = is_over_ids or (is_bumped and transaction.client_epoch == epoch + 1)
    if not (is_before and transaction.state.is_complete):
        _check_epoch(transaction, producer_id, epoch)
        if is_commit and transaction.state is not TransactionState.ONGOING:
            raise _invalid(transaction, is_commit)
        return False
    if transaction.is_commit is not is_commit:
        raise _invalid(transaction, is_commit)
    return True


def check_producer(transaction: Transaction, producer_id: int, epoch: int) -> None:
    _check_id(transaction, producer_id)
    _check_epoch(transaction, producer_id, epoch)


def _check_id(transaction: Transaction, producer_id: int) -> None:
    if producer_id != transaction.client_producer_id:
        raise InvalidProducerIdMapping(
            f"Transactional id {transaction.transactional_id} does not belong to producer id {producer_id}."
        )


def _check_epoch(transaction: Transaction, producer_id: int, epoch: int) -> None:
    if epoch != transaction.client_epoch:
        raise ProducerFenced(
            f"Producer {producer_id} of {transaction.transactional_id} has epoch {epoch}, "
            f"but the current epoch is {transaction.client_epoch}."
        )


def _concurrent() -> ConcurrentTransactions:
    return ConcurrentTransactions("The markers of the last transaction are being written.")


def _invalid(transaction: Transaction, is_commit: bool) -> InvalidTxnState:
    outcome = "committed" if is_commit else "aborted"
    return InvalidTxnState(
        f"Transaction {transaction.transactional_id} cannot be {outcome}, it is {transaction.state.label}."
    )
