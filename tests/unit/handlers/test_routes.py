"""The first request of an API version loads its route in a thread; only its own connection waits."""

import asyncio
import struct
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast

import pytest
from tests.fakes.connection import FakeConnection
from tests.fakes.node import Node
from tests.patience import PATIENCE

from barnabas.handlers import registry, routes
from barnabas.handlers.dispatch import Dispatcher
from barnabas.handlers.routes import Routes
from barnabas.network.connection import Connection
from barnabas.network.responses import Parts, Pending
from barnabas.wire import Reply

METADATA, API_VERSIONS, CREATE_TOPICS = 3, 18, 19
NO_TOPICS = struct.pack(">iib", 0, 0, 0)


class Gate:
    """Holds the loading of a route until it is opened; counts how often each was loaded."""

    def __init__(self) -> None:
        self.opened: threading.Event = threading.Event()
        self.keys: list[int] = []
        self.threads: set[int] = set()
        self.handlers: dict[int, Any] = {}

    def handler_of(self, key: int) -> Any:
        self.keys.append(key)
        self.threads.add(threading.get_ident())
        assert self.opened.wait(PATIENCE)
        return self.handlers.get(key) or registry.handler_of(key)


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gate]:
    gate = Gate()
    monkeypatch.setattr(routes, "handler_of", gate.handler_of)
    yield gate
    gate.opened.set()


class Harness:
    def __init__(self, node: Node, thread: ThreadPoolExecutor) -> None:
        self.routes: Routes = Routes(node.contexts, thread)
        self.dispatcher: Dispatcher = Dispatcher(node.contexts, asyncio.get_running_loop(), self.routes)

    def send(
        self, connection: FakeConnection, key: int, version: int, body: bytes = b""
    ) -> Parts | Pending | None:
        frame = bytearray(struct.pack(">hhih", key, version, 7, -1) + body)
        answer = self.dispatcher.on_frame(cast(Connection, connection), memoryview(frame).toreadonly())
        frame[:] = bytes(len(frame))  # the connection's buffer is used again
        return answer


@pytest.fixture
def thread() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1) as pool:
        yield pool


def test_first_request_waits_for_its_route_and_others_are_answered(
    node: Node, gate: Gate, thread: ThreadPoolExecutor
) -> None:
    async def scenario() -> None:
        harness, first, other = Harness(node, thread), FakeConnection(), FakeConnection()
        gate.opened.set()
        await harness.routes.load_in_thread(registry.APIS[METADATA], 0)
        gate.opened.clear()
        waiting = harness.send(first, CREATE_TOPICS, 2, NO_TOPICS)
        assert isinstance(waiting, Pending)
        assert waiting.holds_back
        assert isinstance(harness.send(other, METADATA, 0, struct.pack(">i", 0)), list)
        assert not waiting.is_done
        gate.opened.set()
        await harness.dispatcher.drain()
        assert waiting.parts
        assert isinstance(harness.send(first, METADATA, 0, struct.pack(">i", 0)), list)
        assert threading.get_ident() not in gate.threads

    asyncio.run(scenario())


def test_two_connections_wait_for_one_load(node: Node, gate: Gate, thread: ThreadPoolExecutor) -> None:
    async def scenario() -> None:
        harness = Harness(node, thread)
        answers = [harness.send(FakeConnection(), CREATE_TOPICS, 2, NO_TOPICS) for _ in range(2)]
        gate.opened.set()
        await harness.dispatcher.drain()
        assert all(isinstance(each, Pending) and each.parts for each in answers)
        assert gate.keys == [CREATE_TOPICS]

    asyncio.run(scenario())


def test_unsupported_version_of_api_versions_waits_for_version_0(
    node: Node, gate: Gate, thread: ThreadPoolExecutor
) -> None:
    async def scenario() -> None:
        harness = Harness(node, thread)
        first = harness.send(FakeConnection(), API_VERSIONS, 99)
        gate.opened.set()
        await harness.dispatcher.drain()
        assert isinstance(first, Pending)
        (data,) = first.parts
        assert isinstance(data, bytes)
        unsupported_version = 35
        assert struct.unpack_from(">iih", data)[1:] == (7, unsupported_version)
        assert harness.send(FakeConnection(), API_VERSIONS, 99) == [data]

    asyncio.run(scenario())


def test_request_of_a_client_that_hung_up_is_done_after_the_load(
    node: Node, gate: Gate, thread: ThreadPoolExecutor
) -> None:
    done: list[bool] = []

    async def handle(*_: object) -> Reply:
        done.append(True)
        return Reply(topics=[])

    async def scenario() -> None:
        gate.handlers[CREATE_TOPICS] = handle
        harness = Harness(node, thread)
        answer = harness.send(FakeConnection(), CREATE_TOPICS, 2, NO_TOPICS)
        assert isinstance(answer, Pending)
        answer.cancel()
        gate.opened.set()
        await harness.dispatcher.drain()
        assert done == [True]
        assert not answer.parts

    asyncio.run(scenario())


def test_request_that_cannot_be_read_closes_the_connection_after_the_load(
    node: Node, gate: Gate, thread: ThreadPoolExecutor
) -> None:
    async def scenario() -> None:
        harness, connection = Harness(node, thread), FakeConnection()
        harness.send(connection, METADATA, 1, b"\x00")
        gate.opened.set()
        await harness.dispatcher.drain()
        assert connection.closed[0][0].startswith("malformed request")

    asyncio.run(scenario())


def test_route_that_cannot_be_loaded_closes_the_connection_and_is_tried_again(
    node: Node, monkeypatch: pytest.MonkeyPatch, thread: ThreadPoolExecutor
) -> None:
    async def scenario() -> None:
        harness, connection = Harness(node, thread), FakeConnection()
        with monkeypatch.context() as patch:
            patch.setattr(routes, "handler_of", lambda key: {}[key])
            harness.send(connection, METADATA, 0, struct.pack(">i", 0))
            await harness.dispatcher.drain()
        assert connection.closed == [("internal error", True)]
        again = harness.send(FakeConnection(), METADATA, 0, struct.pack(">i", 0))
        await harness.dispatcher.drain()
        assert isinstance(again, Pending)
        assert again.parts

    asyncio.run(scenario())


def test_pending_becomes_what_the_handler_returns() -> None:
    late, inner, calls = Pending(), Pending(holds_back=False), list[str]()
    late.when_complete(lambda: calls.append("called"))
    late.become(inner)
    assert (late.holds_back, late.is_done, calls) == (False, False, ["called"])
    inner.complete([b"answer"])
    assert late.parts == [b"answer"]
    assert len(calls) == 2


def test_pending_of_a_closed_connection_cancels_what_the_handler_returns() -> None:
    cancelled: list[bool] = []
    late, inner = Pending(), Pending(cancel=lambda: cancelled.append(True))
    late.cancel()
    late.become(inner)
    assert cancelled == [True]


def test_pending_without_a_response_sends_nothing() -> None:
    late = Pending()
    late.become(None)
    assert late.is_done
    assert late.parts == []
