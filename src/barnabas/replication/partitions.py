"""Every partition of this broker, found by topic name or topic id. Follows the cluster's image."""

from collections.abc import Callable, Iterator
from uuid import UUID

from barnabas.base.config.log_config import LogConfig
from barnabas.base.errors import UnknownTopicId, UnknownTopicOrPartition
from barnabas.base.ids import TopicPartition
from barnabas.metadata.image import INTERNAL_TOPICS, ClusterImage, TopicImage
from barnabas.replication.flusher import Flusher
from barnabas.replication.hosted_logs import HostedLogs, Schedule
from barnabas.replication.partition import Partition
from barnabas.storage.logs import Logs

_PARTITIONS_PER_STEP = 50


class HostedTopic:
    """The partitions of one topic that live here, by number."""

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
    ) -> None:
        self._broker_id: int = broker_id
        self._logs: Logs = logs
        self._flusher: Flusher = flusher
        self._config_of: Callable[[str], LogConfig] = config_of
        self._hosted_logs: HostedLogs = HostedLogs(logs, config_of, schedule)
        self._by_name: dict[str, HostedTopic] = {}
        self._by_id: dict[UUID, HostedTopic] = {}
        self.version: int = 0
        """Grows when a partition comes or goes: whoever remembers one compares."""

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
            raise UnknownTopicOrPartition(f"{name}-{partition} is not known here")
        return found

    def get_by_id(self, topic_id: UUID, partition: int) -> Partition:
        topic = self._by_id.get(topic_id)
        if topic is None:
            raise UnknownTopicId(f"no topic has the id {topic_id}")
        found = topic.partitions.get(partition)
        if found is None:
            raise UnknownTopicOrPartition(f"{topic.name}-{partition} is not known here")
        return found

    # --- following the cluster ----------------------------------------------------------------------

    def follow(self, image: ClusterImage, *, is_new: bool = True) -> None:
        """Bring the whole table in line with `image`; at the start, what is in it is not new."""
        for name in list(self._by_name):
            known = image.topics.get(name)
            if known is None or known.topic_id != self._by_name[name].topic_id:
                self.remove_topic(name)
        for topic in image.topics.values():
            self.follow_topic(topic, is_new=is_new)

    def follow_topic(self, topic: TopicImage, *, is_new: bool = True) -> None:
        """Create what is new, update leaders, in-sync replicas and epochs of what is known."""
        for _ in self.follow_in_steps(topic, is_new=is_new):
            pass

    def follow_in_steps(self, topic: TopicImage, *, is_new: bool = True) -> Iterator[None]:
        """The same, with a result every few partitions: a topic may have thousands of them."""
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
                continue
            partition = hosted.partitions.get(number)
            if partition is None:
                name = TopicPartition(topic.name, number)
                partition = Partition(name, topic.topic_id, self._broker_id, self._hosted_logs, self._flusher)
                self._hosted_logs.want(name, topic.topic_id, is_new=is_new)
                hosted.partitions[number] = partition
            partition.follow(image)
        self._hosted_logs.settle()

    def answer_parked(self) -> None:
        """The broker is stopping: fetches that wait for records get what there is."""
        watching = {
            watcher for partition in self for watcher in (*partition.watchers, *partition.stable_watchers)
        }
        for watcher in watching:
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

    def finish_deletions(self) -> None:
        self._hosted_logs.finish_deletions()

    def apply_config(self, topic: str) -> None:
        """The topic's configuration changed: logs that are open take it at once, others when opened."""
        hosted = self._by_name.get(topic)
        if hosted is None:
            return
        config = self._config_of(topic)
        for partition in hosted.partitions.values():
            log = self._logs.if_open(partition.topic_partition)
            if log is not None:
                log.config = config
