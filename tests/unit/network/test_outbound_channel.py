import asyncio
import struct
from collections.abc import Callable, Coroutine
from itertools import pairwise
from random import Random
from typing import Any

import pytest
from tests.fakes.memory_network import MemoryBroker, MemoryConnection
from tests.fakes.virtual_time import run_virtually

from barnabas.base.errors import UnsupportedVersion
from barnabas.network.errors import BrokerDisconnected
from barnabas.network.outbound_channel import ChannelSettings, OutboundChannel, Response
from barnabas.network.transport import Endpoint
from barnabas.wire.outgoing_request import OutgoingRequest, RequestBuilder

ENDPOINT = Endpoint("b1", 9092)
HEARTBEAT = 12
SETTINGS = ChannelSettings("broker-2", request_timeout=30, connection_setup_timeout=10)
Received = list[tuple[MemoryConnection, int, int, bytes]]


def _request(body: bytes = b"", oldest: int = 0, newest: int = 4) -> RequestBuilder:
    def build(version: int) -> OutgoingRequest:
        return OutgoingRequest("heartbeat", HEARTBEAT, version, version >= 4, [body, b"!"])

    return RequestBuilder("heartbeat", HEARTBEAT, oldest, newest, build)


class Bench:
    """A channel, the broker it connects to, and the requests that arrived there."""

    def __init__(self, served: tuple[int, int] = (0, 4), chunk_size: int = 1 << 30) -> None:
        self.received: Received = []
        self.broker: MemoryBroker = MemoryBroker(self._keep, {HEARTBEAT: served}, chunk_size=chunk_size)
        loop = asyncio.get_running_loop()
        self.channel: OutboundChannel = OutboundChannel(
            ENDPOINT, SETTINGS, self.broker.connect, loop, Random(7)
        )

    def _keep(
        self, connection: MemoryConnection, key: int, version: int, correlation_id: int, rest: bytes
    ) -> None:
        self.received.append((connection, version, correlation_id, rest))

    async def arrived(self, count: int) -> None:
        async with asyncio.timeout(20):
            while len(self.received) < count:
                await asyncio.sleep(0.001)

    def answer(self, number: int, body: bytes = b"", *, tags: bytes = b"\x00") -> None:
        connection, version, correlation_id, _ = self.received[number]
        connection.respond(correlation_id, (tags if version >= 4 else b"") + body)


def virtually(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    def run(*args: Any, **kwargs: Any) -> None:
        run_virtually(test(*args, **kwargs))

    run.__name__ = test.__name__
    run.__doc__ = test.__doc__
    return run


@virtually
async def test_request_carries_the_client_id_and_its_response_comes_without_the_header() -> None:
    bench = Bench()
    future = bench.channel.send(_request(b"body"))
    await bench.arrived(1)
    _, version, _, rest = bench.received[0]
    assert (version, rest) == (4, struct.pack(">h", 8) + b"broker-2" + b"\x00" + b"body!")
    bench.answer(0, b"fine")
    response = await future
    assert (response.version, bytes(response.body)) == (4, b"fine")


@pytest.mark.parametrize("chunk_size", [1, 3, 1 << 30])
def test_responses_belong_to_requests_in_order(chunk_size: int) -> None:
    @virtually
    async def run() -> None:
        bench = Bench(chunk_size=chunk_size)
        futures = [bench.channel.send(_request()) for _ in range(5)]
        await bench.arrived(5)
        for number in range(5):
            bench.answer(number, bytes([number]) * (number * 50_000))
        found = [bytes((await future).body) for future in futures]
        assert found == [bytes([number]) * (number * 50_000) for number in range(5)]
        assert len(bench.broker.connections) == 1

    run()


@virtually
async def test_large_response_is_a_view_that_the_next_one_does_not_overwrite() -> None:
    bench = Bench()
    futures = [bench.channel.send(_request()) for _ in range(6)]
    await bench.arrived(6)
    bodies = []
    for number, future in enumerate(futures):
        bench.answer(number, bytes([number]) * 300_000)
        bodies.append((await future).body)
    assert [set(bytes(body)) for body in bodies] == [{number} for number in range(6)]


@virtually
async def test_version_is_the_newest_that_both_sides_serve() -> None:
    bench = Bench(served=(0, 2))
    future = bench.channel.send(_request())
    await bench.arrived(1)
    bench.answer(0)
    assert (await future).version == 2
    with pytest.raises(UnsupportedVersion, match="no version of HEARTBEAT between 3 and 4"):
        await bench.channel.send(_request(oldest=3))
    assert len(bench.broker.connections) == 1


@virtually
async def test_broker_without_api_versions_3_gets_version_0() -> None:
    bench = Bench()
    bench.broker.newest_api_versions = 0
    future = bench.channel.send(_request())
    await bench.arrived(1)
    bench.answer(0, b"fine")
    assert bytes((await future).body) == b"fine"


@virtually
async def test_late_response_closes_the_connection_and_fails_all_in_flight() -> None:
    bench = Bench()
    loop = asyncio.get_running_loop()
    futures = [bench.channel.send(_request(), timeout=5), bench.channel.send(_request())]
    started = loop.time()
    results = await asyncio.gather(*futures, return_exceptions=True)
    assert [type(each) for each in results] == [BrokerDisconnected] * 2
    assert "did not respond to HEARTBEAT in 5 s" in str(results[0])
    assert 4.9 < loop.time() - started < 5.1
    assert bench.broker.connections[0].is_closed
    again = bench.channel.send(_request())
    await bench.arrived(3)
    bench.answer(2, b"new connection")
    assert bytes((await again).body) == b"new connection"


@virtually
async def test_connection_that_is_not_set_up_in_time_fails_its_requests() -> None:
    for attribute in ("is_hanging", "is_silent"):
        bench = Bench()
        setattr(bench.broker, attribute, True)
        with pytest.raises(BrokerDisconnected, match="was not set up within 10 s"):
            await bench.channel.send(_request())
        assert all(each.is_closed for each in bench.broker.connections)


@virtually
async def test_request_that_times_out_before_the_connection_fails_alone() -> None:
    bench = Bench()
    bench.broker.is_hanging = True
    quick, patient = bench.channel.send(_request(), timeout=1), bench.channel.send(_request())
    with pytest.raises(BrokerDisconnected, match="in 1 s"):
        await quick
    assert not patient.done()
    with pytest.raises(BrokerDisconnected):
        await patient


@virtually
async def test_backoff_grows_to_its_limit_and_ends_with_success() -> None:
    bench = Bench()
    bench.broker.is_down = True
    for _ in range(9):
        with pytest.raises(BrokerDisconnected, match="Connection refused"):
            await bench.channel.send(_request())
    attempts = bench.broker.attempts
    delays = [later - earlier for earlier, later in pairwise(attempts)]
    for number, delay in enumerate(delays):
        expected = min(0.05 * 2**number, 1.0)
        assert expected * 0.79 < delay < expected * 1.21, (number, delay)
    bench.broker.is_down = False
    future = bench.channel.send(_request())
    await bench.arrived(1)
    bench.broker.connections[0].disconnect()
    with pytest.raises(BrokerDisconnected, match="reset by peer"):
        await future
    bench.channel.send(_request()).cancel()
    before = len(attempts)
    async with asyncio.timeout(20):
        while len(attempts) == before:
            await asyncio.sleep(0.001)
    assert attempts[-1] - attempts[-2] < 0.1


@virtually
async def test_close_fails_what_waits_and_all_later_requests() -> None:
    bench = Bench()
    sent = bench.channel.send(_request())
    await bench.arrived(1)
    other = Bench()
    other.broker.is_hanging = True
    unsent = other.channel.send(_request())
    async with asyncio.timeout(20):
        while not other.broker.attempts:
            await asyncio.sleep(0.001)
    for each in (bench, other):
        each.channel.close()
        each.channel.close()
    late = bench.channel.send(_request())
    for future in (sent, unsent, late):
        with pytest.raises(BrokerDisconnected, match="channel to b1:9092 is closed"):
            await future
    assert bench.broker.connections[0].is_closed
    assert bench.channel.waiting == other.channel.waiting == 0


@virtually
async def test_response_to_a_cancelled_request_is_dropped() -> None:
    bench = Bench()
    cancelled, kept = bench.channel.send(_request()), bench.channel.send(_request())
    await bench.arrived(2)
    cancelled.cancel()
    bench.answer(0, b"dropped")
    bench.answer(1, b"kept")
    assert bytes((await kept).body) == b"kept"


@pytest.mark.parametrize(
    "data",
    [struct.pack(">ii", 4, 999), struct.pack(">i", 2), struct.pack(">i", -1)],
    ids=["another correlation id", "too short", "negative length"],
)
def test_bytes_that_are_no_response_end_the_connection(data: bytes) -> None:
    @virtually
    async def run() -> None:
        bench = Bench()
        future = bench.channel.send(_request())
        await bench.arrived(1)
        bench.received[0][0].deliver(data)
        with pytest.raises(BrokerDisconnected, match="does not speak the Kafka protocol"):
            await future
        assert bench.broker.connections[0].is_closed

    run()


@virtually
async def test_another_protocol_is_noticed_at_the_beginning() -> None:
    bench = Bench()
    bench.broker.is_silent = True
    future = bench.channel.send(_request())
    async with asyncio.timeout(20):
        while not bench.broker.connections:
            await asyncio.sleep(0.001)
    bench.broker.connections[0].deliver(b"HTTP/1.1 400 Bad Request\r\n")
    with pytest.raises(BrokerDisconnected, match="does not speak the Kafka protocol"):
        await future


@virtually
async def test_connection_lost_while_it_is_set_up_fails_at_once() -> None:
    bench = Bench()

    async def connect(endpoint: Endpoint, receiver: Any) -> MemoryConnection:
        connection = await bench.broker.connect(endpoint, receiver)
        receiver.on_disconnected("closed at once")
        return connection

    loop = asyncio.get_running_loop()
    channel = OutboundChannel(ENDPOINT, SETTINGS, connect, loop, Random(7))
    with pytest.raises(BrokerDisconnected, match="closed at once"):
        await channel.send(_request())
    assert loop.time() < 1


@virtually
async def test_request_that_cannot_be_encoded_leaves_the_connection_open() -> None:
    bench = Bench()

    def build(version: int) -> OutgoingRequest:
        raise ValueError("no such request")

    with pytest.raises(ValueError, match="no such request"):
        await bench.channel.send(RequestBuilder("heartbeat", HEARTBEAT, 0, 4, build))
    future = bench.channel.send(_request())
    await bench.arrived(1)
    bench.answer(0)
    assert isinstance(await future, Response)
    assert len(bench.broker.connections) == 1
