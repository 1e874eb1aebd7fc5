"""Shards follow the leadership of their partitions."""

from collections.abc import Callable
from typing import Any, NamedTuple, cast
from uuid import UUID

import pytest

from barnabas.base.clock import ManualClock
from barnabas.base.deferred import Deferred
from barnabas.base.errors import (
    CoordinatorLoadInProgress,
    CoordinatorNotAvailable,
    KafkaError,
    NotCoordinator,
)
from barnabas.metadata.image import ClusterImage, PartitionImage, TopicImage
from barnabas.replication.partition import Partition
from barnabas.replication.partitions import Partitions
from barnabas.runtime.coordinator import Coordinator
from barnabas.runtime.hosted_shard import HostedShard
from barnabas.runtime.outcome import NOTHING, Outcome
from barnabas.runtime.partition_log import PartitionLog
from barnabas.runtime.partitioning import partition_for
from barnabas.runtime.timers import Timers

TOPIC = "__state"
ME, OTHER = 1, 2


class Shard:
    def __init__(self) -> None:
        self.timers: Timers = Timers(ManualClock())
        self.closed_with: KafkaError | None = None

    def replay(self, record: Any) -> None:
        raise AssertionError("unexpected record")

    def on_loaded(self) -> None:
        pass

    def on_unloaded(self, error: KafkaError) -> None:
        self.closed_with = error


class Led(NamedTuple):
    """A partition as its own log: this broker leads it as long as the coordinator has its shard."""

    topic: str
    partition: int
    is_current: bool = True


class Anywhere:
    """Hosts every partition."""

    def get(self, name: str, partition: int) -> Partition:
        return cast(Partition, Led(name, partition))


class Silent:
    def cancel(self) -> None:
        pass


class Harness:
    def __init__(self) -> None:
        self.loading: list[HostedShard[Shard]] = []
        self.coordinator: Coordinator[Shard] = Coordinator(
            TOPIC,
            ME,
            cast(Partitions, Anywhere()),
            Shard,
            lambda partition: cast(PartitionLog, partition),
            lambda hosted, partition: self.loading.append(hosted),
            lambda delay, callback: Silent(),
            lambda callback: callback(),
        )

    def follow(self, *leaders: int, epoch: int = 0) -> None:
        partitions = {
            number: PartitionImage(number, leader, epoch, (leader,), (leader,), (), (), 0)
            for number, leader in enumerate(leaders)
        }
        topic = TopicImage(TOPIC, UUID(int=1), partitions)
        self.coordinator.follow(ClusterImage(topics={TOPIC: topic} if partitions else {}))

    def load(self) -> None:
        loading, self.loading = self.loading, []
        for hosted in loading:
            hosted.activate()


def answer(shard: Shard) -> Shard:
    return shard


def error_of(given: Deferred[Any]) -> type[KafkaError]:
    assert given.error is not None
    return type(given.error)


def key_of(partition: int, count: int) -> str:
    return next(str(n) for n in range(1000) if partition_for(str(n), count) == partition)


def test_a_partition_that_is_led_here_answers_once_it_is_loaded() -> None:
    harness = Harness()
    harness.follow(ME, OTHER)
    here, there = key_of(0, 2), key_of(1, 2)
    assert error_of(harness.coordinator.read(here, answer)) is CoordinatorLoadInProgress
    harness.load()
    assert harness.coordinator.read(here, answer).error is None
    assert error_of(harness.coordinator.read(there, answer)) is NotCoordinator


def test_without_the_topic_there_is_no_coordinator() -> None:
    harness = Harness()
    assert error_of(harness.coordinator.read("key", answer)) is NotCoordinator
    assert harness.coordinator.read_all(answer).result() == []


def test_a_shard_is_removed_with_the_leadership_and_reloaded_with_it() -> None:
    harness = Harness()
    harness.follow(ME)
    harness.load()
    first = harness.coordinator.read("key", answer).result()
    harness.follow(ME)
    assert harness.coordinator.read("key", answer).result() is first
    harness.follow(OTHER, epoch=1)
    assert isinstance(first.closed_with, NotCoordinator)
    assert error_of(harness.coordinator.read("key", answer)) is NotCoordinator
    harness.follow(ME, epoch=2)
    harness.load()
    assert harness.coordinator.read("key", answer).result() is not first


def test_a_new_epoch_reloads_the_shard_and_an_old_image_does_not() -> None:
    harness = Harness()
    harness.follow(ME, epoch=4)
    harness.load()
    first = harness.coordinator.read("key", answer).result()
    harness.follow(ME, epoch=3)
    assert harness.coordinator.read("key", answer).result() is first
    harness.follow(ME, epoch=5)
    assert first.closed_with is not None
    harness.load()
    assert harness.coordinator.read("key", answer).result() is not first


def test_a_deleted_topic_removes_all_shards() -> None:
    harness = Harness()
    harness.follow(ME, ME)
    harness.load()
    harness.follow()
    assert harness.coordinator.hosted() == []


def test_read_all_reads_all_shards_and_fails_if_one_is_loading() -> None:
    harness = Harness()
    harness.follow(ME, OTHER, ME)
    assert error_of(harness.coordinator.read_all(answer)) is CoordinatorLoadInProgress
    harness.load()
    assert len(harness.coordinator.read_all(answer).result()) == 2


def test_a_shard_that_could_not_be_loaded_is_left_out_of_read_all() -> None:
    harness = Harness()
    harness.follow(ME, ME)
    harness.loading.pop().close(NotCoordinator("unreadable"))
    harness.load()
    assert len(harness.coordinator.read_all(answer).result()) == 1


@pytest.mark.parametrize("method", ["write", "gather", "read"])
def test_a_coordinator_that_stops_closes_its_shards_and_takes_over_no_more(method: str) -> None:
    harness = Harness()
    harness.follow(ME)
    harness.load()
    shard = harness.coordinator.read("key", answer).result()
    harness.coordinator.stop()
    assert isinstance(shard.closed_with, NotCoordinator)
    harness.follow(ME, epoch=1)
    operation: Callable[[Shard], Outcome[None]] = lambda shard: NOTHING  # noqa: E731
    assert error_of(getattr(harness.coordinator, method)("key", operation)) is CoordinatorNotAvailable
