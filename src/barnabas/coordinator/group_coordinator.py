"""The group coordinator of this broker: a shard for each partition of `__consumer_offsets` that it leads.

Handlers call `write`, `read` and `read_all` with a function of `GroupShard`; the broker tells it of changes
in the cluster and in the configuration, and has it expire offsets now and then.
"""

from dataclasses import dataclass

from barnabas.base.clock import Clock
from barnabas.base.config.broker_config import BrokerConfig
from barnabas.base.deferred import Deferred
from barnabas.coordinator.end_marker import EndMarker
from barnabas.coordinator.environment import ShardEnvironment
from barnabas.coordinator.group_settings import GroupSettings, settings_of
from barnabas.coordinator.internal_topics import CONSUMER_OFFSETS
from barnabas.coordinator.outcome import Outcome
from barnabas.coordinator.record_codec import encode_records
from barnabas.coordinator.runtime.alarm import CallLater, CallSoon
from barnabas.coordinator.runtime.coordinator import Coordinator, Load
from barnabas.coordinator.runtime.partition_log import PartitionLog
from barnabas.coordinator.shard import GroupShard
from barnabas.metadata.image import ClusterImage, TopicImage
from barnabas.replication.partition import Partition
from barnabas.replication.partitions import Partitions


@dataclass(slots=True)
class _Surroundings:
    """What a new shard starts with."""

    settings: GroupSettings
    image: ClusterImage
    compression: int


class GroupCoordinator(Coordinator[GroupShard]):
    def __init__(
        self,
        config: BrokerConfig,
        partitions: Partitions,
        clock: Clock,
        load: Load[GroupShard],
        call_later: CallLater,
        call_soon: CallSoon,
    ) -> None:
        surroundings = _Surroundings(settings_of(config), ClusterImage(), _compression(config))

        def make_shard() -> GroupShard:
            return GroupShard(ShardEnvironment(clock, surroundings.settings, surroundings.image))

        def make_log(partition: Partition) -> PartitionLog:
            return PartitionLog(partition, encode_records, clock, surroundings.compression)

        super().__init__(
            CONSUMER_OFFSETS, config.broker_id, partitions, make_shard, make_log, load, call_later, call_soon
        )
        self._surroundings: _Surroundings = surroundings

    def follow(self, image: ClusterImage) -> None:
        """Take over and give up shards, and tell the others what became of the topics they know."""
        before, self._surroundings.image = self._surroundings.image, image
        super().follow(image)
        deleted = _deleted(before, image)
        for hosted in self.hosted():
            if hosted.shard.environment.image is image:
                continue
            if hosted.is_active:
                hosted.write(lambda shard: shard.on_image(image, deleted))
            else:
                hosted.shard.environment.image = image

    def configure(self, config: BrokerConfig) -> None:
        """The broker's configuration was changed while it runs."""
        settings = settings_of(config)
        self._surroundings.settings = settings
        for hosted in self.hosted():
            hosted.shard.environment.settings = settings

    def end_transaction(
        self,
        partition: int,
        producer_id: int,
        producer_epoch: int,
        coordinator_epoch: int,
        is_commit: bool,
        transaction_version: int,
    ) -> Deferred[None]:
        """Write the marker of a transaction to a partition of `__consumer_offsets`; its offsets count, or go.

        Told when the marker is committed. A marker whose epoch is too old fails with InvalidProducerEpoch,
        one of a replaced coordinator with TransactionCoordinatorFenced; neither is written.
        """
        marker = EndMarker(producer_id, producer_epoch, coordinator_epoch, is_commit, transaction_version)
        hosted = self._hosted.get(partition)
        return self._nobody() if hosted is None else hosted.write(lambda _: Outcome(None, [marker]))

    def expire(self) -> Deferred[list[None]]:
        """Forget offsets that have outlived their retention, and groups that have nothing left."""
        return self.write_all(GroupShard.expire)


def _deleted(before: ClusterImage, image: ClusterImage) -> list[TopicImage]:
    if before.topics is image.topics:
        return []
    now = image.topic_by_id
    return [topic for topic in before.topics.values() if topic.topic_id not in now]


def _compression(config: BrokerConfig) -> int:
    codec = config.get("offsets.topic.compression.codec")
    assert isinstance(codec, int)
    return codec
