"""The coordinator's consent to the first batch of a transaction in a partition (KIP-890).

A batch whose transaction is open in the partition needs none. Otherwise a client of version 2 (Produce 12
and later) has the partition added to its transaction on the way; an older one has sent AddPartitionsToTxn
itself, and the coordinator is asked whether the partition is part of it, unless
`transaction.partition.verification.enable` is off. Every batch that is asked about takes a guard first
(`storage.transaction_guards`): a marker that comes before the append makes the answer worthless.

The coordinator may be another broker: it is asked through `context.transactions`, whose answers may be there
at once or come later. While the markers of the transaction before are being written it answers
CONCURRENT_TRANSACTIONS; for clients of version 2 that is tried again here, as a retry of theirs costs more.
What it says becomes what Kafka's Produce says: NOT_ENOUGH_REPLICAS for what passes by itself, since old
clients repeat a batch after that one and do not look for another leader.
"""

import asyncio
from collections.abc import Callable, Iterator

from barnabas.base.deferred import Deferred
from barnabas.base.errors import (
    ConcurrentTransactions,
    ErrorCode,
    InvalidProducerEpoch,
    InvalidProducerIdMapping,
    InvalidRequest,
    InvalidTxnState,
    KafkaError,
    NotEnoughReplicas,
    TransactionAbortable,
    TransactionalIdAuthorizationFailed,
    TransactionalIdNotFound,
    UnknownServerError,
)
from barnabas.base.ids import TopicPartition
from barnabas.handlers.context import Context
from barnabas.records.batch import (
    CONTROL_MASK,
    HEADER,
    HEADER_SIZE,
    MAGIC_OFFSET,
    MAGIC_V2,
    TRANSACTIONAL_MASK,
    BatchHeader,
)
from barnabas.replication.partition import Partition
from barnabas.replication.partitions import HostedTopic
from barnabas.storage.transaction_guards import Guard
from barnabas.wire.produce import ProduceRequest, TopicRecords

FIRST_WITH_ABORTABLE_ERROR = 11
FIRST_THAT_ADDS_PARTITIONS = 12
_ATTRIBUTES_LOW_BYTE = 22
_CLIENT_VERSION = 2
_PASSING = frozenset(
    {
        ErrorCode.network_exception,
        ErrorCode.coordinator_load_in_progress,
        ErrorCode.coordinator_not_available,
        ErrorCode.not_coordinator,
    }
)
_TOLD_AS_THEY_ARE: dict[ErrorCode, type[KafkaError]] = {
    error.code: error
    for error in (
        ConcurrentTransactions,
        InvalidProducerEpoch,
        InvalidProducerIdMapping,
        InvalidRequest,
        TransactionAbortable,
        TransactionalIdAuthorizationFailed,
        TransactionalIdNotFound,
    )
}


def has_transactional(topics: list[TopicRecords]) -> bool:
    """Whether any batch says that it is part of a transaction."""
    for topic in topics:
        for _, records in topic.partitions:
            if (
                records is not None
                and len(records) > _ATTRIBUTES_LOW_BYTE
                and records[_ATTRIBUTES_LOW_BYTE] & TRANSACTIONAL_MASK
            ):
                return True
    return False


def consents_at_once(
    context: Context,
    version: int,
    transactional_id: str | None,
    partition: Partition,
    records: bytes | memoryview,
) -> bool:
    """Whether the only batch of a request may be appended in this turn of the loop.

    The usual case in short, for a client of version 2 whose coordinator is here. False does not mean no: a
    `Verification` has to find out, from the beginning. Adding a partition twice does no harm.
    """
    header = _transactional_header(records)
    if version < FIRST_THAT_ADDS_PARTITIONS or not transactional_id or header is None:
        return False
    if not partition.is_leader:
        return False
    producer_id, epoch, place = header.producer_id, header.producer_epoch, [partition.topic_partition]
    try:
        producers = partition.log.producers
        guard = producers.begin_verification(header, adds_partition=True, now_ms=context.clock.now_ms())
        added = context.transactions.write(
            transactional_id,
            lambda shard: shard.add_partitions(transactional_id, producer_id, epoch, place, _CLIENT_VERSION),
        )
        if not added.is_done or added.error is not None:
            return False
        is_required = context.config.transaction_partition_verification_enable
        producers.check_verified(header, guard, is_required=is_required)
    except KafkaError:
        return False
    return True


class Verification:
    """The transactional batches of one request: `start`, and when it is done `check` before each append."""

    def __init__(
        self, context: Context, version: int, request: ProduceRequest, hosted: list[HostedTopic | None]
    ) -> None:
        self.refusal: KafkaError | None = None
        """Why nothing of the request is taken."""
        self._context: Context = context
        self._version: int = version
        self._adds: bool = version >= FIRST_THAT_ADDS_PARTITIONS
        self._is_required: bool = context.config.transaction_partition_verification_enable
        self._transactional_id: str = request.transactional_id or ""
        self._batches: list[tuple[TopicPartition, BatchHeader]]
        self._batches = list(_transactional_batches(request, hosted))
        self._guards: dict[TopicPartition, Guard] = {}
        self._errors: dict[TopicPartition, KafkaError] = {}
        self._answer: Deferred[None] = Deferred()
        self._retry_until_ms: int = 0
        self._timers: list[asyncio.TimerHandle] = []
        """The next attempt, and the time at which none is left."""
        producers = {(header.producer_id, header.producer_epoch) for _, header in self._batches}
        if request.transactional_id is None:
            self.refusal = TransactionalIdAuthorizationFailed("transactional records without an id")
        elif len(producers) > 1:
            self.refusal = InvalidProducerIdMapping("transactional records of more than one producer")

    # --- asking ---------------------------------------------------------------------------------------------

    def start(self) -> Deferred[None]:
        """Ask about what has to be asked; never fails, `check` knows the outcome. May be done at once."""
        if self.refusal is None and (self._adds or self._is_required):
            config = self._context.config
            limit = min(config.add_partitions_to_txn_retry_backoff_max_ms, config.request_timeout_ms)
            self._retry_until_ms = self._context.clock.now_ms() + limit
            self._attempt()
            if not self._answer.is_done:
                self._call_later(config.request_timeout_ms, self._on_timeout)
        else:
            self._answer.complete(None)
        return self._answer

    def cancel(self) -> None:
        """Nobody waits any more."""
        for timer in self._timers:
            timer.cancel()

    def _attempt(self) -> None:
        """Take the guards, anew at every attempt: a marker may have taken the last ones away."""
        self._guards, self._errors = {}, {}
        now_ms = self._context.clock.now_ms()
        for partition, header in self._batches:
            try:
                # Looked up at every attempt: the log of a topic deleted meanwhile must not come back.
                producers = self._context.partitions.get(*partition).log.producers
                guard = producers.begin_verification(header, adds_partition=self._adds, now_ms=now_ms)
            except KafkaError as error:
                self._errors[partition] = error
            else:
                if guard is not None:
                    self._guards[partition] = guard
        if self._guards:
            self._ask().when_done(self._on_answer)
        else:
            self._finish()

    def _ask(self) -> Deferred[dict[TopicPartition, ErrorCode]]:
        transactional_id, partitions = self._transactional_id, list(self._guards)
        _, header = self._batches[0]
        producer_id, epoch = header.producer_id, header.producer_epoch
        coordinator = self._context.transactions
        if self._adds:
            added = coordinator.write(
                transactional_id,
                lambda shard: shard.add_partitions(
                    transactional_id, producer_id, epoch, partitions, _CLIENT_VERSION
                ),
            )
            return added.map(lambda _: {}, lambda error: dict.fromkeys(partitions, error.code))
        verified = coordinator.read(
            transactional_id,
            lambda shard: shard.verify_partitions(transactional_id, producer_id, epoch, partitions),
        )
        return verified.map(lambda codes: codes, lambda error: dict.fromkeys(partitions, error.code))

    def _on_answer(self, done: Deferred[dict[TopicPartition, ErrorCode]]) -> None:
        if self._answer.is_done:
            return  # too late
        codes = done.result()
        if (
            self._adds
            and ErrorCode.concurrent_transactions in codes.values()
            and self._context.clock.now_ms() < self._retry_until_ms
        ):
            self._call_later(self._context.config.add_partitions_to_txn_retry_backoff_ms, self._attempt)
            return
        self._refuse(codes)
        self._finish()

    def _on_timeout(self) -> None:
        if not self._answer.is_done:
            self._refuse(dict.fromkeys(self._guards, ErrorCode.network_exception))
            self._finish()

    def _refuse(self, codes: dict[TopicPartition, ErrorCode]) -> None:
        for partition, code in codes.items():
            if code is not ErrorCode.none:
                self._errors[partition] = _as_produce(code, self._version)

    def _finish(self) -> None:
        self.cancel()
        self._answer.complete(None)

    def _call_later(self, delay_ms: int, callback: Callable[[], None]) -> None:
        self._timers.append(asyncio.get_running_loop().call_later(delay_ms / 1000, callback))

    # --- appending ------------------------------------------------------------------------------------------

    def check(self, partition: Partition, records: bytes | memoryview | None) -> None:
        """Raise if these records must not be appended; called in the same turn of the loop as the append."""
        header = _transactional_header(records)
        if header is None or not partition.is_leader:
            return  # of no transaction, or nothing that an append accepts
        error = self._errors.get(partition.topic_partition)
        if error is not None:
            raise error
        if self._adds or self._is_required:
            guard = self._guards.get(partition.topic_partition)
            partition.log.producers.check_verified(header, guard, is_required=self._is_required)


def _transactional_batches(
    request: ProduceRequest, hosted: list[HostedTopic | None]
) -> Iterator[tuple[TopicPartition, BatchHeader]]:
    """Those that this broker may append; about the others nobody is asked."""
    for topic, found in zip(request.topics, hosted, strict=True):
        if found is None or found.is_internal:
            continue
        for number, records in topic.partitions:
            partition = found.partitions.get(number)
            header = _transactional_header(records)
            if partition is not None and partition.is_leader and header is not None:
                yield partition.topic_partition, header


def _transactional_header(records: bytes | memoryview | None) -> BatchHeader | None:
    """None also for what no append accepts: about that nobody need be asked."""
    if records is None or len(records) < HEADER_SIZE or records[MAGIC_OFFSET] != MAGIC_V2:
        return None
    header = BatchHeader(*HEADER.unpack_from(records))
    is_meant = header.attributes & (TRANSACTIONAL_MASK | CONTROL_MASK) == TRANSACTIONAL_MASK
    return header if is_meant and header.has_producer_id and header.size == len(records) else None


def _as_produce(code: ErrorCode, version: int) -> KafkaError:
    """A coordinator's error as a producer of this version understands it."""
    if code in _PASSING or (
        code is ErrorCode.concurrent_transactions and version < FIRST_THAT_ADDS_PARTITIONS
    ):
        return NotEnoughReplicas(f"The transaction could not be verified: {code.name.upper()}")
    if code is ErrorCode.producer_fenced:
        return InvalidProducerEpoch("The producer is fenced")
    if code is ErrorCode.invalid_txn_state or (
        code is ErrorCode.transaction_abortable and version < FIRST_WITH_ABORTABLE_ERROR
    ):
        return InvalidTxnState("The partition is not part of the transaction")
    kind = _TOLD_AS_THEY_ARE.get(code, UnknownServerError)
    return kind(f"The coordinator of the transaction answers {code.name.upper()}")
