"""The transaction coordinator of this broker: a shard for each partition of `__transaction_state` it leads.

Handlers call `write`, `read` and `read_all` with a function of `TransactionShard`. When the outcome of a
transaction is in the log its markers are written, at once where the partitions are here: then the answer to
EndTxn finds the transaction complete, and the next one need not wait. What a crash left between outcome and
completion is taken up when the shard has been loaded.

The epoch of a coordinator is the leader epoch of its partition: markers of one that has been replaced are
refused.
"""

import logging
from collections.abc import Callable, Sequence

from barnabas.base.clock import Clock
from barnabas.base.config.broker_config import BrokerConfig
from barnabas.base.deferred import Deferred
from barnabas.base.errors import CoordinatorNotAvailable
from barnabas.coordinator.internal_topics import TRANSACTION_STATE
from barnabas.coordinator.markers import GroupOffsets, Markers
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

_RECORD_VERSION = 1


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
            hosted.shard.on_prepared = lambda transaction: self._write_markers(hosted, epoch, transaction)
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

    # --- from an outcome to its completion -----------------------------------------------------------------

    def _write_markers(
        self, hosted: HostedShard[TransactionShard], epoch: int, transaction: Transaction
    ) -> None:
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
