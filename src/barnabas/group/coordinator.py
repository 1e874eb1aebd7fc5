"""The group coordinator of this broker: a shard for each partition of `__consumer_offsets` that it leads.

Handlers call `write`, `read` and `read_all` with a function of `GroupShard`. The broker passes on changes of
the cluster and of the configuration, and has offsets expire periodically.
"""

from collections.abc import Collection
from dataclasses import dataclass
from random import Random, SystemRandom

from barnabas.base.clock import Clock
from barnabas.base.config.broker_config import BrokerConfig
from barnabas.base.deferred import Deferred
from barnabas.group.environment import ShardEnvironment
from barnabas.group.record_codec import encode_records
from barnabas.group.settings import GroupSettings, settings_of
from barnabas.group.shard import GroupShard
from barnabas.metadata.image import ClusterImage, TopicImage
from barnabas.replication.partition import Partition
from barnabas.replication.partitions import Partitions
from barnabas.runtime.alarm import CallLater, CallSoon
from barnabas.runtime.coordinator import Coordinator, Load
from barnabas.runtime.end_marker import EndMarker
from barnabas.runtime.internal_topics import CONSUMER_OFFSETS
from barnabas.runtime.outcome import Outcome
from barnabas.runtime.partition_log import PartitionLog


@dataclass(slots=True)
class _Surroundings:
    """The initial environment of a new shard."""

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
        rng: Random | None = None,
    ) -> None:
        rng = rng or SystemRandom()
        surroundings = _Surroundings(settings_of(config), ClusterImage(), _compression(config))

        def make_shard() -> GroupShard:
            return GroupShard(ShardEnvironment(clock, surroundings.settings, surroundings.image, rng))

        def make_log(partition: Partition) -> PartitionLog:
            return PartitionLog(partition, encode_records, clock, surroundings.compression)

        super().__init__(
            CONSUMER_OFFSETS,
            config.broker_id,
            partitions,
            make_shard,
            make_log,
            load,
            call_later,
            call_soon,
            commit_timeout_ms=_number(config, "offsets.commit.timeout.ms"),
        )
        self._surroundings: _Surroundings = surroundings

    def follow(self, image: ClusterImage, changed: Collection[str] = ()) -> None:
        """Take over and give up shards, and pass the changed topics to the other shards.

        Only the changed topics are looked at: a cluster may have thousands, and a broker many shards.
        """
        before, self._surroundings.image = self._surroundings.image, image
        super().follow(image, changed)
        deleted = _deleted(before, image, changed)
        for hosted in self.hosted():
            if hosted.shard.environment.image is image:
                continue
            if hosted.is_active:
                hosted.write(lambda shard: shard.on_image(image, changed, deleted))
            else:
                hosted.shard.environment.image = image

    def configure(self, config: BrokerConfig) -> None:
        """Apply a change of the broker's configuration."""
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
        """Write a transaction marker to a partition of `__consumer_offsets`.

        Its offsets are committed or dropped.

        Completes when the marker is committed. A marker whose epoch is too old fails with
        InvalidProducerEpoch, one of a replaced coordinator with TransactionCoordinatorFenced. Neither is
        written.
        """
        marker = EndMarker(producer_id, producer_epoch, coordinator_epoch, is_commit, transaction_version)
        hosted = self._hosted.get(partition)
        return self._no_shard() if hosted is None else hosted.write(lambda _: Outcome(None, [marker]))

    def expire(self) -> Deferred[list[None]]:
        """Remove offsets past their retention, and groups without members and offsets."""
        return self.write_all(GroupShard.expire)


def _deleted(before: ClusterImage, image: ClusterImage, changed: Collection[str]) -> list[TopicImage]:
    known = (before.topics.get(name) for name in changed)
    return [topic for topic in known if topic is not None and topic.topic_id not in image.topic_by_id]


def _compression(config: BrokerConfig) -> int:
    return _number(config, "offsets.topic.compression.codec")


def _number(config: BrokerConfig, key: str) -> int:
    value = config.get(key)
    assert isinstance(value, int)
    return value
