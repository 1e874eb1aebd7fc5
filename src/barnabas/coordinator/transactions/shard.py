"""The part of the transaction coordinator that lives in one partition of `__transaction_state`.

Holds the newest `Transaction` of each transactional id. Operations look at it and return records; `replay`
alone changes it. Knows no loop and no disk. There is no state between states: a transaction is what its last
appended record says, so requests that Kafka refuses because a change is pending are refused in Prepare* here.

Markers: `on_prepared` is told of each transaction whose outcome is decided *and committed* in the log, live
and after loading; whoever writes them then calls `complete`.
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
from barnabas.coordinator.outcome import NOTHING, Outcome
from barnabas.coordinator.timers import Key, Timers
from barnabas.coordinator.transactions import transitions
from barnabas.coordinator.transactions.ending import check_producer, ended
from barnabas.coordinator.transactions.environment import TransactionEnvironment
from barnabas.coordinator.transactions.initialisation import check_init, initialised
from barnabas.coordinator.transactions.listing import Listed, listed
from barnabas.coordinator.transactions.requests import (
    EndResult,
    InitProducerId,
    InitResult,
    TransactionFilter,
)
from barnabas.coordinator.transactions.transaction import (
    EPOCH_BUMP_VERSION,
    NO_PRODUCER_ID,
    Transaction,
    TransactionState,
)
from barnabas.coordinator.transactions.transaction_record import TransactionRecord

RETRY_MS = 500


def _ignore(transaction: Transaction) -> None:
    """Nobody writes markers."""


class TransactionShard:
    def __init__(self, environment: TransactionEnvironment) -> None:
        self.environment: TransactionEnvironment = environment
        self.timers: Timers = environment.timers
        self.on_prepared: Callable[[Transaction], None] = _ignore
        self._transactions: dict[str, Transaction] = {}
        self._is_active: bool = False

    # --- requests of producers -----------------------------------------------------------------------------

    def init_producer_id(self, asked: InitProducerId, fresh_id: int) -> Outcome[InitResult]:
        """`fresh_id` is an unused producer id, in case one is needed."""
        check_init(asked, self.environment.settings)
        transaction = initialised(
            self._transactions.get(asked.transactional_id),
            asked,
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
        """Somebody else's transaction is in the way: the client is to ask again when it is aborted."""
        answer: Deferred[InitResult] = Deferred()

        def on_written(error: KafkaError | None) -> None:
            self._on_prepare_written(transaction, error)
            answer.fail(error or ConcurrentTransactions("The last transaction is being aborted."))

        return Outcome(answer, [_record(transaction)], on_written=on_written)

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
            # Before anything else: the client may have been told of a new producer id already.
            raise ConcurrentTransactions("The markers of the last transaction are being written.")
        check_producer(transaction, producer_id, producer_epoch)
        if transaction.is_kept:
            raise InvalidTxnState("A transaction that was kept can only be completed.")
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
        """Is each of the partitions part of the producer's ongoing transaction."""
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
        # Of a repeated request too: what is complete changes no more.
        result = EndResult()
        if client_version >= EPOCH_BUMP_VERSION:
            result = EndResult(*transitions.client_after(after))
        return Outcome(result) if after is transaction else self._prepared(result, after)

    # --- the other half of an end --------------------------------------------------------------------------

    def _prepared(self, response: EndResult | None, transaction: Transaction) -> Outcome[EndResult]:
        return Outcome(
            response or EndResult(),
            [_record(transaction)],
            on_written=lambda error: self._on_prepare_written(transaction, error),
        )

    def _on_prepare_written(self, transaction: Transaction, error: KafkaError | None) -> None:
        if not self._is_active or not self._is(transaction):
            # Not even appended, or the shard is gone: what counts is in the log.
            return
        if error is None:
            self.on_prepared(transaction)
            return
        # Appended but not committed, and markers must not be written before it is. Say it once more.
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
        """All markers of a transaction, which was prepared with this id and epoch, are written."""
        transaction = self._of_producer(transactional_id)
        if transaction.state.is_complete and transaction.is_commit is is_commit:
            # Said twice.
            return NOTHING
        if producer_id != transaction.producer_id:
            raise InvalidProducerIdMapping(f"{transactional_id} has another producer than {producer_id}.")
        if producer_epoch != transaction.producer_epoch:
            raise ProducerFenced(f"{transactional_id} has another epoch than {producer_epoch}.")
        if not transaction.state.is_prepared or transaction.is_commit is not is_commit:
            raise InvalidTxnState(f"Transaction {transactional_id} is {transaction.state.label}.")
        return Outcome(None, [_record(transitions.complete(transaction, self._now_ms()))])

    # --- time ----------------------------------------------------------------------------------------------

    def _schedule_timeout(self, transaction: Transaction) -> None:
        delay_ms = transaction.start_ms + transaction.timeout_ms - self._now_ms()
        self._schedule_timeout_in(transaction.transactional_id, max(0, delay_ms))

    def _schedule_timeout_in(self, transactional_id: str, delay_ms: int) -> None:
        # Start and timeout do not change while it is ongoing, so that one deadline will do.
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
        """Forget transactional ids that nobody has used for `transactional.id.expiration.ms`."""
        latest_ms = self._now_ms() - self.environment.settings.id_expiration_ms
        tombstones = [
            TransactionRecord(None, transaction.transactional_id)
            for transaction in self._transactions.values()
            if transaction.state.can_expire and transaction.update_ms <= latest_ms
        ]
        return Outcome(None, tombstones, is_atomic=False)

    def _now_ms(self) -> int:
        return self.environment.clock.now_ms()

    # --- looking -------------------------------------------------------------------------------------------

    def describe(self, transactional_id: str) -> Transaction:
        if not transactional_id:
            raise InvalidRequest("The transactional id is empty.")
        transaction = self._transactions.get(transactional_id)
        if transaction is None:
            raise TransactionalIdNotFound(f"Transactional id {transactional_id} is not known.")
        return transaction

    def list(self, wanted: TransactionFilter) -> Listed:
        """The transactions that pass the filter, and the names of states that are none."""
        return listed(self._transactions.values(), wanted, self._now_ms())

    def __len__(self) -> int:
        return len(self._transactions)

    def _of_producer(self, transactional_id: str) -> Transaction:
        if not transactional_id:
            raise InvalidRequest("The transactional id is empty.")
        transaction = self._transactions.get(transactional_id)
        if transaction is None:
            raise InvalidProducerIdMapping(f"Transactional id {transactional_id} is not known.")
        return transaction

    # --- records, and what happens to the shard ------------------------------------------------------------

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
        """Nobody waits here but for records, and those are answered by the log."""
        self._is_active = False


def _record(transaction: Transaction) -> TransactionRecord:
    return TransactionRecord(transaction, transaction.transactional_id)


def _has_timeout(transaction: Transaction) -> bool:
    return transaction.state is TransactionState.ONGOING and not transaction.is_two_phase


def _timeout_key(transactional_id: str) -> Key:
    return ("transaction-timeout", transactional_id)
