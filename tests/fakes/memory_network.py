"""A network in memory for outbound channels: brokers that a test scripts, without sockets."""

import asyncio
import struct
from collections.abc import Callable, Mapping, Sequence

from barnabas.network.transport import Endpoint, Receiver
from barnabas.wire.outgoing_request import Buffer

API_VERSIONS = 18
Handler = Callable[["MemoryConnection", int, int, int, bytes], None]
"""Called with the connection, API key, version, correlation id and the rest of each request."""


class MemoryConnection:
    """Both ends of a connection. The broker's end calls `respond` and `disconnect`."""

    def __init__(self, broker: "MemoryBroker", receiver: Receiver) -> None:
        self._broker: MemoryBroker = broker
        self._receiver: Receiver = receiver
        self.is_closed: bool = False

    # --- the channel's end

    def write(self, parts: Sequence[Buffer]) -> None:
        assert not self.is_closed, "a channel wrote to a connection that it had closed"
        frame = b"".join(map(bytes, parts))
        size, key, version, correlation_id = struct.unpack_from(">ihhi", frame)
        assert size == len(frame) - 4
        asyncio.get_running_loop().call_soon(
            self._broker.handle, self, key, version, correlation_id, frame[12:]
        )

    def close(self) -> None:
        self.is_closed = True

    # --- the broker's end

    def respond(self, correlation_id: int, body: bytes) -> None:
        """`body` has the tags of the response header in front, where there are any."""
        self.deliver(struct.pack(">ii", len(body) + 4, correlation_id) + body)

    def deliver(self, data: bytes) -> None:
        position = 0
        while position < len(data) and not self.is_closed:
            buffer = self._receiver.get_buffer()
            count = min(len(buffer), len(data) - position, self._broker.chunk_size)
            buffer[:count] = data[position : position + count]
            self._receiver.received(count)
            position += count

    def disconnect(self, reason: str = "connection reset by peer") -> None:
        if not self.is_closed:
            self.is_closed = True
            self._receiver.on_disconnected(reason)


class MemoryBroker:
    """Answers ApiVersions itself. `handler` gets everything else."""

    def __init__(
        self, handler: Handler, served: Mapping[int, tuple[int, int]], *, chunk_size: int = 1 << 30
    ) -> None:
        self.handler: Handler = handler
        self.served: Mapping[int, tuple[int, int]] = served
        self.chunk_size: int = chunk_size
        self.connections: list[MemoryConnection] = []
        self.attempts: list[float] = []
        """When each connection was attempted."""
        self.is_down: bool = False
        self.is_hanging: bool = False
        self.is_silent: bool = False
        self.newest_api_versions: int = 3

    async def connect(self, endpoint: Endpoint, receiver: Receiver) -> MemoryConnection:
        self.attempts.append(asyncio.get_running_loop().time())
        if self.is_hanging:
            await asyncio.Event().wait()
        if self.is_down:
            raise ConnectionRefusedError(111, "Connection refused")
        connection = MemoryConnection(self, receiver)
        self.connections.append(connection)
        return connection

    def handle(
        self, connection: MemoryConnection, key: int, version: int, correlation_id: int, rest: bytes
    ) -> None:
        if connection.is_closed:
            return
        if key != API_VERSIONS:
            self.handler(connection, key, version, correlation_id, rest)
        elif not self.is_silent:
            connection.respond(correlation_id, self._versions(version))

    def _versions(self, version: int) -> bytes:
        ranges = [struct.pack(">hhh", key, *bounds) for key, bounds in self.served.items()]
        if version > self.newest_api_versions:
            return struct.pack(">hi", 35, 0)
        if version == 0:
            return struct.pack(">hi", 0, len(ranges)) + b"".join(ranges)
        body = b"".join(each + b"\x00" for each in ranges)
        return struct.pack(">hb", 0, len(ranges) + 1) + body + struct.pack(">ib", 0, 0)
