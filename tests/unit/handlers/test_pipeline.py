"""Stages and what their verdicts do, around a handler that the test controls."""

import asyncio
import struct
from collections.abc import Callable, Coroutine
from typing import Any, cast

import pytest
from tests.fakes.connection import FakeConnection

from barnabas.base.clock import ManualClock
from barnabas.handlers.exchange import Exchange
from barnabas.handlers.pipeline import Delay, Disconnect, Drop, Pipeline, Respond, Stage, Verdict
from barnabas.network.connection import Connection
from barnabas.network.request_memory import RequestMemory
from barnabas.network.responses import Parts, Pending
from barnabas.network.send_queue import SentMark

FRAME = struct.pack(">hhih", 3, 0, 7, 2) + b"me" + struct.pack(">i", 0)


class Recording(Stage):
    """Writes what it sees to a journal, and decides as it is given."""

    def __init__(
        self,
        name: str,
        journal: list[str],
        before: Verdict | None = None,
        after: Verdict | None = None,
    ) -> None:
        self.name: str = name
        self.journal: list[str] = journal
        self.verdicts: tuple[Verdict | None, Verdict | None] = before, after
        self.seen: list[Exchange] = []

    def before(self, exchange: Exchange) -> Verdict | None:
        self.journal.append(f"{self.name} before")
        self.seen.append(exchange)
        return self.verdicts[0]

    def after(self, exchange: Exchange) -> Verdict | None:
        end = "disconnected" if exchange.is_disconnected else exchange.response
        self.journal.append(f"{self.name} after {end}")
        return self.verdicts[1]


class Harness:
    def __init__(self, *stages: Stage, answer: Callable[[bytes], Parts | Pending | None]) -> None:
        self.connection: FakeConnection = FakeConnection()
        self.clock: ManualClock = ManualClock()
        self.memory: RequestMemory = RequestMemory()
        self.answer: Callable[[bytes], Parts | Pending | None] = answer
        self.handled: list[bytes] = []
        self._pipeline: Pipeline = Pipeline(
            self._handle, stages, asyncio.get_running_loop(), self.clock.monotonic, self.memory
        )

    def _handle(self, connection: Connection, frame: memoryview) -> Parts | Pending | None:
        self.handled.append(bytes(frame))
        return self.answer(bytes(frame))

    def send(self, frame: bytes = FRAME) -> Parts | Pending | None:
        """Dispatch a frame as a connection does; its buffer is overwritten afterwards."""
        buffer = bytearray(frame)
        result = self._pipeline.on_frame(cast(Connection, self.connection), memoryview(buffer).toreadonly())
        buffer[:] = bytes(len(buffer))
        if isinstance(result, Pending):
            self.connection.on_close = result.cancel
        return result


def run(scenario: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(scenario())


def responds(_: bytes) -> Parts:
    return [b"response"]


async def completed(pending: Parts | Pending | None) -> Parts:
    assert isinstance(pending, Pending)
    while not pending.is_done:
        await asyncio.sleep(0)
    return pending.parts


def test_stages_see_a_request_in_order_and_its_response_in_reverse() -> None:
    async def scenario() -> None:
        journal: list[str] = []
        harness = Harness(Recording("a", journal), Recording("b", journal), answer=responds)
        assert harness.send() == [b"response"]
        assert harness.handled == [FRAME]
        assert journal == ["a before", "b before", "b after [b'response']", "a after [b'response']"]

    run(scenario)


def test_requests_go_straight_to_the_handler_while_every_stage_is_idle() -> None:
    async def scenario() -> None:
        journal: list[str] = []
        idle, busy = Recording("idle", journal), Recording("busy", journal)
        idle.is_idle = busy.is_idle = True
        harness = Harness(idle, busy, answer=responds)
        assert harness.send() == [b"response"]
        assert journal == []
        busy.is_idle = False
        harness.send()
        assert journal[:2] == ["idle before", "busy before"]

    run(scenario)


def test_exchange_has_header_client_principal_and_body() -> None:
    async def scenario() -> None:
        found: list[Any] = []

        class Reading(Stage):
            def before(self, exchange: Exchange) -> None:
                assert exchange.header is not None
                found.extend([exchange.api_key, exchange.header.correlation_id, exchange.client_id])
                found.extend([str(exchange.principal), exchange.body().topics])

        Harness(Reading(), answer=responds).send()
        assert found == [3, 7, "me", "User:ANONYMOUS", ()]

    run(scenario)


def test_response_that_waits_passes_the_stages_when_it_is_complete() -> None:
    async def scenario() -> None:
        journal: list[str] = []
        inner = Pending(holds_back=False)
        stage = Recording("a", journal)
        harness = Harness(stage, answer=lambda _: inner)
        pending = harness.send()
        assert isinstance(pending, Pending)
        assert not pending.holds_back
        assert journal == ["a before"]
        harness.clock.advance(250)
        inner.complete([b"late"])
        assert pending.parts == [b"late"]
        assert journal == ["a before", "a after [b'late']"]
        (exchange,) = stage.seen
        assert exchange.completed - exchange.handled == 0.25

    run(scenario)


def test_release_lets_later_requests_go_on() -> None:
    async def scenario() -> None:
        inner = Pending()
        pending = Harness(Recording("a", []), answer=lambda _: inner).send()
        assert isinstance(pending, Pending)
        held_back = [pending.holds_back]
        inner.release()
        held_back.append(pending.holds_back)
        assert held_back == [True, False]
        assert not pending.is_done

    run(scenario)


def test_request_without_a_response_passes_the_stages() -> None:
    async def scenario() -> None:
        journal: list[str] = []
        assert Harness(Recording("a", journal), answer=lambda _: None).send() is None
        assert journal == ["a before", "a after None"]

    run(scenario)


@pytest.mark.parametrize(
    ("verdict", "sent"), [(Respond([b"refused"]), [b"refused"]), (Drop(), None), (Disconnect("fault"), None)]
)
def test_verdict_before_ends_the_request_without_its_handler(verdict: Verdict, sent: Parts | None) -> None:
    async def scenario() -> None:
        journal: list[str] = []
        harness = Harness(
            Recording("a", journal),
            Recording("b", journal, verdict),
            Recording("c", journal),
            answer=responds,
        )
        assert harness.send() == sent
        assert not harness.handled
        end = "disconnected" if isinstance(verdict, Disconnect) else str(sent)
        assert journal == ["a before", "b before", f"b after {end}", f"a after {end}"]
        assert harness.connection.closed == ([("fault", True)] if end == "disconnected" else [])

    run(scenario)


@pytest.mark.parametrize(
    ("verdict", "sent"), [(Respond([b"other"]), [b"other"]), (Drop(), None), (Disconnect("fault"), None)]
)
@pytest.mark.parametrize("waits", [False, True])
def test_verdict_after_replaces_the_response(verdict: Verdict, sent: Parts | None, waits: bool) -> None:
    async def scenario() -> None:
        inner = Pending()
        stage = Recording("a", [], after=verdict)
        harness = Harness(stage, answer=(lambda _: inner) if waits else responds)
        result = harness.send()
        if waits:
            inner.complete([b"response"])
            assert isinstance(result, Pending)
            assert result.is_done
            result = result.parts or None
        assert result == sent
        assert harness.connection.is_closed == isinstance(verdict, Disconnect)
        assert len(stage.journal) == 2

    run(scenario)


def test_delay_before_keeps_the_request_and_counts_its_memory() -> None:
    async def scenario() -> None:
        harness = Harness(Recording("a", [], Delay(0.001)), answer=responds)
        pending = harness.send()
        assert isinstance(pending, Pending)
        assert pending.holds_back
        assert not harness.handled
        assert harness.memory.used == len(FRAME)
        assert await completed(pending) == [b"response"]
        assert harness.handled == [FRAME]
        assert harness.memory.used == 0

    run(scenario)


def test_delayed_request_that_waits_passes_the_stages_once() -> None:
    async def scenario() -> None:
        journal: list[str] = []
        inner = Pending(holds_back=False)
        harness = Harness(Recording("a", journal, Delay(0)), answer=lambda _: inner)
        pending = harness.send()
        assert isinstance(pending, Pending)
        while not harness.handled:
            await asyncio.sleep(0)
        assert not pending.holds_back
        inner.complete([b"late"])
        assert pending.parts == [b"late"]
        assert journal == ["a before", "a after [b'late']"]

    run(scenario)


def test_delay_after_holds_the_response() -> None:
    async def scenario() -> None:
        harness = Harness(Recording("a", [], after=Delay(0.001)), answer=responds)
        pending = harness.send()
        assert harness.handled
        assert await completed(pending) == [b"response"]

    run(scenario)


@pytest.mark.parametrize("verdicts", [(Delay(600), None), (None, Delay(600)), (None, None)])
def test_disconnect_ends_what_waits_and_every_stage_gets_its_after(
    verdicts: tuple[Verdict | None, Verdict | None],
) -> None:
    async def scenario() -> None:
        journal: list[str] = []
        cancelled: list[bool] = []
        waits = verdicts == (None, None)
        inner = Pending(cancel=lambda: cancelled.append(True))
        outer = Recording("a", journal)
        harness = Harness(
            outer, Recording("b", journal, *verdicts), answer=(lambda _: inner) if waits else responds
        )
        pending = harness.send()
        harness.connection.close("closed by peer")
        assert isinstance(pending, Pending)
        assert pending.is_done
        assert journal[-1] == "a after disconnected"
        assert len(journal) == 4
        assert cancelled == [True] * waits
        assert harness.memory.used == 0
        inner.complete([b"too late"])
        assert len(journal) == 4

    run(scenario)


@pytest.mark.parametrize("hook", ["before", "after"])
def test_error_in_a_stage_closes_the_connection(hook: str, caplog: pytest.LogCaptureFixture) -> None:
    async def scenario() -> None:
        journal: list[str] = []
        broken = Recording("b", journal)
        setattr(broken, hook, lambda _: 1 / 0)
        harness = Harness(Recording("a", journal), broken, answer=responds)
        assert harness.send() is None
        assert harness.connection.closed == [("internal error", True)]
        assert bool(harness.handled) == (hook == "after")
        assert journal[-1] == "a after disconnected"

    run(scenario)
    assert "ZeroDivisionError" in caplog.text


def test_malformed_header_reaches_the_stages() -> None:
    async def scenario() -> None:
        stage = Recording("a", [])
        harness = Harness(stage, answer=lambda _: None)
        harness.send(b"\x00")
        (exchange,) = stage.seen
        assert exchange.header is None
        assert exchange.api_key == -1
        assert exchange.client_id is None

    run(scenario)


def test_stage_that_measures_learns_when_the_response_is_sent() -> None:
    async def scenario() -> None:
        times: list[float] = []

        class Measuring(Stage):
            def sent(self, exchange: Exchange) -> None:
                times.append(exchange.sent - exchange.completed)

        harness = Harness(Measuring(), answer=responds)
        result = harness.send()
        assert isinstance(result, list)
        mark = result[-1]
        assert isinstance(mark, SentMark)
        harness.clock.advance(30)
        mark.on_sent()
        assert times == [pytest.approx(0.03)]

    run(scenario)
