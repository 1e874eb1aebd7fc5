"""The shortcut answers exactly what the long way answers, or leaves the request to it."""

import asyncio
import struct
from collections.abc import Iterator
from typing import Any

import pytest
from tests.fakes.connection import FakeConnection
from tests.fakes.node import Node
from tests.patience import PATIENCE

from barnabas.handlers import produce
from barnabas.handlers.dispatch import Dispatcher
from barnabas.network.responses import Pending
from barnabas.records.builder import build_batch
from barnabas.records.record import Record
from barnabas.wire.primitives import write_unsigned_varint

VERSIONS = range(3, 14)


def batch(value: bytes = b"v", **settings: Any) -> bytes:
    now = settings.pop("now", 1_600_000_000_000)
    return build_batch([Record(0, now, None, value)], **settings)


def frame(
    node: Node,
    version: int,
    correlation_id: int,
    records: bytes,
    *,
    topic: str = "t",
    partition: int = 0,
    acks: int = 1,
    tail: bytes | None = None,
    client: bytes = b"me",
) -> memoryview:
    is_flexible = version >= 9
    head = struct.pack(">hhih", 0, version, correlation_id, len(client)) + client
    numbers = struct.pack(">hi", acks, 30_000)
    if not is_flexible:
        name = struct.pack(">h", len(topic)) + topic.encode()
        body = b"\xff\xff" + numbers + struct.pack(">i", 1) + name + struct.pack(">i", 1)
        data = struct.pack(">ii", partition, len(records)) + records
        return memoryview(head + body + data + (tail or b"")).toreadonly()
    if version >= 13:
        found = node.partitions.topic(topic)
        assert found is not None
        name = found.topic_id.bytes
    else:
        name = bytes((len(topic) + 1,)) + topic.encode()
    body = b"\x00" + b"\x00" + numbers + b"\x02" + name + b"\x02" + struct.pack(">i", partition)
    data = write_unsigned_varint(len(records) + 1) + records
    return memoryview(head + body + data + (b"\x00\x00\x00" if tail is None else tail)).toreadonly()


class Lanes:
    """The same requests through a connection that remembers and through one that never does."""

    def __init__(self, node: Node) -> None:
        self.node = node
        self.dispatcher = Dispatcher(node.contexts, asyncio.new_event_loop())
        self.connection = FakeConnection()

    def send(self, request: memoryview) -> tuple[bytes, bool]:
        """The answer, and whether the shortcut gave it."""
        shortcut = self.connection.shortcut
        answer = None if shortcut is None else shortcut(request)
        took_shortcut = answer is not None
        if answer is None:
            answer = self.dispatcher.on_frame(self.connection, request)  # type: ignore[arg-type]
        assert isinstance(answer, list), self.connection.reason
        return b"".join(answer), took_shortcut  # type: ignore[arg-type]


@pytest.fixture
def lanes(node: Node) -> Iterator[Lanes]:
    node.create_topic("t", 3)
    made = Lanes(node)
    yield made
    made.dispatcher._loop.close()


@pytest.mark.parametrize("version", VERSIONS)
def test_repeated_request_is_answered_as_the_long_way_answers(lanes: Lanes, version: int) -> None:
    first, _ = lanes.send(frame(lanes.node, version, 1, batch()))
    repeated, took_shortcut = lanes.send(frame(lanes.node, version, 77, batch(b"other")))
    fresh = Lanes(lanes.node)
    long_way, _ = fresh.send(frame(lanes.node, version, 77, batch()))
    fresh.dispatcher._loop.close()

    assert took_shortcut
    assert len(first) == len(repeated) == len(long_way)
    # all that differs is the base offset: 1 on the short way, 2 on the long one
    assert repeated == long_way.replace(struct.pack(">q", 2), struct.pack(">q", 1))
    assert lanes.node.partitions.get("t", 0).log.log_end_offset == 3


@pytest.mark.parametrize("version", VERSIONS)
def test_partitions_take_turns_on_the_shortcut(lanes: Lanes, version: int) -> None:
    for number in range(3):
        lanes.send(frame(lanes.node, version, number, batch(), partition=number))
    for number in range(3):
        assert lanes.send(frame(lanes.node, version, number, batch(), partition=number))[1]
    assert [lanes.node.partitions.get("t", number).log.log_end_offset for number in range(3)] == [2, 2, 2]


@pytest.mark.parametrize("version", VERSIONS)
def test_records_of_other_sizes_repeat_too(lanes: Lanes, version: int) -> None:
    lanes.send(frame(lanes.node, version, 1, batch(b"x")))
    for size in (10, 100, 200, 20_000):
        assert lanes.send(frame(lanes.node, version, 2, batch(bytes(size))))[1]


def test_bad_records_are_refused_as_on_the_long_way(lanes: Lanes) -> None:
    lanes.send(frame(lanes.node, 9, 1, batch()))
    torn = bytearray(batch(b"value"))
    torn[-1] ^= 0xFF
    answer, took_shortcut = lanes.send(frame(lanes.node, 9, 2, bytes(torn)))
    assert not took_shortcut
    assert struct.pack(">ih", 0, 2) in answer  # CORRUPT_MESSAGE
    assert lanes.node.partitions.get("t", 0).log.log_end_offset == 1


@pytest.mark.parametrize(
    "other",
    [
        pytest.param({"topic": "u"}, id="topic"),
        pytest.param({"partition": 1}, id="partition"),
        pytest.param({"acks": -1}, id="acks"),
        pytest.param({"tail": b"\x01\x05\x00\x00\x00"}, id="tags"),
    ],
)
def test_another_request_goes_the_long_way(lanes: Lanes, other: dict[str, Any]) -> None:
    lanes.node.create_topic("u", 1)
    lanes.send(frame(lanes.node, 9, 1, batch()))
    assert not lanes.send(frame(lanes.node, 9, 2, batch(), **other))[1]


def test_another_version_goes_the_long_way(lanes: Lanes) -> None:
    lanes.send(frame(lanes.node, 9, 1, batch()))
    assert not lanes.send(frame(lanes.node, 10, 1, batch()))[1]


def test_deleted_topic_is_forgotten(lanes: Lanes) -> None:
    lanes.send(frame(lanes.node, 9, 1, batch()))
    lanes.node.partitions.remove_topic("t")
    shortcut = lanes.connection.shortcut
    assert shortcut is not None
    request = frame(lanes.node, 9, 1, batch())
    assert shortcut(request) is None


def test_recreated_topic_keeps_its_records_when_another_request_is_remembered_first(lanes: Lanes) -> None:
    node = lanes.node
    lanes.send(frame(node, 9, 1, batch(b"of the deleted topic")))
    node.ask("DeleteTopics", 5, topic_names=["t"])
    node.create_topic("t", 3)
    lanes.send(frame(node, 9, 2, batch(b"first"), client=b"another"))

    _, took_shortcut = lanes.send(frame(node, 9, 3, batch(b"second")))

    assert not took_shortcut
    assert node.partitions.get("t", 0).log.log_end_offset == 2


def test_torn_requests_go_the_long_way(lanes: Lanes) -> None:
    whole = frame(lanes.node, 9, 1, batch())
    lanes.send(whole)
    shortcut = lanes.connection.shortcut
    assert shortcut is not None
    for size in range(len(whole)):
        assert shortcut(whole[:size]) is None
    assert lanes.node.partitions.get("t", 0).log.log_end_offset == 1


def test_client_that_never_repeats_is_not_remembered_for_ever(lanes: Lanes) -> None:
    for number in range(300):
        answer = lanes.send(frame(lanes.node, 9, 1, batch(), client=f"client{number:03}".encode()))
        assert not answer[1]
    shortcut: Any = lanes.connection.shortcut
    assert len(shortcut.repetitions._by_prefix) < 100


def test_prefixes_of_many_lengths_are_bounded(lanes: Lanes) -> None:
    for number in range(300):
        client = bytes(b"c" * (number % 10))
        lanes.send(frame(lanes.node, 9, 1, batch(), client=client))
    shortcut: Any = lanes.connection.shortcut
    assert len(shortcut.repetitions._ends) <= 4


def test_produce_whose_topic_cannot_be_created_does_not_hang(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(context: object, names: list[str]) -> None:
        raise ZeroDivisionError

    async def scenario() -> None:
        monkeypatch.setattr(produce, "create_missing", broken)
        dispatcher, connection = Dispatcher(node.contexts, asyncio.get_running_loop()), FakeConnection()
        request = frame(node, 9, 1, batch(), topic="new")
        assert isinstance(dispatcher.on_frame(connection, request), Pending)  # type: ignore[arg-type]
        async with asyncio.timeout(PATIENCE):
            while not connection.is_closed:
                await asyncio.sleep(0)

    asyncio.run(scenario())
