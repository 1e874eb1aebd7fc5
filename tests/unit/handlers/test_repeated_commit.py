"""The shortcut for repeated commits answers and stores what the long way does."""

import asyncio
import struct
from collections.abc import Callable, Coroutine
from typing import Any, cast

import pytest
from kio.index import load_request_schema, load_response_schema
from tests.fakes.connection import FakeConnection
from tests.fakes.node import Node, entity
from tests.strategies.entities import read, written
from tests.unit.handlers.classic_member import stable_leader
from tests.unit.handlers.conftest import StartNode

from barnabas.base.errors import ErrorCode
from barnabas.handlers.dispatch import Dispatcher
from barnabas.handlers.repeated_commit import RepeatedCommit
from barnabas.network.connection import Connection
from barnabas.network.responses import Parts, Pending

OFFSET_COMMIT = 8
Shortcut = Callable[[memoryview], Parts | Pending | None]


class Consumer:
    """Commits through the dispatcher; `shortcuts` counts the requests that the shortcut answered."""

    def __init__(self, node: Node, version: int = 9, **member: Any) -> None:
        self.node: Node = node
        self.version: int = version
        self.member: dict[str, Any] = {"generation_id_or_member_epoch": -1, "member_id": ""} | member
        self.connection: FakeConnection = FakeConnection()
        self.dispatcher: Dispatcher = Dispatcher(node.contexts, asyncio.get_running_loop())
        self.shortcuts: int = 0
        self._correlation_id: int = 0

    async def commit(
        self, offsets: dict[int, int], topic: str = "t", metadata: str | None = ""
    ) -> list[ErrorCode]:
        frame = memoryview(self._frame(offsets, topic, metadata)).toreadonly()
        shortcut = self.connection.shortcut
        before = shortcut.misses if isinstance(shortcut, RepeatedCommit) else 0
        result = self.dispatcher.on_frame(cast(Connection, self.connection), frame)
        if isinstance(shortcut, RepeatedCommit) and self.connection.shortcut is shortcut and before:
            self.shortcuts += shortcut.misses == 0
            shortcut.misses = max(shortcut.misses, 1)
        if isinstance(result, Pending):
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            result = result.parts
        assert result is not None
        return self._codes(cast(bytes, result[0]))

    def _frame(self, offsets: dict[int, int], topic: str, metadata: str | None) -> bytes:
        self._correlation_id += 1
        named: dict[str, Any] = {"name": topic}
        if self.version >= 10:
            named = {"topic_id": self.node.image.topics[topic].topic_id}
        partitions = [
            {"partition_index": number, "committed_offset": offset, "committed_metadata": metadata}
            for number, offset in offsets.items()
        ]
        body = {"group_id": "g", "topics": [named | {"partitions": partitions}]} | self.member
        schema = load_request_schema(OFFSET_COMMIT, self.version)
        head = struct.pack(">hhih", OFFSET_COMMIT, self.version, self._correlation_id, -1)
        tags = b"\x00" if self.version >= 8 else b""
        return head + tags + written(entity(schema, body))

    def _codes(self, answer: bytes) -> list[ErrorCode]:
        length, correlation_id = struct.unpack_from(">ii", answer)
        assert (length, correlation_id) == (len(answer) - 4, self._correlation_id)
        schema = load_response_schema(OFFSET_COMMIT, self.version)
        response = read(schema, answer[9 if self.version >= 8 else 8 :])
        return [each.error_code for topic in response.topics for each in topic.partitions]

    def committed(self) -> dict[int, int]:
        group = self.node.ask("OffsetFetch", 9, groups=[{"group_id": "g", "topics": None}]).groups[0]
        return {
            each.partition_index: each.committed_offset for topic in group.topics for each in topic.partitions
        }


OK = ErrorCode.none


@pytest.fixture
def node(start_node: StartNode) -> Node:
    node = start_node({"group.initial.rebalance.delay.ms": "0", "offsets.topic.num.partitions": "1"})
    node.ask("FindCoordinator", coordinator_keys=["g"])
    node.create_topic("t", 3)
    return node


def run(scenario: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(scenario())


@pytest.mark.parametrize("version", range(2, 11))
def test_a_repeated_commit_is_stored_and_answered_at_every_version(node: Node, version: int) -> None:
    async def scenario() -> None:
        consumer = Consumer(node, version)
        for offset in range(1, 4):
            assert await consumer.commit({0: offset, 2: offset + 10}) == [OK, OK]
            assert consumer.committed() == {0: offset, 2: offset + 10}
        assert consumer.shortcuts == (2 if version >= 8 else 0)

    run(scenario)


def test_what_differs_in_more_than_its_offsets_goes_the_long_way(node: Node) -> None:
    async def scenario() -> None:
        consumer = Consumer(node)
        await consumer.commit({0: 1})
        assert await consumer.commit({1: 2}) == [OK]
        assert await consumer.commit({1: 3}, metadata="a note") == [OK]
        assert await consumer.commit({9: 3}) == [ErrorCode.unknown_topic_or_partition]
        assert consumer.shortcuts == 0
        assert consumer.committed() == {0: 1, 1: 3}
        assert await consumer.commit({1: 4}) == [OK]
        assert consumer.shortcuts == 1

    run(scenario)


def test_the_member_is_checked_every_time(node: Node) -> None:
    async def scenario() -> None:
        leader = stable_leader(node)
        consumer = Consumer(node, generation_id_or_member_epoch=1, member_id=leader.member_id)
        assert await consumer.commit({0: 1}) == [OK]
        assert await consumer.commit({0: 2}) == [OK]
        node.ask("LeaveGroup", group_id="g", members=[{"member_id": leader.member_id}])
        assert await consumer.commit({0: 3}) == [ErrorCode.unknown_member_id]
        assert consumer.shortcuts == 2
        assert consumer.committed() == {0: 2}

    run(scenario)


def test_a_commit_is_a_sign_of_life_on_the_short_way_too(node: Node) -> None:
    async def scenario() -> None:
        leader = stable_leader(node)
        consumer = Consumer(node, generation_id_or_member_epoch=1, member_id=leader.member_id)
        for offset in range(4):
            assert await consumer.commit({0: offset}) == [OK]
            node.advance(6_000)

    run(scenario)


def test_a_changed_cluster_is_looked_at_again(node: Node) -> None:
    async def scenario() -> None:
        consumer = Consumer(node)
        await consumer.commit({0: 1})
        node.parts.topics.delete_topics([_named("t")])
        await node.run(lambda: None)
        assert await consumer.commit({0: 2}) == [ErrorCode.unknown_topic_or_partition]
        node.create_topic("t", 1)
        assert await consumer.commit({0: 3}) == [OK]
        assert consumer.shortcuts == 0

    run(scenario)


def _named(name: str) -> Any:
    from barnabas.controller.requests import TopicRef

    return TopicRef(name)


def test_a_consumer_that_never_repeats_itself_is_not_looked_at_any_more(node: Node) -> None:
    async def scenario() -> None:
        node.create_topic("wide", 50)
        consumer = Consumer(node)
        for number in range(40):
            await consumer.commit({number: 7}, "wide")
        first = consumer.connection.shortcut
        assert isinstance(first, RepeatedCommit)
        await consumer.commit({41: 7}, "wide")
        assert consumer.connection.shortcut is first

    run(scenario)
