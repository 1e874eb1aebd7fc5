"""A connection over a real socket pair: order, back pressure, file ranges, disconnects."""

import asyncio
import socket
import struct
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.patience import PATIENCE

from barnabas.base.loop_holds import LoopHolds
from barnabas.base.ranges import FileRange
from barnabas.network.connection import BACKLOG_LIMIT, RECEIVE_BUFFER_SIZE, UNSENT_LIMIT, Connection, Peer
from barnabas.network.framing import FrameBuffers
from barnabas.network.request_memory import RequestMemory
from barnabas.network.responses import Parts, Pending
from barnabas.network.turn import Turn

MAX_FRAME = 1 << 20


class Plain(NamedTuple):
    fd: int
    path: Path


class Harness:
    """One connection, the frames it dispatched, and the client's end."""

    def __init__(
        self,
        answer: Callable[[bytes], Parts | Pending | None],
        turn: Turn | None = None,
        memory: RequestMemory | None = None,
    ) -> None:
        self.seen: list[bytes] = []
        self.closed: list[Connection] = []
        self.client, server = socket.socketpair()
        server.setblocking(False)
        self.client.setblocking(False)
        self._answer = answer
        self.connection = Connection(
            server,
            Peer("test", 0, "PLAINTEXT"),
            asyncio.get_running_loop(),
            memoryview(bytearray(RECEIVE_BUFFER_SIZE)),
            max_frame=MAX_FRAME,
            buffers=FrameBuffers(memory),
            turn=turn,
            on_frame=self._on_frame,
            on_closed=self.closed.append,
        )

    def _on_frame(self, connection: Connection, frame: memoryview) -> Parts | Pending | None:
        self.seen.append(bytes(frame))
        return self._answer(bytes(frame))

    async def send(self, *payloads: bytes) -> None:
        stream = b"".join(struct.pack(">i", len(payload)) + payload for payload in payloads)
        await asyncio.get_running_loop().sock_sendall(self.client, stream)

    async def receive(self, count: int) -> bytes:
        received = bytearray()
        async with asyncio.timeout(PATIENCE):
            while len(received) < count:
                chunk = await asyncio.get_running_loop().sock_recv(self.client, 1 << 16)
                if not chunk:
                    break
                received += chunk
        return bytes(received)

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE):
            while not condition():
                await asyncio.sleep(0)

    async def turns(self, count: int) -> None:
        """Let the loop go round, for what must not happen."""
        for _ in range(count):
            await asyncio.sleep(0)

    def close(self) -> None:
        self.connection.close("test is over")
        self.client.close()


def run(scenario: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(scenario())


def test_immediate_answers_come_back_in_order() -> None:
    async def scenario() -> None:
        harness = Harness(lambda frame: [frame, b"|"])
        await harness.send(b"a", b"b", b"c")
        assert await harness.receive(6) == b"a|b|c|"
        harness.close()

    run(scenario)


def test_empty_part_of_an_answer_is_left_out() -> None:
    """An empty part would never count as sent, and the connection would retry for ever.

    So check the queue.
    """

    async def scenario() -> None:
        harness = Harness(lambda _: None)
        harness.connection._out.add([b"", b"a", b""])
        assert harness.connection._out.parts == [b"a"]
        harness.close()

    run(scenario)


def test_a_later_answer_waits_for_an_earlier_pending_one() -> None:
    async def scenario() -> None:
        pending = Pending(holds_back=False)
        harness = Harness(lambda frame: pending if frame == b"slow" else [frame])
        await harness.send(b"slow", b"quick")
        await harness.until(lambda: harness.seen == [b"slow", b"quick"])
        pending.complete([b"done,"])
        assert await harness.receive(10) == b"done,quick"
        harness.close()

    run(scenario)


def test_a_pending_request_that_holds_back_delays_dispatch_of_the_next() -> None:
    async def scenario() -> None:
        pending = Pending()
        harness = Harness(lambda frame: pending if frame == b"slow" else [frame])
        await harness.send(b"slow", b"next")
        await harness.until(lambda: bool(harness.seen))
        await harness.send(b"later")
        await harness.turns(20)
        assert harness.seen == [b"slow"]
        pending.complete([b"done,"])
        assert await harness.receive(14) == b"done,nextlater"
        harness.close()

    run(scenario)


def test_file_ranges_keep_their_order_between_bytes(tmp_path: Path) -> None:
    async def scenario() -> None:
        path = tmp_path / "records"
        path.write_bytes(bytes(range(256)) * 8192)  # 2 MiB: more than a socket takes at once
        with path.open("rb") as file:
            record_range = FileRange(Plain(file.fileno(), path), 256, 2 * 1024 * 1024 - 512)
            harness = Harness(lambda frame: [b"<", record_range, b">" + frame])
            await harness.send(b"1", b"2")
            expected = b"<" + path.read_bytes()[256:-256] + b">"
            received = await harness.receive(2 * len(expected) + 2)
            assert received == expected + b"1" + expected + b"2"
            harness.close()

    run(scenario)


def test_a_file_shorter_than_announced_closes_the_connection(tmp_path: Path) -> None:
    async def scenario() -> None:
        path = tmp_path / "records"
        path.write_bytes(b"short")
        with path.open("rb") as file:
            harness = Harness(lambda frame: [FileRange(Plain(file.fileno(), path), 0, 100), b"after"])
            await harness.send(b"1")
            assert await harness.receive(105) == b"short"
            assert harness.connection.is_closed
            harness.close()

    run(scenario)


def test_a_client_that_does_not_read_is_not_served_further() -> None:
    async def scenario() -> None:
        harness = Harness(lambda frame: [bytes(200_000)])
        for _ in range(60):
            await harness.send(b"give")
        dispatched = 0
        while len(harness.seen) > dispatched:
            dispatched = len(harness.seen)
            await harness.turns(20)
        assert dispatched * 200_000 < UNSENT_LIMIT + 3_000_000
        received = await harness.receive(60 * 200_000)
        assert len(received) == 60 * 200_000
        assert len(harness.seen) == 60
        harness.close()

    run(scenario)


def test_a_disconnect_cancels_pending_responses() -> None:
    async def scenario() -> None:
        cancelled: list[bool] = []
        pending = Pending(cancel=lambda: cancelled.append(True))
        harness = Harness(lambda frame: pending)
        await harness.send(b"wait")
        await harness.until(lambda: bool(harness.seen))
        harness.client.close()
        await harness.until(lambda: bool(harness.closed))
        assert cancelled == [True]
        pending.complete([b"too late"])

    run(scenario)


@pytest.mark.parametrize("size", [-5, MAX_FRAME + 1])
def test_an_invalid_length_closes_the_connection(size: int) -> None:
    async def scenario() -> None:
        harness = Harness(lambda frame: [frame])
        await asyncio.get_running_loop().sock_sendall(harness.client, struct.pack(">i", size))
        await harness.until(lambda: harness.connection.is_closed)
        assert await harness.receive(1) == b""
        assert not harness.seen
        harness.client.close()

    run(scenario)


def test_frames_larger_than_the_shared_buffer_arrive_whole() -> None:
    async def scenario() -> None:
        harness = Harness(lambda frame: [frame[:4]])
        large = [bytes([number]) * 900_000 for number in range(3)]
        await harness.send(*large, b"tiny")
        assert await harness.receive(16) == b"\x00" * 4 + b"\x01" * 4 + b"\x02" * 4 + b"tiny"
        assert harness.seen == [*large, b"tiny"]
        harness.close()

    run(scenario)


def test_a_released_request_lets_later_ones_through_but_is_answered_first() -> None:
    async def scenario() -> None:
        pending = Pending()
        harness = Harness(lambda frame: pending if frame == b"slow" else [frame])
        await harness.send(b"slow", b"quick")
        await harness.until(lambda: bool(harness.seen))
        assert harness.seen == [b"slow"]
        pending.release()
        await harness.until(lambda: len(harness.seen) == 2)
        pending.complete([b"slow|"])
        assert await harness.receive(10) == b"slow|quick"
        harness.close()

    run(scenario)


def test_request_that_holds_the_loop_too_long_is_reported_and_no_other() -> None:
    async def scenario() -> None:
        now = 0.0
        held: list[tuple[bytes, float]] = []

        def answer(frame: bytes) -> Parts:
            nonlocal now
            now += 0.5 if frame == b"slow" else 0.015
            return [frame]

        turn = Turn(
            asyncio.get_running_loop(),
            LoopHolds(clock=lambda: now),
            lambda connection, frame, seconds: held.append((bytes(frame), seconds)),
        )
        harness = Harness(answer, turn)
        await harness.send(b"quick", b"slow", b"after", b"last")
        assert await harness.receive(18) == b"quickslowafterlast"
        assert held == [(b"slow", 0.5)]
        harness.close()

    run(scenario)


def test_answers_behind_an_unanswered_request_count_against_the_connection() -> None:
    async def scenario() -> None:
        first = Pending(holds_back=False)
        harness = Harness(lambda frame: first if frame == b"first" else [bytes(UNSENT_LIMIT // 4)])
        await harness.send(b"first", *[b"next"] * 12)
        await harness.until(lambda: len(harness.seen) > 5)
        for _ in range(100):
            await asyncio.sleep(0)
        assert len(harness.seen) < 10
        first.complete([b"x"])
        size = 1 + 12 * (UNSENT_LIMIT // 4)
        assert len(await harness.receive(size)) == size
        harness.close()

    run(scenario)


def test_no_request_is_begun_while_others_hold_all_memory() -> None:
    async def scenario() -> None:
        memory = RequestMemory(1000)
        harness = Harness(lambda frame: [b"ok"], memory=memory)
        memory.hold(1000)
        await harness.send(b"a")
        for _ in range(100):
            await asyncio.sleep(0)
        assert harness.seen == []
        memory.free(1)
        assert await harness.receive(2) == b"ok"
        harness.close()

    run(scenario)


def test_request_under_way_is_read_to_its_end_and_frees_its_memory() -> None:
    async def scenario() -> None:
        memory = RequestMemory(1000)
        harness = Harness(lambda frame: [b"ok"], memory=memory)
        frame = struct.pack(">i", 5000) + bytes(5000)
        loop = asyncio.get_running_loop()
        await loop.sock_sendall(harness.client, frame[:100])
        await harness.until(lambda: memory.is_exhausted)
        assert memory.used == 5000
        await loop.sock_sendall(harness.client, frame[100:])
        assert await harness.receive(2) == b"ok"
        assert memory.used == 0
        harness.close()

    run(scenario)


def test_connection_that_is_closed_in_the_middle_of_a_request_frees_its_memory() -> None:
    async def scenario() -> None:
        memory = RequestMemory(1000)
        harness = Harness(lambda frame: [b"ok"], memory=memory)
        await asyncio.get_running_loop().sock_sendall(harness.client, struct.pack(">i", 5000) + b"abc")
        await harness.until(lambda: memory.used == 5000)
        harness.close()
        assert memory.used == 0
        assert not memory.is_exhausted

    run(scenario)


def test_muted_connection_stops_reading_at_the_backlog_limit_and_goes_on_later() -> None:
    async def scenario() -> None:
        harness = Harness(lambda frame: [frame[:1]])
        harness.connection.mute(600)
        loop = asyncio.get_running_loop()
        sending = loop.create_task(harness.send(*[b"x" * 1000] * 2000))
        await harness.until(lambda: not harness.connection._is_reading)
        assert not harness.seen
        assert harness.connection._reader.kept < BACKLOG_LIMIT + RECEIVE_BUFFER_SIZE
        assert harness.connection._unmute is not None
        harness.connection._on_unmute()
        assert len(await harness.receive(2000)) == 2000
        await sending
        harness.close()

    run(scenario)


def test_shorter_mute_does_not_end_a_longer_one() -> None:
    async def scenario() -> None:
        harness = Harness(lambda frame: [frame])
        harness.connection.mute(600)
        harness.connection.mute(0)
        await harness.send(b"a")
        await harness.until(lambda: bool(harness.connection._reader.kept))
        await asyncio.sleep(0)
        assert not harness.seen
        harness.close()
        assert harness.connection._unmute is not None
        assert harness.connection._unmute.cancelled()

    run(scenario)
