"""Transactional offsets through the runtime: batches and markers, and a restart."""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, cast
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.group.offsets.offsets_shard import (
    commit_request,
    context,
    delete_request,
    fetch_request,
    topic,
    transactional_request,
)
from tests.unit.storage.support import NOW, MemoryLogs, read_batches

from barnabas.base.clock import ManualClock
from barnabas.base.config.broker_config import BrokerConfig
from barnabas.base.config.log_config import LogConfig
from barnabas.base.deferred import Deferred
from barnabas.base.errors import (
    CoordinatorLoadInProgress,
    ErrorCode,
    InvalidProducerEpoch,
    NotCoordinator,
    TransactionCoordinatorFenced,
    UnknownServerError,
)
from barnabas.base.ids import TopicPartition
from barnabas.group.coordinator import GroupCoordinator
from barnabas.group.record_codec import decode_record
from barnabas.group.records import OffsetCommit
from barnabas.group.shard import GroupShard
from barnabas.group.survivors import GroupSurvivors
from barnabas.metadata.image import ClusterImage, PartitionImage
from barnabas.records.control import build_end_marker
from barnabas.records.record import decode_records
from barnabas.replication.flusher import Flusher
from barnabas.replication.hosted_logs import HostedLogs
from barnabas.replication.partition import Partition
from barnabas.replication.partition_environment import PartitionEnvironment
from barnabas.replication.partitions import Partitions
from barnabas.runtime.hosted_shard import HostedShard
from barnabas.runtime.internal_topics import CONSUMER_OFFSETS
from barnabas.runtime.loading import Loading
from barnabas.runtime.outcome import Outcome
from barnabas.storage.log import Log
from barnabas.wire import Reply

BROKER = 1
UNSTABLE = ErrorCode.unstable_offset_commit
ORDERS = topic("orders", UUID(int=7), 3)
OFFSETS = topic(CONSUMER_OFFSETS, UUID(int=9), 1)
IMAGE = ClusterImage(
    topics={each.name: each for each in (ORDERS, OFFSETS)},
    topic_by_id={each.topic_id: each for each in (ORDERS, OFFSETS)},
)


@cache
def _config(**properties: str) -> BrokerConfig:
    return BrokerConfig.from_properties({"node.id": str(BROKER)} | properties)


class _OneLog:
    """The hosted logs and the partitions of a broker that has one."""

    def __init__(self, log: Log) -> None:
        self.log: Log = log
        self.partition: Partition = Partition(
            TopicPartition(CONSUMER_OFFSETS, 0),
            OFFSETS.topic_id,
            PartitionEnvironment(
                BROKER, cast(HostedLogs, self), cast(Flusher, _Flusher()), ManualClock(), 30_000
            ),
        )
        self.partition.follow(PartitionImage(0, BROKER, 0, (BROKER,), (BROKER,), (), (), 0))

    def get(self, *_: object) -> Any:
        return self.log

    def is_known_empty(self, _: TopicPartition) -> bool:
        return False


class _Flusher:
    def request_due(self, log: Log) -> None:
        """A segment is full; nothing here waits for the disk."""


class _Silent:
    def cancel(self) -> None:
        pass


class House:
    """A group coordinator on a log in memory, which can be stopped or killed, and started again."""

    def __init__(
        self, log_config: LogConfig | None = None, properties: Mapping[str, str] | None = None
    ) -> None:
        self.memory: MemoryLogs = MemoryLogs(log_config or LogConfig(segment_bytes=1_000))
        self.config: BrokerConfig = _config(**(properties or {}))
        self.log: Log = self.memory.create()
        self.groups: GroupCoordinator = self._start()

    def _start(self, *, loads: bool = True) -> GroupCoordinator:
        hosted = _OneLog(self.log)
        partitions = cast(Partitions, _Partitions(hosted.partition))
        coordinator = GroupCoordinator(
            self.config,
            partitions,
            self.memory.clock,
            self._load if loads else lambda *_: None,
            lambda *_: _Silent(),
            lambda call: call(),
        )
        coordinator.follow(IMAGE)
        return coordinator

    def _load(self, hosted: HostedShard[GroupShard], partition: Partition) -> None:
        loading = Loading(partition.log, 1 << 20, self.memory.clock, GroupSurvivors())
        while (piece := loading.next_slice()) is not None:
            loading.consume(piece)
        for _ in loading.finish(hosted.shard):
            pass
        hosted.activate()

    def restart(self, *, clean: bool) -> None:
        self.groups.stop()
        self.log.close(clean=clean)
        self.log = self.memory.open(clean=clean)
        self.groups = self._start()

    def start_loading(self) -> None:
        self.groups = self._start(loads=False)

    # --- what clients and the transaction coordinator do ---------------------------------------------------

    def commit(self, offsets: dict[int, int], producer: tuple[int, int], group: str = "g") -> Deferred[Reply]:
        body = transactional_request(group, {"orders": offsets}, producer=producer)
        return self.groups.write(group, lambda shard: shard.commit_transactional_offsets(context(5), body))

    def commit_plainly(self, offsets: dict[int, int], group: str = "g") -> None:
        body = commit_request(9, group, {"orders": offsets})
        self.groups.gather(group, lambda shard: shard.commit_offsets(context(9), body)).result()

    def end(
        self,
        producer: tuple[int, int],
        *,
        is_commit: bool,
        coordinator_epoch: int = 0,
        transaction_version: int = 0,
        partition: int = 0,
    ) -> Deferred[None]:
        return self.groups.end_transaction(
            partition, *producer, coordinator_epoch, is_commit, transaction_version
        )

    def write(self, operation: Callable[[GroupShard], Outcome[Any]]) -> Any:
        return self.groups.write("g", operation).result()

    # --- what is seen --------------------------------------------------------------------------------------

    def fetch(self, group: str = "g", *, stable: bool) -> dict[int, tuple[int, ErrorCode]]:
        body = fetch_request(9, group, {"orders": [0, 1, 2]})
        reply = self.groups.read(group, lambda shard: shard.fetch_offsets(context(9), body, stable)).result()
        return {
            each.partition_index: (each.committed_offset, each.error_code)
            for each in reply.topics[0].partitions
        }

    def offset(self, partition: int = 0) -> int:
        return self.fetch(stable=False)[partition][0]

    def is_unstable(self, partition: int = 0) -> bool:
        return self.fetch(stable=True)[partition][1] is UNSTABLE


class _Partitions:
    def __init__(self, partition: Partition) -> None:
        self._partition: Partition = partition

    def get(self, name: str, number: int) -> Partition:
        assert (name, number) == (CONSUMER_OFFSETS, 0)
        return self._partition


# --- what is in the log -------------------------------------------------------------------------------------


@pytest.mark.parametrize("codec", ["0", "1"])
def test_a_commit_is_a_transactional_batch_and_its_end_a_marker(codec: str) -> None:
    house = House(properties={"offsets.topic.compression.codec": codec})
    house.commit({0: 5, 2: 6}, (40, 3)).result()
    house.end((40, 4), is_commit=True, coordinator_epoch=8, transaction_version=2).result()
    (records, batch), (_, marker) = read_batches(house.log)
    assert (records.is_transactional, records.is_control) == (True, False)
    assert (records.producer_id, records.producer_epoch, records.base_sequence) == (40, 3, 0)
    assert records.attributes & 7 == int(codec)
    decoded = [decode_record(each.key or b"", each.value) for each in decode_records(batch)]
    assert [
        (each.partition, each.value and each.value.offset)
        for each in decoded
        if isinstance(each, OffsetCommit)
    ] == [
        (0, 5),
        (2, 6),
    ]
    assert marker == build_end_marker(40, 4, True, 8, NOW, base_offset=2, leader_epoch=0)


def test_the_last_stable_offset_waits_for_the_marker() -> None:
    house = House()
    house.commit_plainly({1: 1})
    house.commit({0: 5}, (40, 0)).result()
    house.commit_plainly({1: 2})
    assert house.log.last_stable_offset == 1
    house.end((40, 0), is_commit=False).result()
    assert house.log.last_stable_offset == house.log.log_end_offset == 4


def test_commits_that_were_gathered_come_before_a_marker() -> None:
    house = House()
    late: list[Callable[[], None]] = []
    for hosted in house.groups.hosted():
        hosted._call_soon = late.append
    house.commit({0: 5}, (40, 0)).result()
    body = commit_request(9, "g", {"orders": {0: 9}})
    gathered = house.groups.gather("g", lambda shard: shard.commit_offsets(context(9), body))
    house.end((40, 0), is_commit=True).result()
    assert gathered.is_done
    assert house.offset() == 9
    for each in late:
        each()
    house.restart(clean=True)
    assert house.offset() == 9


# --- what is refused ----------------------------------------------------------------------------------------


def test_a_producer_that_was_fenced_commits_nothing() -> None:
    house = House()
    house.commit({0: 5}, (40, 1)).result()
    assert isinstance(house.commit({0: 6}, (40, 0)).error, InvalidProducerEpoch)
    house.end((40, 1), is_commit=True).result()
    assert house.offset() == 5
    house.end((40, 2), is_commit=False).result()
    assert isinstance(house.commit({0: 7}, (40, 1)).error, InvalidProducerEpoch)
    assert not house.is_unstable()


def test_a_marker_that_is_too_old_ends_nothing() -> None:
    house = House()
    house.commit({0: 5}, (40, 1)).result()
    assert isinstance(house.end((40, 0), is_commit=True).error, InvalidProducerEpoch)
    again = house.end((40, 1), is_commit=True, transaction_version=2)
    assert isinstance(again.error, InvalidProducerEpoch), "version 2 bumps the epoch with the marker"
    assert house.is_unstable()
    house.end((40, 2), is_commit=True, coordinator_epoch=5, transaction_version=2).result()
    house.commit({0: 6}, (40, 2)).result()
    fenced = house.end((40, 3), is_commit=False, coordinator_epoch=4, transaction_version=2)
    assert isinstance(fenced.error, TransactionCoordinatorFenced)
    assert (house.offset(), house.is_unstable()) == (5, True)


def test_a_marker_that_is_written_again_changes_nothing() -> None:
    house = House()
    house.commit({0: 5}, (40, 0)).result()
    house.end((40, 1), is_commit=True, transaction_version=2).result()
    house.commit_plainly({0: 7})
    house.end((40, 1), is_commit=True, transaction_version=2).result()
    assert house.offset() == 7


def test_a_batch_that_is_too_large_leaves_nothing_pending() -> None:
    house = House(LogConfig(max_message_bytes=80))
    assert isinstance(house.commit({0: 5, 1: 5, 2: 5}, (40, 0)).error, UnknownServerError)
    assert not house.is_unstable()


def test_markers_for_a_shard_that_is_not_here_or_not_loaded_come_again() -> None:
    house = House()
    assert isinstance(house.end((40, 0), is_commit=True, partition=3).error, NotCoordinator)
    house.start_loading()
    assert isinstance(house.end((40, 0), is_commit=True).error, CoordinatorLoadInProgress)
    assert read_batches(house.log) == []


# --- restarts -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("clean", [True, False])
@pytest.mark.parametrize("is_commit", [True, False])
def test_a_transaction_that_was_open_is_open_after_a_restart(clean: bool, is_commit: bool) -> None:
    house = House()
    house.commit_plainly({0: 3})
    house.commit({0: 5, 1: 6}, (40, 0)).result()
    house.restart(clean=clean)
    assert (house.offset(0), house.is_unstable(0), house.is_unstable(1)) == (3, True, True)
    assert isinstance(house.commit({0: 7}, (40, -1)).error, UnknownServerError)
    house.end((40, 0), is_commit=is_commit).result()
    house.restart(clean=clean)
    assert (house.offset(0), house.offset(1)) == ((5, 6) if is_commit else (3, -1))
    assert not house.is_unstable()


_GROUPS = ("g", "h")
_commits = st.tuples(
    st.sampled_from(["commit", "plain"]),
    st.sampled_from(_GROUPS),
    st.dictionaries(st.integers(0, 2), st.integers(0, 99), min_size=1),
    st.integers(40, 42),
)
_ends = st.tuples(st.just("end"), st.booleans(), st.integers(0, 2), st.integers(40, 42))
_deletions = st.tuples(
    st.sampled_from(["delete", "delete group"]), st.sampled_from(_GROUPS), st.integers(0, 2)
)
_steps = st.lists(st.one_of(_commits, _ends, _deletions), max_size=25)


class _Story:
    """Producers with their epochs, and what they do to a house."""

    def __init__(self, house: House) -> None:
        self.house: House = house
        self.epochs: dict[int, int] = {40: 0, 41: 0, 42: 0}

    def play(self, step: Any) -> None:
        house = self.house
        if step[0] == "commit":
            house.commit(step[2], (step[3], self.epochs[step[3]]), step[1]).result()
        elif step[0] == "plain":
            house.commit_plainly(step[2], step[1])
        elif step[0] == "end":
            self.end(step[3], is_commit=step[1], version=step[2])
        elif step[0] == "delete":
            if house.groups.hosted()[0].shard.groups.find(step[1]) is not None:
                body = delete_request(step[1], {"orders": [step[2]]})
                house.write(lambda shard: shard.delete_offsets(context(0), body))
        else:
            house.write(lambda shard: shard.delete_groups([step[1]]))

    def end(self, producer_id: int, *, is_commit: bool, version: int) -> None:
        self.epochs[producer_id] += version == 2
        producer = (producer_id, self.epochs[producer_id])
        self.house.end(producer, is_commit=is_commit, transaction_version=version).result()

    def seen(self) -> list[dict[int, tuple[int, ErrorCode]]]:
        return [self.house.fetch(group, stable=stable) for group in _GROUPS for stable in (False, True)]


@settings(max_examples=40, deadline=None)
@given(_steps, st.booleans())
def test_whatever_happened_a_restart_finds_it_and_ends_it_alike(steps: list[Any], clean: bool) -> None:
    story, other = _Story(House()), _Story(House())
    for step in steps:
        story.play(step)
        other.play(step)
    before = story.seen()
    story.house.restart(clean=clean)
    assert story.seen() == before
    for number, producer_id in enumerate((41, 40, 42)):
        for each in (story, other):
            each.end(producer_id, is_commit=number != 1, version=number)
    assert story.seen() == other.seen()
    assert not any(code is UNSTABLE for seen in story.seen() for _, code in seen.values())
