"""Transaction markers: they record the outcome in every partition of a transaction (KIP-98).

The coordinator has them written once the outcome is in its log, and goes on when all of them are committed. A
deleted partition is skipped. A partition that cannot be written now (no leader yet, too few in-sync replicas,
the group coordinator is loading) is retried until it can be written, or until this broker is no longer the
coordinator. A partition with a newer coordinator epoch ends the attempt: another coordinator has decided, as
in Kafka. Markers are idempotent.

A partition with a newer epoch of the producer already has the marker: no later transaction begins before all
markers are written. This happens if a loss of power removed only the end of `__transaction_state`. Apache
Kafka ends the attempt there, and responds with CONCURRENT_TRANSACTIONS to the transactional id from then on.
"""

import logging
from collections.abc import Callable, Sequence
from functools import partial

from barnabas.base.deferred import Deferred, in_sequence
from barnabas.base.errors import ErrorCode, KafkaError
from barnabas.base.ids import TopicPartition
from barnabas.runtime.alarm import CallLater, CallSoon
from barnabas.runtime.end_marker import EndMarker
from barnabas.runtime.pauses import end_of_turn, pause
from barnabas.transaction.marker_writer import MarkerWriter
from barnabas.transaction.transaction import Transaction

logger = logging.getLogger("coordinator")

_FIRST_PAUSE = 0.02
_LONGEST_PAUSE = 1.0
_PARTITIONS_A_TURN = 64


class Markers:
    def __init__(self, writer: MarkerWriter, call_later: CallLater, call_soon: CallSoon) -> None:
        self.writer: MarkerWriter = writer
        self._call_later: CallLater = call_later
        self._call_soon: CallSoon = call_soon
        self._under_way: dict[str, _Writing] = {}

    @in_sequence
    async def write(
        self, transaction: Transaction, coordinator_epoch: int, is_wanted: Callable[[], bool] = lambda: True
    ) -> bool:
        """Write the markers of a transaction whose outcome is decided. True once all are committed.

        Returns False if another coordinator has decided, or if `is_wanted` returns False: then nothing is
        retried.
        """
        marker = EndMarker(
            transaction.producer_id,
            transaction.producer_epoch,
            coordinator_epoch,
            transaction.is_commit,
            transaction.client_version,
        )
        name = transaction.transactional_id
        writing = _Writing(self.writer, name, marker, transaction.partitions, is_wanted)
        self._under_way[name] = writing
        try:
            return await writing.run(self._call_later, self._call_soon)
        finally:
            if self._under_way.get(name) is writing:
                del self._under_way[name]

    def unmarked(self, transaction: Transaction) -> frozenset[TopicPartition]:
        """The partitions without a marker yet. All partitions, unless the markers are being written."""
        writing = self._under_way.get(transaction.transactional_id)
        if writing is None or not transaction.state.is_prepared:
            return transaction.partitions
        return transaction.partitions & writing.waiting


class _Writing:
    """The markers of one transaction, until all of them are written."""

    def __init__(
        self,
        writer: MarkerWriter,
        transactional_id: str,
        marker: EndMarker,
        partitions: frozenset[TopicPartition],
        is_wanted: Callable[[], bool],
    ) -> None:
        self.waiting: set[TopicPartition] = set(partitions)
        self._writer: MarkerWriter = writer
        self._transactional_id: str = transactional_id
        self._marker: EndMarker = marker
        self._is_wanted: Callable[[], bool] = is_wanted
        self._is_fenced: bool = False
        self._to_retry: list[TopicPartition] = []
        self._changed: Deferred[None] = Deferred()
        """Done when all markers are written, or one of them is not."""
        self._pause: float = _FIRST_PAUSE

    async def run(self, call_later: CallLater, call_soon: CallSoon) -> bool:
        partitions: Sequence[TopicPartition] = sorted(self.waiting)
        while self.waiting:
            # Some now and the rest after a turn of the loop: a transaction may span many partitions.
            for start in range(0, len(partitions), _PARTITIONS_A_TURN):
                if start:
                    await end_of_turn(call_soon)
                if self._is_over:
                    return False
                self._write(partitions[start : start + _PARTITIONS_A_TURN])
            if self.waiting:
                await self._changed
            if self._is_fenced:
                return False
            if self.waiting:
                await pause(call_later, self._pause)
                self._pause = min(self._pause * 2, _LONGEST_PAUSE)
                partitions, self._to_retry = self._to_retry, []
                self._changed = Deferred()
        return self._is_wanted()

    @property
    def _is_over(self) -> bool:
        return self._is_fenced or not self._is_wanted()

    def _write(self, topic_partitions: Sequence[TopicPartition]) -> None:
        for topic_partition in topic_partitions:
            if self._writer.exists(topic_partition):
                written = self._writer.write(topic_partition, self._marker)
                written.when_done(partial(self._on_written, topic_partition))
            else:
                logger.info(
                    "Partition %s of transaction %s was deleted and needs no marker",
                    topic_partition,
                    self._transactional_id,
                )
                self._written(topic_partition)

    def _on_written(self, topic_partition: TopicPartition, done: Deferred[None]) -> None:
        error = done.error
        if error is None:
            self._written(topic_partition)
        elif error.code is ErrorCode.invalid_producer_epoch:
            logger.warning(
                "Partition %s has records after transaction %s, so its marker is already written: %s",
                topic_partition,
                self._transactional_id,
                error.message,
            )
            self._written(topic_partition)
        elif error.code is ErrorCode.transaction_coordinator_fenced:
            logger.warning(
                "Partition %s refuses the marker of transaction %s; no more markers are written: %s",
                topic_partition,
                self._transactional_id,
                error.message,
            )
            self._is_fenced = True
            self._wake()
        else:
            self._not_written(topic_partition, error)

    def _written(self, topic_partition: TopicPartition) -> None:
        self.waiting.discard(topic_partition)
        if not self.waiting:
            self._wake()

    def _not_written(self, topic_partition: TopicPartition, error: KafkaError) -> None:
        if self._pause == _FIRST_PAUSE:
            logger.info(
                "Cannot write the marker of transaction %s to %s; it is retried: %s",
                self._transactional_id,
                topic_partition,
                error,
            )
        self._to_retry.append(topic_partition)
        self._wake()

    def _wake(self) -> None:
        if not self._changed.is_done:
            self._changed.complete(None)
