"""Simulated connections: order, cuts in one direction, resets, and what peers see of a host that dies."""

import asyncio
import socket
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from tests.simulation.network import Network
from tests.simulation.node_loop import NodeLoop
from tests.simulation.pipe import CAPACITY
from tests.simulation.scheduler import Scheduler, TimeLimit
from tests.simulation.transports import Host

PORT = 9092


class Recorder(asyncio.Protocol):
    """Keeps what it receives; a test waits for it."""

    def __init__(self, echoes: bool = False) -> None:
        self.data: bytearray = bytearray()
        self.echoes: bool = echoes
        self.is_lost: bool = False
        self.error: Exception | None = None
        self.transport: asyncio.Transport

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.data += data
        if self.echoes:
            self.transport.write(data)

    def connection_lost(self, error: Exception | None) -> None:
        self.is_lost, self.error = True, error


class Pair:
    """A server on `right`, and a client on `left` that is connected to it."""

    def __init__(self, seed: int = 1) -> None:
        self.scheduler: Scheduler = Scheduler(seed)
        self.network: Network = Network(self.scheduler)
        self.left: NodeLoop = NodeLoop.on(self.scheduler, "left")
        self.right: NodeLoop = NodeLoop.on(self.scheduler, "right")
        Host(self.network, self.left)
        Host(self.network, self.right)
        self.accepted: list[Recorder] = []
        self.right.run(self.right.create_server(self._accept, "right", PORT))
        self.client: Recorder = self.connect()
        self.wait(lambda: bool(self.accepted))

    def _accept(self) -> Recorder:
        self.accepted.append(Recorder())
        return self.accepted[-1]

    @property
    def server(self) -> Recorder:
        return self.accepted[0]

    def connect(self, limit: float = 600.0) -> Recorder:
        client = self.left.run(self.left.create_connection(Recorder, "right", PORT), limit)[1]
        assert isinstance(client, Recorder)
        return client

    def wait(self, condition: Callable[[], bool], limit: float = 10.0) -> None:
        self.scheduler.run_until(condition, limit)

    def call(self, loop: NodeLoop, function: Callable[..., object], *args: object) -> None:
        """As code of that node."""

        async def run() -> None:
            function(*args)

        work: Awaitable[None] = run()
        loop.run(work)  # type: ignore[arg-type]


@pytest.fixture
def pair() -> Pair:
    return Pair()


@pytest.mark.parametrize("seed", range(5))
def test_bytes_arrive_in_order_and_late(seed: int) -> None:
    pair = Pair(seed)
    sent = b"".join(b"%d," % number for number in range(200))
    began = pair.scheduler.now
    for start in range(0, len(sent), 7):
        pair.client.transport.write(sent[start : start + 7])
    pair.wait(lambda: len(pair.server.data) == len(sent))
    assert bytes(pair.server.data) == sent
    assert pair.scheduler.now > began


def test_both_directions_work(pair: Pair) -> None:
    pair.server.echoes = True
    pair.client.transport.write(b"hello")
    pair.wait(lambda: pair.client.data == b"hello")


def test_cut_stalls_one_direction_until_it_is_healed(pair: Pair) -> None:
    pair.network.cut("left", "right")
    pair.client.transport.write(b"lost")
    pair.server.transport.write(b"arrives")
    pair.wait(lambda: pair.client.data == b"arrives")
    pair.scheduler.run_for(10)
    assert pair.server.data == b""
    pair.client.transport.write(b" and found")
    pair.network.heal("left", "right")
    pair.wait(lambda: pair.server.data == b"lost and found")


def test_sender_gives_up_a_connection_that_stays_cut(pair: Pair) -> None:
    pair.network.cut("left", "right")
    pair.client.transport.write(b"lost")
    pair.wait(lambda: pair.client.is_lost, 200)
    assert isinstance(pair.client.error, TimeoutError)
    assert not pair.server.is_lost


@pytest.mark.parametrize("direction", [("left", "right"), ("right", "left")])
def test_connecting_needs_both_directions(pair: Pair, direction: tuple[str, str]) -> None:
    pair.network.cut(*direction)
    with pytest.raises(TimeLimit):
        pair.connect(limit=20)
    pair.network.heal(*direction)
    pair.wait(lambda: len(pair.accepted) >= 2)


def test_closed_connection_ends_after_its_last_bytes(pair: Pair) -> None:
    pair.client.transport.write(b"bye")
    pair.client.transport.close()
    pair.wait(lambda: pair.server.is_lost)
    assert pair.server.data == b"bye"
    assert pair.server.error is None


def test_reset_ends_both_sides_with_an_error(pair: Pair) -> None:
    pair.network.reset_connections("left", "right")
    pair.wait(lambda: pair.client.is_lost and pair.server.is_lost)
    assert isinstance(pair.client.error, ConnectionResetError)


def test_killed_process_has_its_connections_closed(pair: Pair) -> None:
    pair.right.kill()
    pair.network.close_all("right")
    pair.wait(lambda: pair.client.is_lost)
    with pytest.raises(ConnectionRefusedError):
        pair.connect()


def test_host_without_power_answers_nothing_and_resets_after_its_return(pair: Pair) -> None:
    pair.right.kill()
    pair.network.power_off("right")
    pair.client.transport.write(b"anyone?")
    pair.scheduler.run_for(20)
    assert not pair.client.is_lost
    pair.network.power_on("right")
    pair.client.transport.write(b"and now?")
    pair.network.heal_all()
    pair.wait(lambda: pair.client.is_lost)
    assert isinstance(pair.client.error, ConnectionResetError)


def test_paused_process_accepts_and_receives_in_its_kernel(pair: Pair) -> None:
    pair.right.pause()
    late = pair.connect()
    late.transport.write(b"waits")
    pair.scheduler.run_for(5)
    assert len(pair.accepted) == 1
    pair.right.resume()
    pair.wait(lambda: len(pair.accepted) == 2 and pair.accepted[1].data == b"waits")


def test_sender_waits_for_a_peer_that_does_not_read(pair: Pair) -> None:
    size = 3 * CAPACITY
    pair.server.transport.pause_reading()
    pair.client.transport.write(bytes(size))
    pair.scheduler.run_for(5)
    assert pair.client.transport.get_write_buffer_size() == size - CAPACITY
    pair.call(pair.right, pair.server.transport.resume_reading)
    pair.wait(lambda: len(pair.server.data) == size)


def test_sockets_do_not_block(pair: Pair) -> None:
    sock = pair.network.socket("left")
    pair.left.run(pair.left.sock_connect(sock, ("right", PORT)))
    with pytest.raises(BlockingIOError):
        sock.recv_into(bytearray(10))
    assert sock.send(b"abc") == 3
    sock.shutdown(socket.SHUT_WR)
    with pytest.raises(BrokenPipeError):
        sock.send(b"more")
    pair.wait(lambda: len(pair.accepted) == 2 and pair.accepted[1].data == b"abc")


def test_two_listeners_cannot_share_an_address(pair: Pair) -> None:
    with pytest.raises(OSError, match="in use"):
        pair.right.run(pair.right.create_server(Recorder, "right", PORT))
