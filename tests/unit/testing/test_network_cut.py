import asyncio
import socket

import pytest

from barnabas.network.transport import Endpoint
from barnabas.testing.network_cut import NetworkCut, Severed, broker_of, local_host


class Receiver:
    def __init__(self) -> None:
        self.reasons: list[str] = []

    def get_buffer(self) -> memoryview:
        return memoryview(bytearray(100))

    def received(self, count: int) -> None:
        pass

    def on_disconnected(self, reason: str) -> None:
        self.reasons.append(reason)


def test_brokers_are_known_by_the_address_they_connect_from() -> None:
    for broker_id in (0, 7, 255, 256, 65535):
        assert broker_of(local_host(broker_id)) == broker_id
    assert broker_of("127.0.0.1") is None


def _accepted(listening: socket.socket, source: str) -> bool:
    """Whether a connection from this address is accepted."""
    with socket.create_connection(listening.getsockname()[:2], source_address=(source, 0)):
        listening.settimeout(0.05)
        try:
            listening.accept()[0].close()
        except TimeoutError:
            return False
        return True


def test_connections_are_accepted_by_who_makes_them() -> None:
    cut = NetworkCut(0)
    with cut.listen("127.0.0.1", 0) as listening:
        assert _accepted(listening, "127.0.0.1")
        cut.sever(Severed(clients=True))
        assert not _accepted(listening, "127.0.0.1")
        assert _accepted(listening, local_host(1))
        cut.sever(Severed(brokers={1: 9}))
        assert _accepted(listening, "127.0.0.1")
        assert not _accepted(listening, local_host(1))
        assert _accepted(listening, local_host(2))


def test_open_connections_of_clients_end_with_a_cut() -> None:
    cut = NetworkCut(0)
    listening = cut.listen("127.0.0.1", 0)
    with listening, socket.create_connection(listening.getsockname()[:2]) as client:
        listening.setblocking(True)
        accepted, _ = listening.accept()
        cut.sever(Severed(clients=True))
        assert client.recv(1) == b""
        accepted.close()


def test_connections_to_other_brokers_end_with_a_cut_and_are_refused() -> None:
    async def run(listening: socket.socket) -> None:
        cut, receiver = NetworkCut(3), Receiver()
        connect = cut.make_connect(asyncio.get_running_loop())
        endpoint = Endpoint("127.0.0.1", listening.getsockname()[1])
        transport = await connect(endpoint, receiver)
        accepted, address = listening.accept()
        assert address[0] == local_host(3)
        cut.sever(Severed(brokers={1: endpoint.port}))
        while not receiver.reasons:
            await asyncio.sleep(0)
        with pytest.raises(ConnectionRefusedError):
            await connect(endpoint, receiver)
        cut.sever(Severed())
        (await connect(endpoint, receiver)).close()
        transport.close()
        accepted.close()

    with socket.create_server(("127.0.0.1", 0)) as listening:
        asyncio.run(run(listening))
