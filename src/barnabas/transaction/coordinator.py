"""The transaction coordinator of this broker: a shard for each partition of `__transaction_state` it leads.

Handlers call `write`, `read` and `read_all` with a function of `TransactionShard`. EndTxn gets its response
when the outcome of the transaction is in the log, as in Kafka. The markers are written after the responses
are sent, when no other request waits for this coordinator, at most a millisecond later. In any case they are
written before the next request with the same transactional id: a producer finds its last transaction
complete, unless a marker has to wait for a disk. Transactions that a crash left between outcome and
completion are completed after the shard is loaded.

The epoch of a coordinator is the leader epoch of its partition: markers of a replaced coordinator are fenced.
"""

import logging
from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple, TypeVar

from barnabas.base.clock import Clock
from barnabas.base.config.broker_config import BrokerConfig
from barnabas.base.deferred import Deferred, in_sequence
from barnabas.base.errors import CoordinatorNotAvailable, KafkaError
from barnabas.base.ids import TopicPartition
from barnabas.metadata.image import ClusterImage
from barnabas.replication.partition import Partition
from barnabas.replication.partitions import Partitions
from barnabas.runtime.alarm import CallLater, CallSoon
from barnabas.runtime.coordinator import Coordinator, Load
from barnabas.runtime.end_marker import EndMarker
from barnabas.runtime.hosted_shard import RETRY_MS, HostedShard
from barnabas.runtime.internal_topics import TRANSACTION_STATE
from barnabas.runtime.outcome import Outcome
from barnabas.runtime.partition_log import Entry, PartitionLog
from barnabas.runtime.pauses import pause
from barnabas.transaction.environment import (
    TransactionEnvironment,
    TransactionSettings,
    settings_of,
)
from barnabas.transaction.marker_writer import GroupOffsets, LocalMarkerWriter, MarkerWriter
from barnabas.transaction.markers import Markers
from barnabas.transaction.partition_verification import PartitionVerification
from barnabas.transaction.peers import Codes, Peers
from barnabas.transaction.record_codec import encode_transaction_records
from barnabas.transaction.requests import TransactionPartitions
from barnabas.transaction.shard import TransactionShard
from barnabas.transaction.transaction import Transaction
from barnabas.transaction.transaction_record import TransactionRecord

logger = logging.getLogger("coordinator")

T = TypeVar("T")

_RECORD_VERSION = 1
_LONGEST_WAIT = 0.001
"""How long, in seconds, requests of other transactions go before markers."""
_NONE_SEEN = -1


class _Decided(NamedTuple):
    """A transaction whose outcome is in the log of a shard that this broker leads in this epoch."""

    hosted: HostedShard[TransactionShard]
    epoch: int
    transaction: Transaction


class TransactionCoordinator(Coordinator[TransactionShard]):
    def __init__(
        self,
        config: BrokerConfig,
        partitions: Partitions,
        clock: Clock,
        load: Load[TransactionShard],
        call_later: CallLater,
        call_soon: CallSoon,
        groups: Callable[[], GroupOffsets],
        take_producer_id: Callable[[], int | None],
        peers: Peers | None = None,
    ) -> None:
        def make_shard() -> TransactionShard:
            environment = TransactionEnvironment(clock, self._settings)
            environment.take_producer_id = take_producer_id
            return TransactionShard(environment)

        def make_log(partition: Partition) -> PartitionLog:
            return PartitionLog(partition, _encode, clock)

        def load_and_listen(hosted: HostedShard[TransactionShard], partition: Partition) -> None:
            epoch = partition.leader_epoch
            hosted.shard.on_prepared = lambda transaction: self._write_markers_soon(
                _Decided(hosted, epoch, transaction)
            )
            load(hosted, partition)

        super().__init__(
            TRANSACTION_STATE,
            config.broker_id,
            partitions,
            make_shard,
            make_log,
            load_and_listen,
            call_later,
            call_soon,
            commit_timeout_ms=config.request_timeout_ms,
        )
        local = LocalMarkerWriter(partitions, groups, clock)
        self._writer: MarkerWriter = MarkerWriter(config.broker_id, local, peers)
        self.markers: Markers = Markers(self._writer, call_later, call_soon)
        self._verification: PartitionVerification = PartitionVerification(config.broker_id, self, peers)
        self._settings: TransactionSettings = settings_of(config)
        self._decided: dict[str, _Decided] = {}
        """By transactional id: transactions whose markers are written after the responses are sent."""
        self._is_waiting: bool = False
        self._waiting_since: float = 0.0
        self._requests: int = 0
        self._seen: int = _NONE_SEEN
        """The number of requests one turn of the loop ago."""
        self._clock: Clock = clock

    def follow(self, image: ClusterImage, changed: Collection[str] = ()) -> None:
        """Take over and give up shards. Deleted partitions need no marker any more."""
        self._writer.image = self._verification.image = image
        super().follow(image, changed)

    def configure(self, config: BrokerConfig) -> None:
        """Apply a change of the broker's configuration."""
        self._settings = settings_of(config)
        for hosted in self.hosted():
            hosted.shard.environment.settings = self._settings

    def expire(self) -> Deferred[list[None]]:
        """Remove expired transactional ids (`transactional.id.expiration.ms`)."""
        return self.write_all(TransactionShard.expire)

    def stop(self) -> None:
        """Write the markers of decided transactions first, so that the next start has less to do."""
        self._write_all_markers()
        super().stop()

    def write(self, key: str, operation: Callable[[TransactionShard], Outcome[T]]) -> Deferred[T]:
        self._on_request(key)
        return super().write(key, operation)

    def read(self, key: str, operation: Callable[[TransactionShard], T]) -> Deferred[T]:
        self._on_request(key)
        return super().read(key, operation)

    def write_marker(self, partition: TopicPartition, marker: EndMarker) -> Deferred[None]:
        """Write a marker of any coordinator to a partition that this broker leads (WriteTxnMarkers)."""
        return self._writer.local.write(partition, marker)

    def verify(self, requested: TransactionPartitions) -> Deferred[Codes]:
        """Add or verify partitions of a transaction, whichever broker coordinates it."""
        return self._verification.verify(requested)

    # --- from an outcome to its completion -----------------------------------------------------------------

    def _on_request(self, transactional_id: str) -> None:
        self._requests += 1
        if transactional_id in self._decided:
            self._write_markers(self._decided.pop(transactional_id))

    def _write_markers_soon(self, decided: _Decided) -> None:
        self._decided[decided.transaction.transactional_id] = decided
        if not self._is_waiting:
            self._is_waiting = True
            self._waiting_since = self._clock.monotonic()
            self._seen = _NONE_SEEN
            self._call_soon(self._maybe_write_markers)

    def _maybe_write_markers(self) -> None:
        """Write the markers after a turn of the loop without a request, or after enough busy turns."""
        waited = self._clock.monotonic() - self._waiting_since
        if self._requests != self._seen and waited < _LONGEST_WAIT and self._decided:
            self._seen = self._requests
            self._call_soon(self._maybe_write_markers)
            return
        self._is_waiting = False
        self._write_all_markers()

    def _write_all_markers(self) -> None:
        while self._decided:
            self._write_markers(self._decided.pop(next(iter(self._decided))))

    @in_sequence
    async def _write_markers(self, decided: "_Decided") -> None:
        """From the outcome in the log to its completion: the markers, and then the record of it."""
        hosted, epoch, transaction = decided
        if not await self.markers.write(transaction, epoch, is_wanted=lambda: hosted.is_active):
            return
        while True:
            try:
                await hosted.write(
                    lambda shard: shard.complete(
                        transaction.transactional_id,
                        transaction.producer_id,
                        transaction.producer_epoch,
                        transaction.is_commit,
                    )
                )
            except CoordinatorNotAvailable:
                await pause(self._call_later, RETRY_MS / 1000)
            except KafkaError as error:
                # Another coordinator owns the transaction, and writes the markers after loading.
                name, reason = transaction.transactional_id, error.message
                logger.warning("Cannot record the completion of transaction %s: %s", name, reason)
                return
            else:
                return


def _encode(records: Sequence[TransactionRecord]) -> list[Entry]:
    return encode_transaction_records(records, version=_RECORD_VERSION)
