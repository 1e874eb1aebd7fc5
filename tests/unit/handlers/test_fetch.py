"""Fetch through the dispatcher of a node: limits, waiting, errors, sessions, isolation, followers."""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any, cast
from uuid import UUID

import pytest
from kio.schema.errors import ErrorCode
from tests.fakes.connection import FakeConnection
from tests.fakes.node import Node
from tests.integration.clients.raw import decode, encode
from tests.integration.clients.requests import fetch_fields, values_in
from tests.patience import PATIENCE
from tests.unit.handlers.conftest import StartNode

from barnabas.base.ranges import FileRange
from barnabas.handlers import fetch as fetch_module
from barnabas.handlers.dispatch import Dispatcher
from barnabas.network.connection import Connection
from barnabas.network.responses import Parts, Pending
from barnabas.records.builder import build_batch
from barnabas.records.record import Record
from barnabas.replication.partition import Partition
from barnabas.replication.roles import Leader

BY_NAME, NEWEST = 12, 18
UNKNOWN_TOPIC = UUID(int=99)


class Consumer:
    def __init__(self, node: Node) -> None:
        self.node: Node = node
        self.connection: FakeConnection = FakeConnection()
        self._dispatcher: Dispatcher = Dispatcher(node.contexts, node.loop)

    def send(
        self, *offsets: int, topic: str = "t", version: int = BY_NAME, **options: Any
    ) -> Parts | Pending:
        """Fetch partition 0, 1, ... from these offsets."""
        extra = {key: options.pop(key) for key in ("replica_id", "replica_state") if key in options}
        fields = fetch_fields(topic, list(enumerate(offsets)), **options) | extra
        frame = memoryview(encode("fetch", version, 1, **fields)).toreadonly()
        result = self._dispatcher.on_frame(cast(Connection, self.connection), frame)
        assert result is not None, self.connection.reason
        return result

    def fetch(self, *offsets: int, **options: Any) -> Any:
        """The response; it must be there at once."""
        parts = self.send(*offsets, **options)
        assert isinstance(parts, list)
        return read(parts, options.get("version", BY_NAME))

    def partition(self, offset: int, **options: Any) -> Any:
        return self.fetch(offset, **options).responses[0].partitions[0]


def read(parts: Parts, version: int = BY_NAME) -> Any:
    data = b"".join(
        cast(Any, part.file).read_at(part.position, part.size) if isinstance(part, FileRange) else bytes(part)
        for part in parts
    )
    return decode("fetch", version, data[4:])


@pytest.fixture
def consumer(node: Node) -> Consumer:
    node.create_topic("t", 2)
    return Consumer(node)


def append(node: Node, *values: bytes, partition: int = 0) -> Partition:
    found = node.partitions.get("t", partition)
    found.append(build_batch([Record(n, 1, None, value) for n, value in enumerate(values)]), acks=1)
    return found


def in_loop(node: Node, scenario: Callable[[], Coroutine[Any, Any, None]]) -> None:
    node.loop.run_until_complete(scenario())


def test_records_from_an_offset_on_with_the_offsets_of_the_log(consumer: Consumer) -> None:
    append(consumer.node, b"a")
    append(consumer.node, b"b")
    found = consumer.partition(1)
    assert values_in(found.records) == [b"b"]
    assert (found.error_code, found.high_watermark, found.last_stable_offset) == (0, 2, 2)
    assert found.log_start_offset == 0


def test_small_records_are_read_and_large_ones_are_sent_from_the_file(consumer: Consumer) -> None:
    append(consumer.node, b"small")
    assert not any(isinstance(part, FileRange) for part in cast(Parts, consumer.send(0)))
    append(consumer.node, b"x" * 40_000)
    parts = cast(Parts, consumer.send(1))
    assert any(isinstance(part, FileRange) for part in parts)
    assert values_in(read(parts).responses[0].partitions[0].records) == [b"x" * 40_000]


def test_first_batch_is_whole_whatever_the_limits(consumer: Consumer) -> None:
    append(consumer.node, b"x" * 1000)
    append(consumer.node, b"y" * 1000, partition=1)
    answer = consumer.fetch(0, 0, max_bytes=1, partition_max_bytes=1)
    first, second = answer.responses[0].partitions
    assert values_in(first.records) == [b"x" * 1000]
    assert not second.records


def test_limit_of_the_broker_bounds_the_response(start_node: StartNode) -> None:
    node = start_node({"fetch.max.bytes": "1024"})
    node.create_topic("t", 2)
    for partition in (0, 1):
        append(node, b"x" * 1000, partition=partition)
    first, second = Consumer(node).fetch(0, 0).responses[0].partitions
    assert first.records
    assert not second.records


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"offset": 7}, ErrorCode.offset_out_of_range),
        ({"offset": 0, "topic": "missing"}, ErrorCode.unknown_topic_or_partition),
        ({"offset": 0, "leader_epoch": 9}, ErrorCode.unknown_leader_epoch),
        ({"offset": 0, "version": 13, "number": UNKNOWN_TOPIC}, ErrorCode.unknown_topic_id),
    ],
)
def test_error_of_a_partition(consumer: Consumer, options: dict[str, Any], code: ErrorCode) -> None:
    append(consumer.node, b"a")
    found = consumer.partition(options.pop("offset"), max_wait=60_000, min_bytes=1 << 20, **options)
    assert found.error_code == code


def test_error_of_one_partition_does_not_spoil_the_others(consumer: Consumer) -> None:
    append(consumer.node, b"a")
    good, bad = consumer.fetch(0, 5).responses[0].partitions
    assert values_in(good.records) == [b"a"]
    assert bad.error_code == ErrorCode.offset_out_of_range


def test_unexpected_error_of_a_partition_is_logged(
    consumer: Consumer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    append(consumer.node, b"a", partition=1)
    real = Partition.read

    def broken(self: Partition, *args: Any, **options: Any) -> Any:
        if self.topic_partition.partition == 0:
            raise ZeroDivisionError
        return real(self, *args, **options)

    monkeypatch.setattr(Partition, "read", broken)
    bad, good = consumer.fetch(0, 0).responses[0].partitions
    assert bad.error_code == ErrorCode.unknown_server_error
    assert good.records
    assert "ZeroDivisionError" in caplog.text


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"leader_epoch": 4}, ErrorCode.fenced_leader_epoch),
        ({"replica_state": {"replica_id": 3, "replica_epoch": 1}}, ErrorCode.not_leader_or_follower),
    ],
)
def test_former_leader_names_the_new_one(
    consumer: Consumer, options: dict[str, Any], code: ErrorCode
) -> None:
    node = consumer.node
    append(node, b"a")
    node.elect("t", leader=9, epoch=5)
    found = consumer.partition(0, version=NEWEST, number=node.image.topics["t"].topic_id, **options)
    assert found.error_code == code
    assert (found.current_leader.leader_id, found.current_leader.leader_epoch) == (9, 5)


def test_follower_serves_consumers_since_version_11_up_to_its_high_watermark(consumer: Consumer) -> None:
    node = consumer.node
    append(node, b"a")
    found = append(node, b"b")
    node.elect("t", leader=9, epoch=5)
    found.log.maybe_update_high_watermark(1)
    assert consumer.partition(0, version=10).error_code == ErrorCode.not_leader_or_follower
    for version in (11, BY_NAME):
        read = consumer.partition(0, version=version, leader_epoch=5)
        assert (values_in(read.records), read.high_watermark) == ([b"a"], 1)
    assert consumer.partition(2).error_code == ErrorCode.none  # not beyond its log: the leader may have more
    assert consumer.partition(3).error_code == ErrorCode.offset_out_of_range
    assert consumer.partition(0, leader_epoch=6).error_code == ErrorCode.unknown_leader_epoch


def test_partition_on_other_brokers_only_is_not_unknown(consumer: Consumer) -> None:
    node = consumer.node
    hosted = node.partitions.topic("t")
    assert hosted is not None
    hosted.partitions.clear()
    found = consumer.partition(0, version=NEWEST, number=hosted.topic_id)
    assert found.error_code == ErrorCode.not_leader_or_follower
    image = node.image.topics["t"].partitions[0]
    hint = found.current_leader
    assert (hint.leader_id, hint.leader_epoch) == (image.leader, image.leader_epoch)


def test_fetch_waits_for_enough_bytes(consumer: Consumer) -> None:
    async def scenario() -> None:
        append(consumer.node, b"a")
        pending = consumer.send(0, min_bytes=150, max_wait=60_000)
        assert isinstance(pending, Pending)
        assert pending.holds_back
        append(consumer.node, b"b")
        await asyncio.sleep(0)
        assert not pending.parts
        append(consumer.node, b"c")
        async with asyncio.timeout(PATIENCE):
            while not pending.is_done:
                await asyncio.sleep(0)
        found = read(pending.parts).responses[0].partitions[0]
        assert values_in(found.records) == [b"a", b"b", b"c"]

    in_loop(consumer.node, scenario)


def test_fetch_that_waited_long_enough_returns_what_there_is(consumer: Consumer) -> None:
    async def scenario() -> None:
        append(consumer.node, b"a")
        pending = consumer.send(0, min_bytes=1 << 20, max_wait=1)
        assert isinstance(pending, Pending)
        async with asyncio.timeout(PATIENCE):
            while not pending.is_done:
                await asyncio.sleep(0)
        assert values_in(read(pending.parts).responses[0].partitions[0].records) == [b"a"]

    in_loop(consumer.node, scenario)


def test_fetch_of_a_closed_connection_no_longer_waits(consumer: Consumer) -> None:
    async def scenario() -> None:
        pending = consumer.send(0, max_wait=60_000)
        assert isinstance(pending, Pending)
        pending.cancel()
        append(consumer.node, b"a")
        await asyncio.sleep(0)
        assert not pending.parts

    in_loop(consumer.node, scenario)


def test_records_that_are_not_in_the_page_cache_are_read_by_a_thread(
    consumer: Consumer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario() -> None:
        append(consumer.node, b"x" * 40_000)
        warmed: list[FileRange] = []
        monkeypatch.setattr(fetch_module, "is_cached", lambda _: False)
        monkeypatch.setattr(fetch_module, "warm", warmed.extend)
        pending = consumer.send(0)
        assert isinstance(pending, Pending)
        async with asyncio.timeout(PATIENCE):
            while not pending.is_done:
                await asyncio.sleep(0)
        assert [each.size for each in warmed] == [len(read(pending.parts).responses[0].partitions[0].records)]

    in_loop(consumer.node, scenario)


def test_session_returns_only_what_changed(consumer: Consumer) -> None:
    append(consumer.node, b"a")
    full = consumer.fetch(1, 0, session_epoch=0)
    assert full.session_id
    assert [each.partition_index for each in full.responses[0].partitions] == [0, 1]
    assert consumer.fetch(session_id=full.session_id, session_epoch=1).responses == ()
    append(consumer.node, b"b", partition=1)
    (changed,) = consumer.fetch(session_id=full.session_id, session_epoch=2).responses[0].partitions
    assert changed.partition_index == 1
    assert values_in(changed.records) == [b"b"]


def test_session_that_does_not_fit_is_refused(consumer: Consumer) -> None:
    full = consumer.fetch(0, session_epoch=0)
    unknown = consumer.fetch(session_id=full.session_id + 1, session_epoch=1)
    assert unknown.error_code == ErrorCode.fetch_session_id_not_found
    wrong_epoch = consumer.fetch(session_id=full.session_id, session_epoch=9)
    assert wrong_epoch.error_code == ErrorCode.invalid_fetch_session_epoch


def test_read_committed_ends_at_an_open_transaction(consumer: Consumer) -> None:
    append(consumer.node, b"a")
    found = consumer.node.partitions.get("t", 0)
    open_batch = build_batch(
        [Record(0, 1, None, b"open")], producer_id=1, producer_epoch=0, base_sequence=0, transactional=True
    )
    found.append(open_batch, acks=1)
    committed, all_of_it = consumer.partition(0, isolation=1), consumer.partition(0)
    assert values_in(committed.records) == [b"a"]
    assert committed.last_stable_offset == 1
    assert values_in(all_of_it.records) == [b"a", b"open"]
    assert all_of_it.aborted_transactions is None


def test_fetch_with_the_id_of_a_broker_that_is_no_replica_is_refused(consumer: Consumer) -> None:
    append(consumer.node, b"a")
    found = consumer.partition(0, replica_id=77)
    assert found.error_code == ErrorCode.not_leader_or_follower


def test_parked_fetch_of_a_follower_updates_its_state_once(consumer: Consumer) -> None:
    """A follower may have started anew, with less, while its fetch was parked."""
    node = consumer.node
    partition = append(node, b"a")
    image, own = node.image.topics["t"].partitions[0], node.config.broker_id
    partition.follow(image._replace(replicas=(own, 77), isr=(own,), state_version=image.state_version + 1))
    follower = cast(Leader, partition.role).followers[77]

    async def scenario() -> None:
        state = {"replica_id": 77, "replica_epoch": 1}
        topic_id = node.image.topics["t"].topic_id
        options: dict[str, Any] = {"version": NEWEST, "number": topic_id, "replica_state": state}
        parked = consumer.send(1, max_wait=60_000, **options)
        assert isinstance(parked, Pending)
        assert follower.log_end_offset == 1
        follower.log_end_offset = 0
        append(node, b"b")
        assert parked.is_done
        assert follower.log_end_offset == 0

    in_loop(node, scenario)


def _throttled(consumer: Consumer, isr: tuple[int, ...], replicas: str) -> None:
    """Brokers 0 and 7 have the replicas of t-0. The limit is reached once anything was sent."""
    node = consumer.node
    found = node.partitions.get("t", 0)
    image = node.image.topics["t"].partitions[0]
    found.follow(image._replace(replicas=(0, 7), isr=isr, state_version=image.state_version + 1))
    found.log.config = replace(found.log.config, leader_replication_throttled_replicas=(replicas,))
    node.contexts.records.replication_quota.limit = 1


@pytest.mark.parametrize(
    ("isr", "replicas", "is_held_back"),
    [
        ((0,), "*", True),
        ((0,), "0:0", True),
        ((0,), "1:0", False),
        ((0,), "0:7", False),
        ((0, 7), "*", False),
    ],
)
def test_follower_that_is_not_in_sync_is_held_back_by_the_throttle(
    consumer: Consumer, isr: tuple[int, ...], replicas: str, is_held_back: bool
) -> None:
    append(consumer.node, b"a")
    append(consumer.node, b"b")
    _throttled(consumer, isr, replicas)
    first = consumer.partition(0, replica_id=7, max_wait_ms=0)
    assert values_in(first.records) == [b"a", b"b"]
    again = consumer.partition(0, replica_id=7, max_wait_ms=0)
    assert again.error_code == 0
    assert values_in(again.records or b"") == ([] if is_held_back else [b"a", b"b"])
    assert values_in(consumer.partition(0).records) == [b"a", b"b"]  # A consumer is never held back.
    consumer.node.clock.advance(20_000)
    later = consumer.partition(0, replica_id=7, max_wait_ms=0)
    assert values_in(later.records) == [b"a", b"b"]


def test_replica_that_claims_offsets_it_cannot_have_is_refused_and_counts_for_nothing(
    consumer: Consumer,
) -> None:
    node = consumer.node
    partition = append(node, b"a")
    image, own = node.image.topics["t"].partitions[0], node.config.broker_id
    partition.follow(image._replace(replicas=(own, 77), isr=(own, 77), state_version=image.state_version + 1))
    append(node, b"b")
    state = {"replica_id": 77, "replica_epoch": 1}
    found = consumer.partition(9, version=NEWEST, number=node.image.topics["t"].topic_id, replica_state=state)
    assert found.error_code == ErrorCode.offset_out_of_range
    assert partition.log.high_watermark == 1
    assert cast(Leader, partition.role).followers[77].log_end_offset == -1
