"""The transaction coordinator of this broker: a shard for each partition of `__transaction_state` it leads.

Handlers call `write`, `read` and `read_all` with a function of `TransactionShard`. When the outcome of a
transaction is in the log EndTxn is answered, as in Kafka. The markers are written when the answers have left
and nobody else waits for this coordinator, a millisecond later at most, and in any case before the next
request about the same transactional id: a producer finds its last transaction complete, unless a marker has
to wait for a disk. What a crash left between outcome and completion is taken up when the shard has been
loaded.

The epoch of a coordinator is the leader epoch of its partition: markers of one that has been replaced are
refused.
"""

import logging
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

from barnabas.base.clock import Clock
from barnabas.base.config.broker_config import BrokerConfig
from barnabas.base.deferred import Deferred
from barnabas.base.errors import CoordinatorNotAvailable
from barnabas.coordinator.internal_topics import TRANSACTION_STATE
from barnabas.coordinator.markers import GroupOffsets, Markers
from barnabas.coordinator.outcome import Outcome
from barnabas.coordinator.record_codec.transaction import encode_transaction_records
from barnabas.coordinator.runtime.alarm import CallLater, CallSoon
from barnabas.coordinator.runtime.coordinator import Coordinator, Load
from barnabas.coordinator.runtime.hosted_shard import RETRY_MS, HostedShard
from barnabas.coordinator.runtime.partition_log import Entry, PartitionLog
from barnabas.coordinator.transactions.environment import (
    TransactionEnvironment,
    TransactionSettings,
    settings_of,
)
from barnabas.coordinator.transactions.shard import TransactionShard
from barnabas.coordinator.transactions.transaction import Transaction
from barnabas.coordinator.transactions.transaction_record import TransactionRecord
from barnabas.metadata.image import ClusterImage
from barnabas.replication.partition import Partition
from barnabas.replication.partitions import Partitions

logger = logging.getLogger("coordinator")

T = TypeVar("T")

_RECORD_VERSION = 1
_LONGEST_WAIT = 0.001
"""Seconds that markers let requests of other transactions go first."""
_NONE_SEEN = -1


class _Decided(NamedTuple):
    """A transaction whose outcome is in the log of a shard that this epoch leads."""

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
        )
        self.markers: Markers = Markers(partitions, groups, clock, call_later, call_soon)
        self._settings: TransactionSettings = settings_of(config)
        self._decided: dict[str, _Decided] = {}
        """By transactional id: what has no markers yet, as answers leave first."""
        self._is_waiting: bool = False
        self._waiting_since: float = 0.0
        self._requests: int = 0
        self._seen: int = _NONE_SEEN
        """How many requests there had been a turn of the loop ago."""
        self._clock: Clock = clock

    def follow(self, image: ClusterImage) -> None:
        """Take over and give up shards; partitions that are gone need no marker any more."""
        self.markers.image = image
        super().follow(image)

    def configure(self, config: BrokerConfig) -> None:
        """The broker's configuration was changed while it runs."""
        self._settings = settings_of(config)
        for hosted in self.hosted():
            hosted.shard.environment.settings = self._settings

    def expire(self) -> Deferred[list[None]]:
        """Forget transactional ids that nobody has used for long."""
        return self.write_all(TransactionShard.expire)

    def stop(self) -> None:
        """What is decided is completed first, so that the next start has less to do."""
        self._write_all_markers()
        super().stop()

    def write(self, key: str, operation: Callable[[TransactionShard], Outcome[T]]) -> Deferred[T]:
        self._on_request(key)
        return super().write(key, operation)

    def read(self, key: str, operation: Callable[[TransactionShard], T]) -> Deferred[T]:
        self._on_request(key)
        return super().read(key, operation)

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
        """Once the loop has had a turn without a request for this coordinator, or enough of them with one."""
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

    def _write_markers(self, decided: "_Decided") -> None:
        hosted, epoch, transaction = decided
        self.markers.write(
            transaction,
            epoch,
            on_done=lambda: self._complete(hosted, transaction),
            is_wanted=lambda: hosted.is_active,
        )

    def _complete(self, hosted: HostedShard[TransactionShard], transaction: Transaction) -> None:
        def complete() -> None:
            hosted.write(
                lambda shard: shard.complete(
                    transaction.transactional_id,
                    transaction.producer_id,
                    transaction.producer_epoch,
                    transaction.is_commit,
                )
            ).when_done(on_done)

        def on_done(done: "Deferred[None]") -> None:
            # Any other error: it is somebody else's now, and whoever loads it writes the markers again.
            if isinstance(done.error, CoordinatorNotAvailable):
                self._call_later(RETRY_MS / 1000, complete)
            elif done.error is not None:
                name, reason = transaction.transactional_id, done.error.message
                logger.warning("%s: that its markers are written cannot be noted: %s", name, reason)

        complete()


def _encode(records: Sequence[TransactionRecord]) -> list[Entry]:
    return encode_transaction_records(records, version=_RECORD_VERSION)
