"""Cuts a broker off from other brokers or from clients, inside its own process: no root, no firewall.

A broker of a test cluster connects to others from an address of its own, 127.77.x.y for the id x * 256 + y.
So each accepted connection is known as that of a broker, or of a client. A cut ends the connections there
are, and refuses new ones in both directions: peers see a connection that is closed.
"""

import asyncio
import errno
import socket
import threading
import weakref
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from barnabas.network.server import listening_socket
from barnabas.network.transport import Connect, Endpoint, Receiver, Transport, tcp_connect

_BROKERS = "127.77."
_REASON = "the test has isolated the brokers from each other"


@dataclass(frozen=True, slots=True)
class Severed:
    """Who is cut off."""

    clients: bool = False
    brokers: Mapping[int, int] = field(default_factory=dict)
    """Ids and ports."""


class NetworkCut:
    """`sever` may be called from any thread."""

    def __init__(self, broker_id: int) -> None:
        self._local_host: str = local_host(broker_id)
        self._severed: Severed = Severed()
        self._lock: threading.Lock = threading.Lock()
        self._accepted: weakref.WeakKeyDictionary[socket.socket, str] = weakref.WeakKeyDictionary()
        self._outgoing: weakref.WeakKeyDictionary[Transport, _Outgoing] = weakref.WeakKeyDictionary()

    def sever(self, severed: Severed) -> None:
        """Replaces an earlier cut."""
        with self._lock:
            self._severed = severed
            accepted = [sock for sock, host in self._accepted.items() if self.refuses(host)]
            outgoing = [(end, other) for end, other in self._outgoing.items() if self._is_cut(other.port)]
        for sock in accepted:
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue  # It is closed already.
        for transport, other in outgoing:
            other.loop.call_soon_threadsafe(_end, transport, other.receiver)

    def listen(self, host: str | None, port: int) -> socket.socket:
        return _CuttableSocket(listening_socket(host, port), self)

    def make_connect(self, loop: asyncio.AbstractEventLoop) -> Connect:
        connect_by_tcp = tcp_connect(loop, local_host=self._local_host)

        async def connect(endpoint: Endpoint, receiver: Receiver) -> Transport:
            if self._is_cut(endpoint.port):
                raise ConnectionRefusedError(errno.ECONNREFUSED, _REASON)
            transport = await connect_by_tcp(endpoint, receiver)
            with self._lock:
                self._outgoing[transport] = _Outgoing(endpoint.port, weakref.ref(receiver), loop)
                is_cut = self._is_cut(endpoint.port)
            if is_cut:
                transport.close()
                raise ConnectionRefusedError(errno.ECONNREFUSED, _REASON)
            return transport

        return connect

    def refuses(self, host: str) -> bool:
        """Whether connections from this address are cut."""
        broker_id = broker_of(host)
        return self._severed.clients if broker_id is None else broker_id in self._severed.brokers

    def admits(self, sock: socket.socket, host: str) -> bool:
        with self._lock:
            if self.refuses(host):
                return False
            self._accepted[sock] = host
            return True

    def _is_cut(self, port: int) -> bool:
        return port in self._severed.brokers.values()


@dataclass(frozen=True, slots=True)
class _Outgoing:
    port: int
    receiver: "weakref.ref[Receiver]"
    loop: asyncio.AbstractEventLoop


def _end(transport: Transport, receiver: "weakref.ref[Receiver]") -> None:
    transport.close()
    found = receiver()
    if found is not None:
        found.on_disconnected(_REASON)


class _CuttableSocket(socket.socket):
    """A listening socket that closes the connections it must not accept."""

    def __init__(self, listening: socket.socket, cut: NetworkCut) -> None:
        super().__init__(fileno=listening.detach())
        self._cut: NetworkCut = cut
        self.setblocking(False)

    def accept(self) -> tuple[socket.socket, Any]:
        while True:
            sock, address = super().accept()
            if self._cut.admits(sock, str(address[0])):
                return sock, address
            sock.close()


def local_host(broker_id: int) -> str:
    """The address from which this broker connects to others."""
    return f"{_BROKERS}{broker_id >> 8 & 255}.{broker_id & 255}"


def broker_of(host: str) -> int | None:
    """The id of the broker that connects from this address; None for a client."""
    if not host.startswith(_BROKERS):
        return None
    high, low = host.removeprefix(_BROKERS).split(".")
    return int(high) << 8 | int(low)
