"""The part of the transaction coordinator for one partition of `__transaction_state`.

Holds the newest `Transaction` of each transactional id. Operations read it and return records. Only `replay`
changes it. Does no I/O. There are no intermediate states: a transaction is in the state of its last appended
record, so requests that Kafka refuses because a change is pending are refused in Prepare* here.

Markers: `on_prepared` is called for each transaction whose outcome is decided *and committed* in the log,
live and after loading. The code that writes the markers then calls `complete`.
"""

from collections.abc import Callable, Collection

from barnabas.base.deferred import Deferred
from barnabas.base.errors import (
    ConcurrentTransactions,
    ErrorCode,
    InvalidProducerIdMapping,
    InvalidRequest,
    InvalidTxnState,
    KafkaError,
    ProducerFenced,
    TransactionalIdNotFound,
)
from barnabas.base.ids import TopicPartition
from barnabas.runtime.outcome import NOTHING, Outcome, written
from barnabas.runtime.timers import Key, Timers
from barnabas.transaction import transitions
from barnabas.transaction.ending import check_producer, ended
from barnabas.transaction.environment import TransactionEnvironment
from barnabas.transaction.initialisation import check_init, initialised
from barnabas.transaction.listing import Listed, listed
from barnabas.transaction.requests import (
    EndResult,
    InitProducerId,
    InitResult,
    TransactionFilter,
)
from barnabas.transaction.transaction import (
    EPOCH_BUMP_VERSION,
    NO_PRODUCER_ID,
    Transaction,
    TransactionState,
)
from barnabas.transaction.transaction_record import TransactionRecord

RETRY_MS = 500


def _ignore(transaction: Transaction) -> None:
    """Do nothing: no markers are written."""


class TransactionShard:
    def __init__(self, environment: TransactionEnvironment) -> None:
        self.environment: TransactionEnvironment = environment
        self.timers: Timers = environment.timers
        self.on_prepared: Callable[[Transaction], None] = _ignore
        self._transactions: dict[str, Transaction] = {}
        self._is_active: bool = False

    # --- requests of producers -----------------------------------------------------------------------------

    def init_producer_id(self, request: InitProducerId, fresh_id: int) -> Outcome[InitResult]:
        """`fresh_id` is an unused producer id, in case one is needed."""
        check_init(request, self.environment.settings)
        transaction = initialised(
            self._transactions.get(request.transactional_id),
            request,
            self.environment.settings,
            fresh_id,
            self._now_ms(),
        )
        if transaction.state.is_prepared:
            return self._abort_first(transaction)
        result = InitResult(transaction.client_producer_id, transaction.client_epoch)
        if transaction.is_kept:
            result = result._replace(
                ongoing_producer_id=transaction.producer_id, ongoing_epoch=transaction.producer_epoch
            )
        return Outcome(result, [_record(transaction)])

    def _abort_first(self, transaction: Transaction) -> Outcome[InitResult]:
        """Abort the transaction of the previous producer first. The client retries after the abort."""
        answer: Deferred[InitResult] = Deferred()

        def on_written(done: "Deferred[None]") -> None:
            self._on_prepare_written(transaction, done)
            answer.fail(done.error or ConcurrentTransactions("The last transaction is being aborted."))

        return Outcome(answer, [_record(transaction)], written=written(on_written))

    def add_partitions(
        self,
        transactional_id: str,
        producer_id: int,
        producer_epoch: int,
        partitions: Collection[TopicPartition],
        client_version: int,
    ) -> Outcome[None]:
        transaction = self._of_producer(transactional_id)
        if transaction.state.is_prepared:
            # First check: the client may already know a new producer id.
            raise ConcurrentTransactions("The markers of the last transaction are being written.")
        check_producer(transaction, producer_id, producer_epoch)
        if transaction.is_kept:
            raise InvalidTxnState("A kept transaction can only be committed or aborted.")
        if transaction.state is TransactionState.ONGOING and transaction.partitions.issuperset(partitions):
            return NOTHING
        return Outcome(
            None,
            [_record(transitions.add_partitions(transaction, partitions, self._now_ms(), client_version))],
        )

    def verify_partitions(
        self,
        transactional_id: str,
        producer_id: int,
        producer_epoch: int,
        partitions: Collection[TopicPartition],
    ) -> dict[TopicPartition, ErrorCode]:
        """Returns for each partition whether it is part of the producer's ongoing transaction."""
        try:
            transaction = self._of_producer(transactional_id)
            check_producer(transaction, producer_id, producer_epoch)
        except KafkaError as error:
            return dict.fromkeys(partitions, error.code)
        if transaction.state.is_prepared:
            return dict.fromkeys(partitions, ErrorCode.concurrent_transactions)
        if transaction.is_kept:
            return dict.fromkeys(partitions, ErrorCode.invalid_txn_state)
        return {
            partition: ErrorCode.none
            if partition in transaction.partitions
            else ErrorCode.transaction_abortable
            for partition in partitions
        }

    def end(
        self,
        transactional_id: str,
        producer_id: int,
        producer_epoch: int,
        *,
        is_commit: bool,
        client_version: int,
        fresh_id: int,
    ) -> Outcome[EndResult]:
        transaction = self._of_producer(transactional_id)
        after = ended(
            transaction,
            producer_id,
            producer_epoch,
            is_commit=is_commit,
            client_version=client_version,
            fresh_id=fresh_id,
            now_ms=self._now_ms(),
        )
        # For a repeated request too: a completed transaction does not change.
        result = EndResult()
        if client_version >= EPOCH_BUMP_VERSION:
            result = EndResult(*transitions.client_after(after))
        return Outcome(result) if after is transaction else self._prepared(result, after)

    # --- the other half of an end --------------------------------------------------------------------------

    def _prepared(self, response: EndResult | None, transaction: Transaction) -> Outcome[EndResult]:
        return Outcome(
            response or EndResult(),
            [_record(transaction)],
            written=written(lambda done: self._on_prepare_written(transaction, done)),
        )

    def _on_prepare_written(self, transaction: Transaction, done: Deferred[None]) -> None:
        if not self._is_active or not self._is(transaction):
            # Not appended, or the shard is closed: the log has the valid state.
            return
        if done.error is None:
            self.on_prepared(transaction)
            return
        # Appended but not committed: markers must not be written before it is. Write it again.
        self.timers.schedule(
            ("transaction-prepare", transaction.transactional_id),
            RETRY_MS,
            lambda: self._prepared(None, transaction) if self._is(transaction) else None,
        )

    def _is(self, transaction: Transaction) -> bool:
        return self._transactions.get(transaction.transactional_id) == transaction

    def complete(
        self, transactional_id: str, producer_id: int, producer_epoch: int, is_commit: bool
    ) -> Outcome[None]:
        """All markers of a transaction that was prepared with this id and epoch are written."""
        transaction = self._of_producer(transactional_id)
        if transaction.state.is_complete and transaction.is_commit is is_commit:
            # Called twice.
            return NOTHING
        if producer_id != transaction.producer_id:
            raise InvalidProducerIdMapping(
                f"Transactional id {transactional_id} does not belong to producer id {producer_id}."
            )
        if producer_epoch != transaction.producer_epoch:
            raise ProducerFenced(f"The epoch of transactional id {transactional_id} is not {producer_epoch}.")
        if not transaction.state.is_prepared or transaction.is_commit is not is_commit:
            raise InvalidTxnState(f"Transaction {transactional_id} is {transaction.state.label}.")
        return Outcome(None, [_record(transitions.complete(transaction, self._now_ms()))])

    # --- time ----------------------------------------------------------------------------------------------

    def _schedule_timeout(self, transaction: Transaction) -> None:
        delay_ms = transaction.start_ms + transaction.timeout_ms - self._now_ms()
        self._schedule_timeout_in(transaction.transactional_id, max(0, delay_ms))

    def _schedule_timeout_in(self, transactional_id: str, delay_ms: int) -> None:
        # Start and timeout do not change during a transaction, so one deadline is enough.
        self.timers.schedule_if_absent(
            _timeout_key(transactional_id), delay_ms, lambda: self._time_out(transactional_id)
        )

    def _time_out(self, transactional_id: str) -> Outcome[EndResult] | None:
        transaction = self._transactions.get(transactional_id)
        if transaction is None or not _has_timeout(transaction):
            return None
        version = self.environment.settings.transaction_version
        fresh_id = NO_PRODUCER_ID
        if transitions.needs_fresh_id(transaction, version):
            taken = self.environment.take_producer_id()
            if taken is None:
                self._schedule_timeout_in(transactional_id, RETRY_MS)
                return None
            fresh_id = taken
        return self._prepared(
            None, transitions.fence(transaction, version=version, now_ms=self._now_ms(), fresh_id=fresh_id)
        )

    def expire(self) -> Outcome[None]:
        """Remove transactional ids that were not used for `transactional.id.expiration.ms`."""
        latest_ms = self._now_ms() - self.environment.settings.id_expiration_ms
        tombstones = [
            TransactionRecord(None, transaction.transactional_id)
            for transaction in self._transactions.values()
            if transaction.state.can_expire and transaction.update_ms <= latest_ms
        ]
        return Outcome(None, tombstones, is_atomic=False)

    def _now_ms(self) -> int:
        return self.environment.clock.now_ms()

    # --- reads ---------------------------------------------------------------------------------------------

    def describe(self, transactional_id: str) -> Transaction:
        if not transactional_id:
            raise InvalidRequest("The transactional id is empty.")
        transaction = self._transactions.get(transactional_id)
        if transaction is None:
            raise TransactionalIdNotFound(f"Transactional id {transactional_id} does not exist.")
        return transaction

    def list(self, wanted: TransactionFilter) -> Listed:
        """Returns the transactions that pass the filter, and the unknown state names of the filter."""
        return listed(self._transactions.values(), wanted, self._now_ms())

    def __len__(self) -> int:
        return len(self._transactions)

    def _of_producer(self, transactional_id: str) -> Transaction:
        if not transactional_id:
            raise InvalidRequest("The transactional id is empty.")
        transaction = self._transactions.get(transactional_id)
        if transaction is None:
            raise InvalidProducerIdMapping(f"Transactional id {transactional_id} does not exist.")
        return transaction

    # --- replay, loading and unloading ---------------------------------------------------------------------

    def replay(self, record: TransactionRecord) -> None:
        transaction = record.transaction
        if transaction is None:
            self._transactions.pop(record.transactional_id, None)
        else:
            self._transactions[record.transactional_id] = transaction
        if not self._is_active:
            return
        if transaction is not None and _has_timeout(transaction):
            self._schedule_timeout(transaction)
        else:
            self.timers.cancel(_timeout_key(record.transactional_id))

    def on_loaded(self) -> None:
        self._is_active = True
        for transaction in tuple(self._transactions.values()):
            if _has_timeout(transaction):
                self._schedule_timeout(transaction)
            elif transaction.state.is_prepared:
                self.on_prepared(transaction)

    def on_unloaded(self, error: KafkaError) -> None:
        """No requests wait in this shard: those that wait for records are answered by the log."""
        self._is_active = False


def _record(transaction: Transaction) -> TransactionRecord:
    return TransactionRecord(transaction, transaction.transactional_id)


def _has_timeout(transaction: Transaction) -> bool:
    return transaction.state is TransactionState.ONGOING and not transaction.is_two_phase


def _timeout_key(transactional_id: str) -> Key:
    return ("transaction-timeout", transactional_id)
