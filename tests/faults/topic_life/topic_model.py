"""What the cluster must know: topics by their ids, configurations, and what groups have committed."""

from dataclasses import dataclass, field
from uuid import UUID

from tests.faults.random_life.violation import require
from tests.faults.topic_life.partition_model import PartitionModel

TopicPartition = tuple[str, int]
_FOREVER = 7 * 24 * 3600 * 1000


@dataclass(slots=True)
class TopicModel:
    name: str
    topic_id: UUID
    partitions: list[PartitionModel]
    configs: dict[str, str] = field(default_factory=dict)

    @property
    def is_compacted(self) -> bool:
        return "compact" in self.configs.get("cleanup.policy", "delete")

    @property
    def is_deleting(self) -> bool:
        return "delete" in self.configs.get("cleanup.policy", "delete")

    @property
    def is_flushed(self) -> bool:
        return self.configs.get("flush.messages") == "1"

    @property
    def uses_append_time(self) -> bool:
        return self.configs.get("message.timestamp.type") == "LogAppendTime"

    @property
    def retention_ms(self) -> int:
        return int(self.configs.get("retention.ms", _FOREVER)) if self.is_deleting else -1

    @property
    def retention_bytes(self) -> int:
        return int(self.configs.get("retention.bytes", -1)) if self.is_deleting else -1


@dataclass(slots=True)
class GroupModel:
    name: str
    offsets: dict[TopicPartition, int] = field(default_factory=dict)
    possible: dict[TopicPartition, set[int]] = field(default_factory=dict)
    """Every value since the last moment at which all was on disk; -1 for none."""
    latest: dict[TopicPartition, int] = field(default_factory=dict)
    """When the last commit was made: one of a transaction counts from when it was sent."""
    remnants: dict[TopicPartition, int] = field(default_factory=dict)
    """Of deleted topics, brought back by a loss of power, or not deleted by a coordinator that was out of
    service: nothing deletes them but another commit."""

    revived: set[tuple[TopicPartition, int]] = field(default_factory=set)
    """Everything that may come back as such a remnant: it was committed for a topic that was deleted."""

    def commit(self, topic_partition: TopicPartition, offset: int, at: int) -> None:
        if at < self.latest.get(topic_partition, -1):
            return
        self.latest[topic_partition] = at
        before = {
            self.offsets.get(topic_partition, -1),
            self.remnants.get(topic_partition, self.offsets.get(topic_partition, -1)),
        }
        self.possible.setdefault(topic_partition, before).add(offset)
        if offset >= 0:
            self.remnants.pop(topic_partition, None)
        if offset < 0:
            self.offsets.pop(topic_partition, None)
        else:
            self.offsets[topic_partition] = offset

    def forget_topic(self, topic: str, at: int, *, may_be_off: bool) -> None:
        """`may_be_off`: a coordinator that is out of service does not see it, here as in Apache Kafka."""
        for topic_partition in [each for each in self.offsets if each[0] == topic]:
            offset = self.offsets[topic_partition]
            self.revived |= {
                (topic_partition, each)
                for each in {offset, *self.possible.get(topic_partition, ())}
                if each >= 0
            }
            self.commit(topic_partition, -1, at)
            if may_be_off:
                self.remnants[topic_partition] = offset

    def stopped(self) -> None:
        self.possible.clear()

    def compare(self, found: dict[TopicPartition, int]) -> None:
        found = self._without_remnants(found)
        require(found == self.offsets, f"group {self.name} has committed {found}, expected {self.offsets}")

    def _without_remnants(self, found: dict[TopicPartition, int]) -> dict[TopicPartition, int]:
        return {
            topic_partition: offset
            for topic_partition, offset in found.items()
            if topic_partition in self.offsets or self.remnants.get(topic_partition) != offset
        }

    def compare_after_power_cut(self, found: dict[TopicPartition, int]) -> None:
        for topic_partition in {*found, *self.offsets, *self.possible}:
            allowed = {self.remnants.get(topic_partition, -1)} | self.possible.get(
                topic_partition, {self.offsets.get(topic_partition, -1)}
            )
            require(
                found.get(topic_partition, -1) in allowed,
                f"group {self.name} has committed {found.get(topic_partition, -1)} for {topic_partition}, "
                f"expected one of {allowed}",
            )
        self.revived |= {
            (topic_partition, offset)
            for topic_partition, offset in found.items()
            if topic_partition not in self.offsets
        }
        self.remnants = {
            topic_partition: offset
            for topic_partition, offset in found.items()
            if (topic_partition, offset) in self.revived
        }
        self.offsets = {
            topic_partition: offset
            for topic_partition, offset in found.items()
            if topic_partition not in self.remnants
        }
        self.possible.clear()


@dataclass(slots=True)
class ClusterModel:
    topics: dict[str, TopicModel] = field(default_factory=dict)
    groups: dict[str, GroupModel] = field(default_factory=dict)

    def partitions(self) -> list[PartitionModel]:
        return [partition for topic in self.topics.values() for partition in topic.partitions]

    def stopped(self) -> None:
        for partition in self.partitions():
            if not partition.is_offline:
                partition.stopped()
        for group in self.groups.values():
            group.stopped()
