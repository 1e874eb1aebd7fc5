"""The connection below an outbound channel: what it needs of one, and the implementation over TCP.

A simulation implements `Transport` and `Connect` in memory.
"""

import asyncio
import socket
from asyncio import AbstractEventLoop
from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple, Protocol, cast

from barnabas.wire.outgoing_request import Buffer


class Endpoint(NamedTuple):
    """The address of a broker's listener."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class Transport(Protocol):
    def write(self, parts: Sequence[Buffer]) -> None:
        """Send the parts in order. Never blocks: what the peer does not read yet is buffered."""
        ...

    def close(self) -> None:
        """Close the connection. `on_disconnected` is not called after it."""
        ...


class Receiver(Protocol):
    """What gets the bytes and the end of a connection. Called on the event loop."""

    def get_buffer(self) -> memoryview: ...

    def received(self, count: int) -> None:
        """`count` bytes are in the buffer that `get_buffer` returned last."""
        ...

    def on_disconnected(self, reason: str) -> None: ...


Connect = Callable[[Endpoint, Receiver], Awaitable[Transport]]
"""Raises OSError if there is no connection. The caller limits the time by cancelling it."""


class _TcpProtocol(asyncio.BufferedProtocol):
    def __init__(self, receiver: Receiver) -> None:
        self._receiver: Receiver | None = receiver
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports do not derive from asyncio's.
        self._transport = cast(asyncio.Transport, transport)

    def get_buffer(self, sizehint: int) -> memoryview:
        # Bytes that arrive between `close` and the end of the connection are dropped.
        return memoryview(bytearray(1024)) if self._receiver is None else self._receiver.get_buffer()

    def buffer_updated(self, nbytes: int) -> None:
        if self._receiver is not None:
            self._receiver.received(nbytes)

    def connection_lost(self, exc: Exception | None) -> None:
        receiver, self._receiver = self._receiver, None
        if receiver is not None:
            receiver.on_disconnected("the broker closed the connection" if exc is None else str(exc))

    def write(self, parts: Sequence[Buffer]) -> None:
        if self._transport is not None:
            self._transport.writelines(parts)

    def close(self) -> None:
        self._receiver = None
        if self._transport is not None:
            self._transport.abort()


def tcp_connect(
    loop: AbstractEventLoop, *, receive_buffer: int = -1, local_host: str | None = None
) -> Connect:
    """Connects by TCP, from the address `local_host` if there is one.

    `receive_buffer` is the size of the socket's buffer; with -1 the kernel chooses.
    """
    local_address = None if local_host is None else (local_host, 0)

    async def connect(endpoint: Endpoint, receiver: Receiver) -> Transport:
        transport, protocol = await loop.create_connection(
            lambda: _TcpProtocol(receiver), endpoint.host, endpoint.port, local_addr=local_address
        )
        sock = transport.get_extra_info("socket")
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if receive_buffer >= 0:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        return protocol

    return connect
