"""A coordinator on a replicated partition: leadership is given, taken away and given again."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from uuid import UUID

import pytest
from tests.fakes.faulty_filesystem import FaultyFileSystem
from tests.fakes.stepping_executor import SteppingExecutor
from tests.unit.replication.support import NOW, ROOT
from tests.unit.runtime.replayed_shard import batch_of, commit

from barnabas.base.clock import ManualClock
from barnabas.base.config.broker_config import BrokerConfig
from barnabas.base.config.log_config import LogConfig
from barnabas.base.deferred import Deferred
from barnabas.base.errors import (
    CoordinatorLoadInProgress,
    CoordinatorNotAvailable,
    KafkaError,
    NotCoordinator,
)
from barnabas.group.coordinator import GroupCoordinator
from barnabas.group.shard import GroupShard
from barnabas.group.survivors import GroupSurvivors
from barnabas.metadata.image import ClusterImage, PartitionImage, TopicImage
from barnabas.records.batch import iter_headers
from barnabas.replication.flusher import Flusher
from barnabas.replication.partition import Partition
from barnabas.replication.partitions import Partitions
from barnabas.runtime.hosted_shard import HostedShard
from barnabas.runtime.internal_topics import CONSUMER_OFFSETS
from barnabas.runtime.loader import Loader
from barnabas.runtime.outcome import Outcome
from barnabas.storage.logs import Logs, LogsSettings

GROUP = "g"
ME, OTHER = 1, 2
BOTH = (ME, OTHER)


class Silent:
    def cancel(self) -> None:
        pass


class Replicated:
    """Broker 1 with one partition of `__consumer_offsets`, whose other replica is on broker 2.

    Must be made on a running loop.
    """

    def __init__(self, config: LogConfig | None = None) -> None:
        log_config = config or LogConfig()
        self.clock: ManualClock = ManualClock(NOW)
        self.executor: SteppingExecutor = SteppingExecutor()
        self.turn: list[Callable[[], None]] = []
        logs = Logs(
            [ROOT], LogsSettings(ME, "c"), lambda _: log_config, fs=FaultyFileSystem(), clock=self.clock
        )
        logs.open_all()
        flusher = Flusher(asyncio.get_running_loop(), self.executor)
        self.partitions: Partitions = Partitions(
            ME, logs, flusher, lambda _: log_config, clock=self.clock, replica_lag_time_max_ms=3_600_000
        )
        self.loader: Loader = Loader(self.executor, 1 << 20, self.clock, GroupSurvivors)
        self.coordinator: GroupCoordinator = GroupCoordinator(
            BrokerConfig.from_properties({"broker.id": str(ME), "offsets.commit.timeout.ms": "5000"}),
            self.partitions,
            self.clock,
            self.loader.load,
            lambda delay, callback: Silent(),
            self.turn.append,
        )
        self._version: int = 0

    # --- the cluster ---------------------------------------------------------------------------------------

    def elect(self, leader: int, epoch: int, isr: tuple[int, ...] = BOTH) -> None:
        self.elect_partition(leader, epoch, isr)
        self.coordinator.follow(self._image)

    def elect_partition(self, leader: int, epoch: int, isr: tuple[int, ...] = BOTH) -> None:
        """The partition follows the change, the coordinator has not yet."""
        self._version += 1
        partition = PartitionImage(0, leader, epoch, isr, BOTH, (), (), self._version)
        topic = TopicImage(CONSUMER_OFFSETS, UUID(int=5), {0: partition})
        self._image: ClusterImage = ClusterImage("c", topics={CONSUMER_OFFSETS: topic})
        self.partitions.follow(self._image)

    @property
    def partition(self) -> Partition:
        return self.partitions.get(CONSUMER_OFFSETS, 0)

    def replicate(self, offset: int) -> None:
        """Broker 2 has everything below `offset`."""
        self.partition.on_follower_fetch(OTHER, offset, 0, 1)

    def copy(self, offset: int, committed: int, epoch: int) -> None:
        """As a follower: the leader's record at `offset`."""
        data = bytearray(batch_of([commit(GROUP, committed)], offset))
        data[12:16] = epoch.to_bytes(4, "big")
        self.partition.log.append_as_follower(memoryview(bytes(data)))

    async def loaded(self) -> None:
        """Let the loader read the log."""
        for _ in range(10):
            while self.executor.waiting:
                self.executor.step()
            await asyncio.sleep(0)

    # --- requests ------------------------------------------------------------------------------------------

    def commit(self, offset: int) -> Deferred[str]:
        return self.coordinator.write(GROUP, lambda _: Outcome("committed", [commit(GROUP, offset)]))

    def gather(self, offset: int) -> Deferred[str]:
        return self.coordinator.gather(GROUP, lambda _: Outcome("committed", [commit(GROUP, offset)]))

    def fetch(self) -> Deferred[int | None]:
        return self.coordinator.read(GROUP, _committed)

    @property
    def hosted(self) -> HostedShard[GroupShard]:
        [hosted] = self.coordinator.hosted()
        return hosted

    def epochs_in_log(self) -> list[int]:
        log = self.partition.log
        piece = log.read(0, 1 << 20, up_to=log.log_end_offset)
        return (
            []
            if piece is None
            else [header.partition_leader_epoch for _, header in iter_headers(piece.read())]
        )


def _committed(shard: GroupShard) -> int | None:
    topics: Mapping[str, Mapping[int, Any]] = shard.offsets._store.committed.of_group(GROUP)
    found = topics.get("topic", {}).get(0)
    return None if found is None else found.offset


def error_of(answer: Deferred[Any]) -> type[KafkaError] | None:
    assert answer.is_done
    return None if answer.error is None else type(answer.error)


def run(scenario: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(scenario())


@contextmanager
def led(config: LogConfig | None = None) -> Iterator[Replicated]:
    cluster = Replicated(config)
    cluster.elect(ME, 0)
    assert cluster.hosted.is_active
    yield cluster


def test_a_write_is_acknowledged_when_the_high_watermark_passes_it() -> None:
    async def scenario() -> None:
        with led() as cluster:
            first, second = cluster.commit(1), cluster.commit(2)
            cluster.replicate(1)
            assert first.result() == "committed"
            assert not second.is_done
            # A read may have seen the second.
            read = cluster.fetch()
            assert not read.is_done
            cluster.replicate(2)
            assert second.result() == "committed"
            assert read.result() == 2

    run(scenario)


def test_lost_leadership_fails_what_waits_and_what_comes() -> None:
    async def scenario() -> None:
        with led() as cluster:
            write, read = cluster.commit(1), cluster.fetch()
            hosted = cluster.hosted
            cluster.elect(OTHER, 1)
            assert error_of(write) is error_of(read) is NotCoordinator
            assert not hosted.is_active
            assert error_of(cluster.commit(2)) is error_of(cluster.fetch()) is NotCoordinator
            assert not cluster.coordinator.hosted()

    run(scenario)


def test_between_the_partition_and_the_coordinator_no_request_sees_the_old_state() -> None:
    """A change of the metadata is applied in steps, and requests come in between."""

    async def scenario() -> None:
        with led() as cluster:
            cluster.commit(1)
            cluster.replicate(1)
            assert cluster.fetch().result() == 1
            cluster.elect_partition(OTHER, 1)
            assert error_of(cluster.fetch()) is error_of(cluster.commit(2)) is NotCoordinator
            assert cluster.epochs_in_log() == [0]

    run(scenario)


def test_the_second_load_finds_what_the_log_holds_and_waits_for_the_high_watermark() -> None:
    async def scenario() -> None:
        with led() as cluster:
            cluster.commit(1)
            cluster.replicate(1)
            lost = cluster.commit(99)
            cluster.elect(OTHER, 1)
            assert error_of(lost) is NotCoordinator
            # The new leader has not got the last record, and writes another one.
            cluster.partition.log.truncate_to(1)
            cluster.copy(1, committed=2, epoch=1)
            cluster.elect(ME, 2)
            assert error_of(cluster.fetch()) is CoordinatorLoadInProgress
            await cluster.loaded()
            # Everything is replayed, but the other replica may not have the record of epoch 1.
            assert cluster.partition.log.high_watermark == 1
            assert error_of(cluster.fetch()) is error_of(cluster.commit(3)) is CoordinatorLoadInProgress
            cluster.replicate(2)
            assert cluster.fetch().result() == 2
            cluster.commit(3)
            assert cluster.epochs_in_log() == [0, 1, 2]

    run(scenario)


def test_leadership_that_is_lost_while_loading_ends_the_load() -> None:
    async def scenario() -> None:
        with led() as cluster:
            cluster.commit(1)
            cluster.elect(OTHER, 1)
            cluster.elect(ME, 2)
            second = cluster.hosted
            await cluster.loaded()
            cluster.elect(ME, 3)
            assert not second.is_loading
            assert not second.is_active
            await cluster.loaded()
            assert error_of(cluster.fetch()) is CoordinatorLoadInProgress
            cluster.replicate(1)
            assert not second.is_active
            assert cluster.fetch().result() == 1

    run(scenario)


def test_what_was_gathered_in_one_epoch_is_not_written_in_the_next() -> None:
    """Another broker may have led in between: the members were checked against the state of epoch 0."""

    async def scenario() -> None:
        with led() as cluster:
            gathered = cluster.gather(1)
            cluster.elect(ME, 2)
            assert error_of(gathered) is NotCoordinator
            for callback in cluster.turn:
                callback()
            await cluster.loaded()
            assert cluster.epochs_in_log() == []
            assert cluster.fetch().result() is None

    run(scenario)


def test_too_few_replicas_are_a_coordinator_that_is_not_available() -> None:
    async def scenario() -> None:
        with led(LogConfig(min_insync_replicas=2)) as cluster:
            cluster.elect(ME, 0, isr=(ME,))
            assert error_of(cluster.commit(1)) is CoordinatorNotAvailable
            assert cluster.fetch().result() is None
            cluster.elect(ME, 0)
            answer = cluster.commit(2)
            cluster.replicate(1)
            assert answer.result() == "committed"

    run(scenario)


@pytest.mark.parametrize("is_late", [True, False])
def test_a_write_that_is_not_committed_in_time_is_not_available_and_its_records_stay(is_late: bool) -> None:
    async def scenario() -> None:
        with led() as cluster:
            first = cluster.commit(1)
            cluster.clock.advance(3_000)
            second = cluster.commit(2)
            cluster.clock.advance(2_000)
            cluster.hosted.run_due()
            assert error_of(first) is CoordinatorNotAvailable
            assert not second.is_done
            if is_late:
                cluster.clock.advance(3_000)
                cluster.hosted.run_due()
                assert error_of(second) is CoordinatorNotAvailable
            cluster.replicate(2)
            assert error_of(second) is (CoordinatorNotAvailable if is_late else None)
            assert cluster.fetch().result() == 2

    run(scenario)
