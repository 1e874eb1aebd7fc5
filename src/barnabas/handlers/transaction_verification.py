"""Verifies the first batch of a transaction in a partition with the transaction coordinator (KIP-890).

A batch whose transaction is open in the partition needs none. Otherwise a client of version 2 (Produce 12
and later) has the partition added to its transaction on the way; an older one has sent AddPartitionsToTxn
itself, and the coordinator verifies that the partition is part of it, unless
`transaction.partition.verification.enable` is off. Every batch takes a guard before it is verified
(`storage.transaction_guards`): a marker that comes before the append voids the verification.

The coordinator of the transaction may be this broker or another one (`transaction.partition_verification`),
so its answer may be there at once or come later. `verifies_at_once` is the short way for a coordinator on
this broker. While the markers of the transaction before are being written the coordinator answers
CONCURRENT_TRANSACTIONS. For clients of version 2 the broker retries, because a retry by the client costs
more. Errors are converted as in Kafka's Produce: a retriable error becomes NOT_ENOUGH_REPLICAS, since old
clients repeat a batch after that one and do not look for another leader.
"""

import asyncio
from collections.abc import Callable, Iterator

from barnabas.base.deferred import Deferred, in_sequence
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
from barnabas.handlers.context import RecordContext
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
_RETRIABLE = frozenset(
    {
        ErrorCode.network_exception,
        ErrorCode.coordinator_load_in_progress,
        ErrorCode.coordinator_not_available,
        ErrorCode.not_coordinator,
    }
)
_RETURNED_UNCHANGED: dict[ErrorCode, type[KafkaError]] = {
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


def verifies_at_once(
    context: RecordContext,
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
    if not partition.is_leader or not context.transaction_host.is_made:
        return False
    producer_id, epoch, partitions = header.producer_id, header.producer_epoch, [partition.topic_partition]
    try:
        producers = partition.log.producers
        guard = producers.begin_verification(header, adds_partition=True, now_ms=context.clock.now_ms())
        added = context.transactions.write(
            transactional_id,
            lambda shard: shard.add_partitions(
                transactional_id, producer_id, epoch, partitions, _CLIENT_VERSION
            ),
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
        self, context: RecordContext, version: int, request: ProduceRequest, hosted: list[HostedTopic | None]
    ) -> None:
        self.refusal: KafkaError | None = None
        """Why nothing of the request is taken."""
        self._context: RecordContext = context
        self._version: int = version
        self._adds: bool = version >= FIRST_THAT_ADDS_PARTITIONS
        self._is_required: bool = context.config.transaction_partition_verification_enable
        self._transactional_id: str = request.transactional_id or ""
        self._batches: list[tuple[TopicPartition, BatchHeader]]
        self._batches = list(_transactional_batches(request, hosted))
        self._guards: dict[TopicPartition, Guard] = {}
        self._errors: dict[TopicPartition, KafkaError] = {}
        self._answer: Deferred[None] = Deferred()
        self._timers: list[asyncio.TimerHandle] = []
        """The next attempt, and the time at which none is left."""
        producers = {(header.producer_id, header.producer_epoch) for _, header in self._batches}
        if request.transactional_id is None:
            self.refusal = TransactionalIdAuthorizationFailed("transactional records without an id")
        elif len(producers) > 1:
            self.refusal = InvalidProducerIdMapping("transactional records of more than one producer")

    # --- verifying ------------------------------------------------------------------------------------------

    def start(self) -> Deferred[None]:
        """Verify the batches that need it. Never fails: `check` has the outcome. May be done at once."""
        if self.refusal is None and (self._adds or self._is_required):
            self._verify().when_done(lambda _: self._finish())
            if not self._answer.is_done:
                self._call_later(self._context.config.request_timeout_ms, self._on_timeout)
        else:
            self._answer.complete(None)
        return self._answer

    def cancel(self) -> None:
        """The request no longer waits: stop the timers."""
        for timer in self._timers:
            timer.cancel()

    @in_sequence
    async def _verify(self) -> None:
        config, clock = self._context.config, self._context.clock
        limit = min(config.add_partitions_to_txn_retry_backoff_max_ms, config.request_timeout_ms)
        retry_until_ms = clock.now_ms() + limit
        self._take_guards()
        while self._guards:
            codes = await self._query_coordinator()
            is_over = self._answer.is_done or clock.now_ms() >= retry_until_ms
            if is_over or not self._adds or ErrorCode.concurrent_transactions not in codes.values():
                self._refuse(codes)
                return
            await self._pause(config.add_partitions_to_txn_retry_backoff_ms)
            self._take_guards()

    def _take_guards(self) -> None:
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

    def _query_coordinator(self) -> Deferred[dict[TopicPartition, ErrorCode]]:
        partitions = list(self._guards)
        if not self._context.transaction_host.is_made:
            return Deferred.of(dict.fromkeys(partitions, ErrorCode.not_coordinator))
        from barnabas.transaction.requests import TransactionPartitions  # loaded with the coordinator

        _, header = self._batches[0]
        return self._context.transactions.verify(
            TransactionPartitions(
                self._transactional_id, header.producer_id, header.producer_epoch, partitions, self._adds
            )
        )

    def _on_timeout(self) -> None:
        if not self._answer.is_done:
            self._refuse(dict.fromkeys(self._guards, ErrorCode.network_exception))
            self._finish()

    def _refuse(self, codes: dict[TopicPartition, ErrorCode]) -> None:
        if self._answer.is_done:
            return  # too late
        for partition, code in codes.items():
            if code is not ErrorCode.none:
                self._errors[partition] = _as_produce(code, self._version)

    def _finish(self) -> None:
        self.cancel()
        if not self._answer.is_done:
            self._answer.complete(None)

    def _pause(self, delay_ms: int) -> Deferred[None]:
        over: Deferred[None] = Deferred()
        self._call_later(delay_ms, lambda: over.complete(None))
        return over

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
    """Those that this broker may append; the others are not verified."""
    for topic, found in zip(request.topics, hosted, strict=True):
        if found is None or found.is_internal:
            continue
        for number, records in topic.partitions:
            partition = found.partitions.get(number)
            header = _transactional_header(records)
            if partition is not None and partition.is_leader and header is not None:
                yield partition.topic_partition, header


def _transactional_header(records: bytes | memoryview | None) -> BatchHeader | None:
    """Returns None also for batches that no append accepts: these are not verified."""
    if records is None or len(records) < HEADER_SIZE or records[MAGIC_OFFSET] != MAGIC_V2:
        return None
    header = BatchHeader(*HEADER.unpack_from(records))
    is_meant = header.attributes & (TRANSACTIONAL_MASK | CONTROL_MASK) == TRANSACTIONAL_MASK
    return header if is_meant and header.has_producer_id and header.size == len(records) else None


def _as_produce(code: ErrorCode, version: int) -> KafkaError:
    """Converts a coordinator's error to one that a producer of this version knows."""
    if code in _RETRIABLE or (
        code is ErrorCode.concurrent_transactions and version < FIRST_THAT_ADDS_PARTITIONS
    ):
        return NotEnoughReplicas(f"The transaction could not be verified: {code.name.upper()}")
    if code is ErrorCode.producer_fenced:
        return InvalidProducerEpoch("The producer is fenced")
    if code is ErrorCode.invalid_txn_state or (
        code is ErrorCode.transaction_abortable and version < FIRST_WITH_ABORTABLE_ERROR
    ):
        return InvalidTxnState("The partition is not part of the transaction")
    kind = _RETURNED_UNCHANGED.get(code, UnknownServerError)
    return kind(f"The coordinator of the transaction answers {code.name.upper()}")
