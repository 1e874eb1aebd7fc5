"""Every partition of this broker, found by topic name or topic id. Follows the cluster image."""

import logging
from collections.abc import Callable, Iterator
from uuid import UUID

from barnabas.base.clock import Clock, SystemClock
from barnabas.base.config.log_config import LogConfig
from barnabas.base.errors import KafkaError, UnknownTopicId, UnknownTopicOrPartition
from barnabas.base.ids import TopicPartition
from barnabas.metadata.image import INTERNAL_TOPICS, ClusterImage, TopicImage
from barnabas.replication.flusher import Flusher
from barnabas.replication.hosted_logs import HostedLogs, Schedule
from barnabas.replication.partition import Partition
from barnabas.replication.partition_environment import (
    PartitionEnvironment,
    Propose,
    never_eligible,
    no_controller,
    no_epoch,
    no_fetchers,
)
from barnabas.storage.logs import Logs

logger = logging.getLogger("replication")

_PARTITIONS_PER_STEP = 50
_REPLICA_LAG_TIME_MAX_MS = 30_000


class HostedTopic:
    """The partitions of one topic on this broker, by number."""

    __slots__ = ("is_internal", "name", "partitions", "topic_id")

    def __init__(self, name: str, topic_id: UUID) -> None:
        self.name: str = name
        self.is_internal: bool = name in INTERNAL_TOPICS
        self.topic_id: UUID = topic_id
        self.partitions: dict[int, Partition] = {}


class Partitions:
    def __init__(
        self,
        broker_id: int,
        logs: Logs,
        flusher: Flusher,
        config_of: Callable[[str], LogConfig],
        schedule: Schedule | None = None,
        *,
        clock: Clock | None = None,
        replica_lag_time_max_ms: int = _REPLICA_LAG_TIME_MAX_MS,
        propose: Propose = no_controller,
        is_eligible: Callable[[int, int], bool] = never_eligible,
        epoch_of: Callable[[int], int] = no_epoch,
        on_role: Callable[[TopicPartition], None] = no_fetchers,
    ) -> None:
        self._broker_id: int = broker_id
        self._logs: Logs = logs
        self._config_of: Callable[[str], LogConfig] = config_of
        clock = clock or SystemClock()
        self._hosted_logs: HostedLogs = HostedLogs(logs, config_of, schedule, clock.monotonic)
        self._environment: PartitionEnvironment = PartitionEnvironment(
            broker_id,
            self._hosted_logs,
            flusher,
            clock,
            replica_lag_time_max_ms,
            propose,
            is_eligible,
            epoch_of,
            on_role,
        )
        self._by_name: dict[str, HostedTopic] = {}
        self._by_id: dict[UUID, HostedTopic] = {}
        self.version: int = 0
        """Incremented when a partition is added or removed. A cached partition is valid until then."""

    def __iter__(self) -> Iterator[Partition]:
        for topic in self._by_name.values():
            yield from topic.partitions.values()

    def topic(self, name: str) -> HostedTopic | None:
        return self._by_name.get(name)

    def topic_by_id(self, topic_id: UUID) -> HostedTopic | None:
        return self._by_id.get(topic_id)

    def get(self, name: str, partition: int) -> Partition:
        topic = self._by_name.get(name)
        found = None if topic is None else topic.partitions.get(partition)
        if found is None:
            raise UnknownTopicOrPartition(f"This broker does not host {name}-{partition}")
        return found

    def get_by_id(self, topic_id: UUID, partition: int) -> Partition:
        topic = self._by_id.get(topic_id)
        if topic is None:
            raise UnknownTopicId(f"no topic has the id {topic_id}")
        found = topic.partitions.get(partition)
        if found is None:
            raise UnknownTopicOrPartition(f"This broker does not host {topic.name}-{partition}")
        return found

    # --- following the cluster ----------------------------------------------------------------------

    def follow(self, image: ClusterImage, *, is_new: bool = True) -> None:
        """Bring all partitions in line with `image`.

        With `is_new=False` (broker start) none of them is new.
        """
        for name in list(self._by_name):
            known = image.topics.get(name)
            if known is None or known.topic_id != self._by_name[name].topic_id:
                self.remove_topic(name)
        for topic in image.topics.values():
            self.follow_topic(topic, is_new=is_new)

    def follow_topic(self, topic: TopicImage, *, is_new: bool = True) -> None:
        """Create new partitions. Update leaders, in-sync replicas and epochs of existing ones."""
        for _ in self.follow_in_steps(topic, is_new=is_new):
            pass

    def follow_in_steps(self, topic: TopicImage, *, is_new: bool = True) -> Iterator[None]:
        """Like `follow_topic`, in steps of a few partitions: a topic may have thousands of them."""
        hosted = self._by_name.get(topic.name)
        if hosted is not None and hosted.topic_id != topic.topic_id:
            self.remove_topic(topic.name)
            hosted = None
        self.version += 1
        if hosted is None:
            hosted = HostedTopic(topic.name, topic.topic_id)
            self._by_name[topic.name] = self._by_id[topic.topic_id] = hosted
        for count, (number, image) in enumerate(topic.partitions.items(), 1):
            if count % _PARTITIONS_PER_STEP == 0:
                yield
            if self._broker_id not in image.replicas:
                self._remove(hosted, number)
                continue
            partition = hosted.partitions.get(number)
            if partition is None:
                name = TopicPartition(topic.name, number)
                partition = Partition(name, topic.topic_id, self._environment)
                self._hosted_logs.want(name, topic.topic_id, is_new=is_new)
                hosted.partitions[number] = partition
            partition.follow(image)
        self._hosted_logs.settle()

    def _remove(self, hosted: HostedTopic, number: int) -> None:
        """The partition was reassigned to other brokers: delete its log."""
        partition = hosted.partitions.pop(number, None)
        if partition is not None:
            partition.close()
            self._hosted_logs.drop(partition.topic_partition)

    def resign(self) -> None:
        """The session of this broker has expired: it leads nothing until the cluster decides again."""
        for partition in self:
            partition.resign()

    def check_isr(self) -> Iterator[None]:
        """Propose to remove replicas that are not in sync any more, in steps of a few partitions."""
        for count, partition in enumerate(list(self), 1):
            partition.check_isr()
            if count % _PARTITIONS_PER_STEP == 0:
                yield

    def answer_parked(self) -> None:
        """The broker is stopping: waiting fetches respond with the records that are available."""
        for watcher in dict.fromkeys(each for partition in self for each in partition.waiting_fetches()):
            watcher.give_up()

    def remove_topic(self, name: str) -> None:
        hosted = self._by_name.pop(name, None)
        if hosted is None:
            return
        self._by_id.pop(hosted.topic_id, None)
        self.version += 1
        for partition in hosted.partitions.values():
            partition.close()
            self._hosted_logs.drop(partition.topic_partition)
        self._hosted_logs.settle()

    def set_aside(self, name: TopicPartition) -> None:
        """Rename the log of a partition that is not on this broker any more."""
        try:
            self._logs.set_aside_log(name)
        except KafkaError as error:
            logger.error("Cannot set aside the log of %s: %s", name, error.message)

    def finish_deletions(self) -> None:
        self._hosted_logs.finish_deletions()

    def apply_config(self, topic: str) -> None:
        """The topic's configuration has changed: open logs apply it now, others when they are opened."""
        hosted = self._by_name.get(topic)
        if hosted is None:
            return
        config = self._config_of(topic)
        for partition in hosted.partitions.values():
            log = self._logs.if_open(partition.topic_partition)
            if log is not None:
                log.config = config
