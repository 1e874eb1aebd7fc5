import asyncio
from random import Random

import pytest
from tests.fakes.memory_network import MemoryBroker, MemoryConnection
from tests.fakes.virtual_time import run_virtually

from barnabas.network.broker_client import BrokerClient
from barnabas.network.errors import BrokerDisconnected
from barnabas.network.outbound_channel import ChannelSettings, OutboundChannel
from barnabas.network.transport import Endpoint
from barnabas.wire.outgoing_request import OutgoingRequest, RequestBuilder

REQUEST = RequestBuilder(
    "heartbeat", 12, 0, 0, lambda version: OutgoingRequest("heartbeat", 12, 0, False, [])
)


class Cluster:
    """Brokers in memory by endpoint. Each answers with its own port."""

    def __init__(self) -> None:
        self.endpoints: dict[int, Endpoint] = {1: Endpoint("h", 1), 2: Endpoint("h", 2)}
        self.opened: list[tuple[int, str, Endpoint]] = []
        self.client: BrokerClient = BrokerClient(self.endpoints.get, self._open, asyncio.get_running_loop())

    def _open(self, broker_id: int, purpose: str, endpoint: Endpoint) -> OutboundChannel:
        self.opened.append((broker_id, purpose, endpoint))

        def handle(
            connection: MemoryConnection, key: int, version: int, correlation_id: int, rest: bytes
        ) -> None:
            connection.respond(correlation_id, bytes([endpoint.port]))

        broker, loop = MemoryBroker(handle, {12: (0, 0)}), asyncio.get_running_loop()
        return OutboundChannel(endpoint, ChannelSettings("me"), broker.connect, loop, Random(1))

    async def answer_of(self, broker_id: int, purpose: str = "") -> int:
        return (await self.client.send(broker_id, REQUEST, purpose=purpose)).body[0]


def test_each_broker_and_purpose_has_one_channel() -> None:
    async def run() -> None:
        cluster = Cluster()
        assert [await cluster.answer_of(each) for each in (1, 2, 1, 2)] == [1, 2, 1, 2]
        assert await cluster.answer_of(1, "fetcher-0") == 1
        assert [each[:2] for each in cluster.opened] == [(1, ""), (2, ""), (1, "fetcher-0")]

    run_virtually(run())


def test_changed_endpoint_replaces_the_channel() -> None:
    async def run() -> None:
        cluster = Cluster()
        assert await cluster.answer_of(1) == 1
        cluster.endpoints[1] = Endpoint("h", 9)
        assert await cluster.answer_of(1) == 9
        assert len(cluster.client) == 1

    run_virtually(run())


def test_broker_that_is_not_registered_is_not_reached() -> None:
    async def run() -> None:
        cluster = Cluster()
        with pytest.raises(BrokerDisconnected, match="HEARTBEAT to broker 5: it is not registered"):
            await cluster.answer_of(5)
        assert await cluster.answer_of(1) == 1
        del cluster.endpoints[1]
        with pytest.raises(BrokerDisconnected, match="not registered"):
            await cluster.answer_of(1)
        assert len(cluster.client) == 0

    run_virtually(run())


def test_disconnect_fails_requests_of_one_purpose_or_all() -> None:
    async def run() -> None:
        cluster = Cluster()
        fetch = cluster.client.send(1, REQUEST, purpose="fetcher-0")
        other = cluster.client.send(1, REQUEST)
        cluster.client.disconnect(1, "fetcher-0")
        with pytest.raises(BrokerDisconnected, match="closed"):
            await fetch
        assert (await other).body[0] == 1
        cluster.client.disconnect(1)
        assert len(cluster.client) == 0

    run_virtually(run())


def test_closed_client_refuses_requests() -> None:
    async def run() -> None:
        cluster = Cluster()
        waiting = cluster.client.send(1, REQUEST)
        cluster.client.close()
        for future in (waiting, cluster.client.send(2, REQUEST)):
            with pytest.raises(BrokerDisconnected):
                await future

    run_virtually(run())
