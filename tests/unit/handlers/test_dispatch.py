import asyncio
import logging
import struct
from collections.abc import Callable, Coroutine
from typing import Any, cast

import pytest
from tests.fakes.connection import FakeConnection
from tests.fakes.node import Node

from barnabas.base.deferred import Deferred
from barnabas.base.errors import InvalidRequest
from barnabas.handlers import registry, routes
from barnabas.handlers.context import Request
from barnabas.handlers.dispatch import Dispatcher
from barnabas.network.connection import Connection
from barnabas.network.responses import Parts, Pending
from barnabas.wire import Reply

METADATA, API_VERSIONS, CREATE_TOPICS, DELETE_RECORDS, INIT_PRODUCER_ID = 3, 18, 19, 21, 22


class Harness:
    def __init__(self, node: Node) -> None:
        self.connection: FakeConnection = FakeConnection()
        self.dispatcher: Dispatcher = Dispatcher(node.contexts, asyncio.get_running_loop())

    def send(
        self, key: int, version: int, body: bytes = b"", correlation_id: int = 7
    ) -> Parts | Pending | None:
        frame = struct.pack(">hhih", key, version, correlation_id, -1) + body
        return self.dispatcher.on_frame(cast(Connection, self.connection), memoryview(frame).toreadonly())


def run(scenario: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(scenario())


@pytest.fixture
def handlers(monkeypatch: pytest.MonkeyPatch) -> dict[int, Any]:
    """Handlers that replace the real ones, by API key."""
    replaced: dict[int, Any] = {}
    real = registry.handler_of
    monkeypatch.setattr(routes, "handler_of", lambda key: replaced.get(key) or real(key))
    return replaced


def test_answer_is_framed_and_carries_the_correlation_id(node: Node) -> None:
    async def scenario() -> None:
        answer = Harness(node).send(API_VERSIONS, 0, correlation_id=4711)
        assert isinstance(answer, list)
        (data,) = answer
        assert isinstance(data, bytes)
        assert struct.unpack_from(">iih", data) == (len(data) - 4, 4711, 0)

    run(scenario)


def test_unsupported_version_of_api_versions_is_answered_with_version_0(node: Node) -> None:
    async def scenario() -> None:
        harness = Harness(node)
        answer = harness.send(API_VERSIONS, 99)
        assert isinstance(answer, list)
        data = answer[0]
        assert isinstance(data, bytes)
        unsupported_version = 35
        assert struct.unpack_from(">iih", data)[1:] == (7, unsupported_version)
        assert not harness.connection.closed

    run(scenario)


@pytest.mark.parametrize(
    ("key", "version", "body", "reason"),
    [
        (999, 0, b"", "unknown API key 999"),
        (-5, 0, b"", "unknown API key -5"),
        (METADATA, 99, b"", "Metadata version 99 is not supported"),
        (METADATA, -1, b"", "Metadata version -1 is not supported"),
        (INIT_PRODUCER_ID, 6, b"", "InitProducerId version 6 is not supported"),
        (METADATA, 1, b"\x00", "malformed request"),
        (METADATA, 1, b"\x7f\xff\xff\xff", "malformed request"),
    ],
)
def test_violation_closes_the_connection(
    node: Node, key: int, version: int, body: bytes, reason: str
) -> None:
    async def scenario() -> None:
        harness = Harness(node)
        assert harness.send(key, version, body) is None
        ((cause, is_fault),) = harness.connection.closed
        assert cause.startswith(reason)
        assert is_fault

    run(scenario)


def test_defect_closes_the_connection_and_is_logged_with_its_traceback(
    node: Node, handlers: dict[int, Any], caplog: pytest.LogCaptureFixture
) -> None:
    def broken(context: object, request: Request) -> Reply:
        raise ZeroDivisionError

    async def scenario() -> None:
        handlers[METADATA] = broken
        harness = Harness(node)
        assert harness.send(METADATA, 0, struct.pack(">i", 0)) is None
        assert harness.connection.closed == [("internal error", True)]

    with caplog.at_level(logging.ERROR):
        run(scenario)
    (record,) = caplog.records
    assert record.exc_info is not None
    assert record.exc_info[0] is ZeroDivisionError


def test_error_that_a_handler_lets_through_closes_the_connection_without_traceback(
    node: Node, handlers: dict[int, Any], caplog: pytest.LogCaptureFixture
) -> None:
    def refusing(context: object, request: Request) -> Reply:
        raise InvalidRequest("not like this")

    async def scenario() -> None:
        handlers[METADATA] = refusing
        harness = Harness(node)
        assert harness.send(METADATA, 0, struct.pack(">i", 0)) is None
        assert harness.connection.closed == [("not like this", True)]

    run(scenario)
    assert not caplog.records


def test_handler_that_takes_time_is_answered_later_and_waited_for(
    node: Node, handlers: dict[int, Any]
) -> None:
    async def scenario() -> None:
        may_go_on = asyncio.Event()

        async def slow(context: object, request: Request) -> Reply:
            await may_go_on.wait()
            return Reply(topics=[])

        handlers[CREATE_TOPICS] = slow
        harness = Harness(node)
        pending = harness.send(CREATE_TOPICS, 2, struct.pack(">iib", 0, 0, 0))
        assert isinstance(pending, Pending)
        assert pending.holds_back
        assert not pending.parts
        may_go_on.set()
        await harness.dispatcher.drain()
        assert pending.parts

    run(scenario)


def test_an_answer_that_is_given_later_leaves_when_its_giver_is_done(
    node: Node, handlers: dict[int, Any]
) -> None:
    async def scenario() -> None:
        parked: Deferred[Reply] = Deferred()
        handlers[DELETE_RECORDS] = lambda context, request: parked
        harness = Harness(node)
        pending = harness.send(DELETE_RECORDS, 0, struct.pack(">ii", 0, 0))
        assert isinstance(pending, Pending)
        parked.complete(Reply(topics=[]))
        assert not pending.is_done
        await asyncio.sleep(0)
        assert pending.parts
        at_once = harness.send(DELETE_RECORDS, 0, struct.pack(">ii", 0, 0))
        assert isinstance(at_once, list)

    run(scenario)


def test_request_is_completed_although_its_client_disconnected(node: Node, handlers: dict[int, Any]) -> None:
    async def scenario() -> None:
        done: list[bool] = []

        async def slow(context: object, request: Request) -> Reply:
            await asyncio.sleep(0)
            done.append(True)
            return Reply(topics=[])

        handlers[CREATE_TOPICS] = slow
        harness = Harness(node)
        pending = harness.send(CREATE_TOPICS, 2, struct.pack(">iib", 0, 0, 0))
        assert isinstance(pending, Pending)
        pending.cancel()
        await harness.dispatcher.drain()
        assert done == [True]
        assert not pending.parts

    run(scenario)


def test_defect_in_a_handler_that_takes_time_closes_the_connection(
    node: Node, handlers: dict[int, Any], caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario() -> None:
        async def broken(context: object, request: Request) -> Reply:
            raise ZeroDivisionError

        handlers[CREATE_TOPICS] = broken
        harness = Harness(node)
        harness.send(CREATE_TOPICS, 2, struct.pack(">iib", 0, 0, 0))
        await harness.dispatcher.drain()
        assert harness.connection.closed == [("internal error", True)]

    run(scenario)
    assert "Unexpected error" in caplog.text
