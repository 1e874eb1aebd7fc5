"""The committed offsets of one shard: group -> topic -> partition -> offset.

Holds hundreds of thousands of offsets in little memory: the name and id of a topic are one object for all
groups. No level is ever empty. Changed by `OffsetStore` alone.
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from uuid import UUID

from barnabas.base.ids import ZERO_UUID
from barnabas.group.records import CommittedOffset

TopicOffsets = Mapping[str, Mapping[int, CommittedOffset]]
"""The committed offsets of one group: topic -> partition -> offset."""

_NONE: TopicOffsets = MappingProxyType({})


class CommittedOffsets:
    def __init__(self) -> None:
        self._groups: dict[str, dict[str, dict[int, CommittedOffset]]] = {}
        self._topic_ids: dict[str, UUID] = {}
        self._count: int = 0

    def __len__(self) -> int:
        return self._count

    def __contains__(self, group_id: str) -> bool:
        return group_id in self._groups

    def __iter__(self) -> Iterator[str]:
        """The groups that have offsets."""
        return iter(self._groups)

    def of_group(self, group_id: str) -> TopicOffsets:
        return self._groups.get(group_id, _NONE)

    def get(self, group_id: str, topic: str, partition: int) -> CommittedOffset | None:
        topics = self._groups.get(group_id)
        if topics is None:
            return None
        partitions = topics.get(topic)
        return None if partitions is None else partitions.get(partition)

    def put(self, group_id: str, topic: str, partition: int, value: CommittedOffset) -> None:
        if value.topic_id is not ZERO_UUID and self._topic_ids.get(topic) is not value.topic_id:
            value = self._with_shared_id(topic, value)
        topics = self._groups.get(group_id)
        if topics is None:
            topics = self._groups[group_id] = {}
        partitions = topics.get(topic)
        if partitions is None:
            partitions = topics[sys.intern(topic)] = {}
        if partition not in partitions:
            self._count += 1
        partitions[partition] = value

    def put_topic(self, group_id: str, topic: str, offsets: Sequence[tuple[int, CommittedOffset]]) -> None:
        """Several partitions of a topic, with the same topic id."""
        if self._topic_ids.get(topic) is not offsets[0][1].topic_id or group_id not in self._groups:
            for partition, value in offsets:
                self.put(group_id, topic, partition, value)
            return
        topics = self._groups[group_id]
        partitions = topics.get(topic)
        if partitions is None:
            partitions = topics[sys.intern(topic)] = {}
        before = len(partitions)
        partitions.update(offsets)
        self._count += len(partitions) - before

    def _with_shared_id(self, topic: str, value: CommittedOffset) -> CommittedOffset:
        """Every decoded record has a UUID object of its own, which is larger than the offset."""
        known = ZERO_UUID if value.topic_id == ZERO_UUID else self._topic_ids.get(topic)
        if known == value.topic_id:
            return CommittedOffset(*value[:5], known)
        self._topic_ids[sys.intern(topic)] = value.topic_id
        return value

    def remove(self, group_id: str, topic: str, partition: int) -> None:
        topics = self._groups.get(group_id)
        partitions = None if topics is None else topics.get(topic)
        if topics is None or partitions is None or partitions.pop(partition, None) is None:
            return
        self._count -= 1
        if not partitions:
            del topics[topic]
            if not topics:
                del self._groups[group_id]
