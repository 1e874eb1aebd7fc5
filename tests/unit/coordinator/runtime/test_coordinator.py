"""Shards that come and go with the leadership of their partitions."""

from collections.abc import Callable
from typing import Any, cast
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
from barnabas.coordinator.outcome import NOTHING, Outcome
from barnabas.coordinator.partitioning import partition_for
from barnabas.coordinator.runtime.coordinator import Coordinator
from barnabas.coordinator.runtime.hosted_shard import HostedShard
from barnabas.coordinator.runtime.partition_log import PartitionLog
from barnabas.coordinator.timers import Timers
from barnabas.metadata.image import ClusterImage, PartitionImage, TopicImage
from barnabas.replication.partition import Partition
from barnabas.replication.partitions import Partitions

TOPIC = "__state"
ME, OTHER = 1, 2


class Shard:
    def __init__(self) -> None:
        self.timers: Timers = Timers(ManualClock())
        self.closed_with: KafkaError | None = None

    def replay(self, record: Any) -> None:
        raise AssertionError("nothing is written here")

    def on_loaded(self) -> None:
        pass

    def on_unloaded(self, error: KafkaError) -> None:
        self.closed_with = error


class Anywhere:
    """Every partition is hosted."""

    def get(self, name: str, partition: int) -> Partition:
        return cast(Partition, (name, partition))


class Silent:
    def cancel(self) -> None:
        pass


class House:
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
    house = House()
    house.follow(ME, OTHER)
    here, there = key_of(0, 2), key_of(1, 2)
    assert error_of(house.coordinator.read(here, answer)) is CoordinatorLoadInProgress
    house.load()
    assert house.coordinator.read(here, answer).error is None
    assert error_of(house.coordinator.read(there, answer)) is NotCoordinator


def test_without_the_topic_there_is_no_coordinator() -> None:
    house = House()
    assert error_of(house.coordinator.read("key", answer)) is NotCoordinator
    assert house.coordinator.read_all(answer).result() == []


def test_a_shard_goes_with_the_leadership_and_comes_back_anew() -> None:
    house = House()
    house.follow(ME)
    house.load()
    first = house.coordinator.read("key", answer).result()
    house.follow(ME)
    assert house.coordinator.read("key", answer).result() is first
    house.follow(OTHER, epoch=1)
    assert isinstance(first.closed_with, NotCoordinator)
    assert error_of(house.coordinator.read("key", answer)) is NotCoordinator
    house.follow(ME, epoch=2)
    house.load()
    assert house.coordinator.read("key", answer).result() is not first


def test_a_new_epoch_loads_the_shard_anew_and_an_old_image_does_not() -> None:
    house = House()
    house.follow(ME, epoch=4)
    house.load()
    first = house.coordinator.read("key", answer).result()
    house.follow(ME, epoch=3)
    assert house.coordinator.read("key", answer).result() is first
    house.follow(ME, epoch=5)
    assert first.closed_with is not None
    house.load()
    assert house.coordinator.read("key", answer).result() is not first


def test_a_deleted_topic_takes_all_shards_along() -> None:
    house = House()
    house.follow(ME, ME)
    house.load()
    house.follow()
    assert house.coordinator.hosted() == []


def test_all_shards_are_asked_and_one_that_is_loading_is_everybodys_error() -> None:
    house = House()
    house.follow(ME, OTHER, ME)
    assert error_of(house.coordinator.read_all(answer)) is CoordinatorLoadInProgress
    house.load()
    assert len(house.coordinator.read_all(answer).result()) == 2


def test_a_shard_that_could_not_be_loaded_is_left_out_of_those_that_are_asked_together() -> None:
    house = House()
    house.follow(ME, ME)
    house.loading.pop().close(NotCoordinator("unreadable"))
    house.load()
    assert len(house.coordinator.read_all(answer).result()) == 1


@pytest.mark.parametrize("ask", ["write", "gather", "read"])
def test_a_coordinator_that_stops_closes_its_shards_and_takes_over_no_more(ask: str) -> None:
    house = House()
    house.follow(ME)
    house.load()
    shard = house.coordinator.read("key", answer).result()
    house.coordinator.stop()
    assert isinstance(shard.closed_with, NotCoordinator)
    house.follow(ME, epoch=1)
    operation: Callable[[Shard], Outcome[None]] = lambda shard: NOTHING  # noqa: E731
    assert error_of(getattr(house.coordinator, ask)("key", operation)) is CoordinatorNotAvailable
