"""Changes of the cluster reach the groups of a broker by the names of what changed."""

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, NoReturn, cast
from uuid import UUID

from barnabas.base.clock import ManualClock
from barnabas.base.config.broker_config import BrokerConfig
from barnabas.base.ids import TopicPartition
from barnabas.group.coordinator import GroupCoordinator
from barnabas.group.shard import GroupShard
from barnabas.metadata.image import ClusterImage, PartitionImage, TopicImage
from barnabas.replication.partition import Partition
from barnabas.replication.partitions import Partitions
from barnabas.runtime.hosted_shard import HostedShard
from barnabas.runtime.internal_topics import CONSUMER_OFFSETS

ME = 1


class OnlyByName(dict[str, TopicImage]):
    """Topics that may be looked up, and never iterated over."""

    def __iter__(self) -> NoReturn:
        raise AssertionError("all topics are looked at")

    def keys(self) -> NoReturn:
        raise AssertionError("all topics are looked at")

    values = items = keys


class _Partitions:
    def get(self, name: str, number: int) -> Any:
        return SimpleNamespace(leader_epoch=0, is_leader=True, topic_partition=TopicPartition(name, number))


class _Silent:
    def cancel(self) -> None:
        pass


def topic(name: str, number: int) -> TopicImage:
    return TopicImage(name, UUID(int=number), {0: PartitionImage(0, ME, 0, (ME,), (ME,), (), (), 0)})


def image_of(names: Mapping[str, int]) -> ClusterImage:
    topics = OnlyByName({name: topic(name, number) for name, number in names.items()})
    return ClusterImage(
        topics=topics, topic_by_id={UUID(int=each): topic("", each) for each in names.values()}
    )


class Harness:
    def __init__(self) -> None:
        self.calls: list[tuple[set[str], list[str]]] = []
        self.coordinator = GroupCoordinator(
            BrokerConfig.from_properties({"broker.id": str(ME)}),
            cast(Partitions, _Partitions()),
            ManualClock(),
            self._load,
            lambda *_: _Silent(),
            lambda call: call(),
        )

    def _load(self, hosted: HostedShard[GroupShard], partition: Partition) -> None:
        hosted.activate()
        on_image = hosted.shard.on_image

        def noted(image: ClusterImage, changed: Any, deleted: Any) -> Any:
            self.calls.append((set(changed), [each.name for each in deleted]))
            return on_image(image, changed, deleted)

        hosted.shard.on_image = noted  # type: ignore[method-assign]


def test_shards_get_the_topics_that_changed_and_look_at_no_other() -> None:
    harness = Harness()
    first = {CONSUMER_OFFSETS: 1, "kept": 2, "deleted": 3, "anew": 4}
    harness.coordinator.follow(image_of(first))
    assert harness.calls == []
    now = {CONSUMER_OFFSETS: 1, "kept": 2, "anew": 5, "new": 6}
    harness.coordinator.follow(image_of(now), ("deleted", "anew", "new"))
    assert [(changed, sorted(deleted)) for changed, deleted in harness.calls] == [
        ({"deleted", "anew", "new"}, ["anew", "deleted"])
    ]
