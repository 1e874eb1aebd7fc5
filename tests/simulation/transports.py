"""asyncio's protocols on simulated sockets: what `create_connection` and `create_server` of a loop give."""

import asyncio
import errno
import os
from collections.abc import Callable
from typing import Any

from tests.simulation.network import Address, Network, SimulatedSocket
from tests.simulation.node_loop import NodeLoop

_READ_SIZE = 256 * 1024

ProtocolFactory = Callable[[], asyncio.BaseProtocol]


class Host:
    """A node's access to the network, under its name."""

    def __init__(self, network: Network, loop: NodeLoop) -> None:
        self.network: Network = network
        self.name: str = loop.name
        self._loop: NodeLoop = loop
        loop.host = self

    def socket(self) -> SimulatedSocket:
        return self.network.socket(self.name)

    async def connect_socket(self, sock: SimulatedSocket, address: Address) -> None:
        done: asyncio.Future[int] = self._loop.create_future()

        def on_done(error: int) -> None:
            if not done.done():
                done.set_result(error)

        self.network.connect(sock, (address[0], address[1]), on_done)
        error = await done
        if error:
            raise OSError(error, f"{address[0]}:{address[1]}: {os.strerror(error)}")

    async def create_connection(
        self, protocol_factory: ProtocolFactory, host: str, port: int
    ) -> tuple["SimulatedTransport", asyncio.BaseProtocol]:
        sock = self.socket()
        try:
            await self.connect_socket(sock, (host, port))
        except BaseException:
            sock.close()
            raise
        protocol = protocol_factory()
        transport = SimulatedTransport(self._loop, sock, protocol)
        await transport.begun
        return transport, protocol

    def create_server(self, protocol_factory: ProtocolFactory, port: int) -> "SimulatedServer":
        return SimulatedServer(self._loop, self.socket(), protocol_factory, port)


class SimulatedServer:
    def __init__(
        self, loop: NodeLoop, sock: SimulatedSocket, protocol_factory: ProtocolFactory, port: int
    ) -> None:
        self._loop: NodeLoop = loop
        self._socket: SimulatedSocket = sock
        self._protocol_factory: ProtocolFactory = protocol_factory
        sock.bind((sock.host, port))
        sock.listen()
        loop.add_reader(sock, self._accept)

    def _accept(self) -> None:
        sock, _ = self._socket.accept()
        SimulatedTransport(self._loop, sock, self._protocol_factory())

    def close(self) -> None:
        self._socket.close()


class SimulatedTransport(asyncio.Transport):
    def __init__(self, loop: NodeLoop, sock: SimulatedSocket, protocol: asyncio.BaseProtocol) -> None:
        super().__init__({"peername": sock.getpeername(), "sockname": sock.getsockname(), "socket": sock})
        self._loop: NodeLoop = loop
        self._socket: SimulatedSocket = sock
        self._protocol: Any = protocol
        self._out: bytearray = bytearray()
        self._is_reading: bool = True
        self._is_closing: bool = False
        self.begun: asyncio.Future[None] = loop.create_future()
        """Done when `connection_made` was called."""
        loop.call_soon(self._start)

    def _start(self) -> None:
        if not self._is_closing:
            self._protocol.connection_made(self)
            if self._is_reading and not self._is_closing:
                self._loop.add_reader(self._socket, self._read)
        if not self.begun.done():
            self.begun.set_result(None)

    def _read(self) -> None:
        try:
            if isinstance(self._protocol, asyncio.BufferedProtocol):
                count = self._socket.recv_into(memoryview(self._protocol.get_buffer(-1)))
                data = b""
            else:
                data = self._socket.recv(_READ_SIZE)
                count = len(data)
        except OSError as error:
            self._end(error)
            return
        if count == 0:
            self._loop.remove_reader(self._socket)
            if not self._protocol.eof_received():
                self.close()
        elif data:
            self._protocol.data_received(data)
        else:
            self._protocol.buffer_updated(count)

    # --- asyncio.Transport ------------------------------------------------------------------------------

    def write(self, data: "bytes | bytearray | memoryview") -> None:
        if self._is_closing:
            return
        had_rest = bool(self._out)
        self._out += data
        if not had_rest:
            self._flush()
            if self._out and not self._is_closing:
                self._protocol.pause_writing()

    def _flush(self) -> None:
        try:
            while self._out:
                del self._out[: self._socket.send(self._out)]
        except BlockingIOError:
            self._loop.add_writer(self._socket, self._on_writable)
        except OSError as error:
            self._end(error)

    def _on_writable(self) -> None:
        self._loop.remove_writer(self._socket)
        self._flush()
        if not self._out:
            if self._is_closing:
                self._end(None)
            else:
                self._protocol.resume_writing()

    def pause_reading(self) -> None:
        self._is_reading = False
        self._loop.remove_reader(self._socket)

    def resume_reading(self) -> None:
        self._is_reading = True
        if not self._is_closing:
            self._loop.add_reader(self._socket, self._read)

    def is_reading(self) -> bool:
        return self._is_reading

    def is_closing(self) -> bool:
        return self._is_closing

    def get_write_buffer_size(self) -> int:
        return len(self._out)

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """The pipe is the limit."""

    def get_protocol(self) -> asyncio.BaseProtocol:
        protocol: asyncio.BaseProtocol = self._protocol
        return protocol

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self._protocol = protocol

    def close(self) -> None:
        """What is written is sent first."""
        if self._is_closing:
            return
        self._is_closing = True
        self._loop.remove_reader(self._socket)
        if not self._out:
            self._loop.call_soon(self._lost, None)

    def abort(self) -> None:
        self._end(ConnectionAbortedError(errno.ECONNABORTED, "aborted"))

    def _end(self, error: OSError | None) -> None:
        self._is_closing = True
        self._out.clear()
        self._loop.remove_reader(self._socket)
        self._loop.remove_writer(self._socket)
        self._loop.call_soon(self._lost, error)

    def _lost(self, error: OSError | None) -> None:
        if not self._socket.is_closed:
            self._socket.close()
            self._protocol.connection_lost(error)
