"""Listeners: bind, accept, keep the table of connections, close idle connections, stop.

Connections never take the last file descriptors. A connection whose descriptor is above `max_descriptor` is
closed at once, unless idle log files can be closed for it, and the listener pauses (`base.descriptors`).
"""

import asyncio
import logging
import socket
from collections.abc import Callable
from dataclasses import dataclass

from barnabas.base.loop_holds import LoopHolds
from barnabas.network.connection import RECEIVE_BUFFER_SIZE, Connection, OnFrame, Peer
from barnabas.network.framing import FrameBuffers
from barnabas.network.request_memory import RequestMemory
from barnabas.network.turn import OnHeld, Turn

logger = logging.getLogger("network")

Listen = Callable[[str | None, int], socket.socket]
"""Makes a listening socket that does not block, for a host and a port."""

_BACKLOG = 1024
_ACCEPTS_PER_WAKE = 64
_REPORT_SECONDS = 10.0
"""Refused connections are logged once in this interval."""


@dataclass(frozen=True, slots=True)
class SocketOptions:
    """Socket settings of the configuration. -1 leaves a buffer size to the operating system."""

    max_frame: int = 100 * 1024 * 1024
    send_buffer: int = -1
    receive_buffer: int = -1
    max_idle_seconds: float = 600.0
    max_connections: int = 2**31 - 1
    max_descriptor: int = 2**31 - 1
    """Sockets with this descriptor or a higher one are not accepted."""


class Server:
    """All listeners of one broker, on one event loop."""

    def __init__(
        self,
        options: SocketOptions,
        holds: LoopHolds,
        on_held: OnHeld,
        make_room: Callable[[], bool] = lambda: False,
        memory: RequestMemory | None = None,
        listen: Listen | None = None,
    ) -> None:
        """`make_room` closes files that are not in use. It returns whether there were any."""
        self._listen: Listen = listen or listening_socket
        self._options: SocketOptions = options
        self._make_room: Callable[[], bool] = make_room
        self._refused: int = 0
        self._last_report: float | None = None
        self._loop: asyncio.AbstractEventLoop = asyncio.get_running_loop()
        self._receive_buffer: memoryview = memoryview(bytearray(RECEIVE_BUFFER_SIZE))
        self._frame_buffers: FrameBuffers = FrameBuffers(memory)
        self._turn: Turn = Turn(self._loop, holds, on_held)
        self._listening: dict[socket.socket, str] = {}
        self._idle_sweep: asyncio.TimerHandle | None = None
        self.connections: dict[Connection, None] = {}
        """An ordered set: they are closed in the order of arrival."""

    def bind(self, name: str, host: str | None, port: int) -> int:
        """Bind a listener without accepting yet. Port 0 takes a free port. Returns the port.

        Raises OSError.
        """
        sock = self._listen(host, port)
        if self._options.receive_buffer >= 0:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, self._options.receive_buffer)
        self._listening[sock] = name
        return int(sock.getsockname()[1])

    def start(self, on_frame: OnFrame) -> None:
        """Accept connections. Clients that connected since `bind` wait in the backlog."""
        self._on_frame: OnFrame = on_frame
        for sock, name in self._listening.items():
            self._loop.add_reader(sock, self._on_acceptable, sock, name)
        self._schedule_idle_sweep()

    def _on_acceptable(self, listening: socket.socket, name: str) -> None:
        for _ in range(_ACCEPTS_PER_WAKE):
            try:
                sock, address = listening.accept()
            except BlockingIOError:
                return
            except OSError as error:
                # The peer stays in the backlog. Other connections are not affected.
                logger.error("Cannot accept a connection on listener %s: %s", name, error)
                self._pause_accepting(listening, name)
                return
            if sock.fileno() >= self._options.max_descriptor and not self._make_room():
                sock.close()
                self._report_refused(address[0])
                self._pause_accepting(listening, name)
                return
            self._start_connection(sock, address, name)

    def _report_refused(self, host: str) -> None:
        self._refused += 1
        now = self._loop.time()
        if self._last_report is None or now - self._last_report >= _REPORT_SECONDS:
            logger.warning(
                "%d connections refused, the last one from %s: %d are open and file descriptors are short, "
                "raise `ulimit -n`",
                self._refused,
                host,
                len(self.connections),
            )
            self._last_report, self._refused = now, 0

    def _pause_accepting(self, listening: socket.socket, name: str) -> None:
        self._loop.remove_reader(listening)

        def resume() -> None:
            if listening in self._listening:
                self._loop.add_reader(listening, self._on_acceptable, listening, name)

        self._loop.call_later(0.1, resume)

    def _start_connection(self, sock: socket.socket, address: tuple[str, int], name: str) -> None:
        if len(self.connections) >= self._options.max_connections:
            logger.warning("Connection from %s refused: the limit max.connections is reached", address[0])
            sock.close()
            return
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        if self._options.send_buffer >= 0:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, self._options.send_buffer)
        peer = Peer(str(address[0]), int(address[1]), name)
        connection = Connection(
            sock,
            peer,
            self._loop,
            self._receive_buffer,
            max_frame=self._options.max_frame,
            buffers=self._frame_buffers,
            turn=self._turn,
            on_frame=self._on_frame,
            on_closed=self._forget,
        )
        self.connections[connection] = None

    def _forget(self, connection: Connection) -> None:
        self.connections.pop(connection, None)

    def _schedule_idle_sweep(self) -> None:
        if self._options.max_idle_seconds > 0:
            # A tenth of the limit: a connection stays open at most 10 % longer than configured.
            pause = min(60.0, max(0.05, self._options.max_idle_seconds / 10))
            self._idle_sweep = self._loop.call_later(pause, self._close_idle)

    def _close_idle(self) -> None:
        oldest = self._loop.time() - self._options.max_idle_seconds
        for connection in [each for each in self.connections if each.last_active < oldest]:
            connection.close("idle for longer than connections.max.idle.ms")
        self._schedule_idle_sweep()

    def stop_accepting(self) -> None:
        for sock in self._listening:
            self._loop.remove_reader(sock)
            sock.close()
        self._listening.clear()

    def stop_dispatching(self) -> None:
        """Begin no further request. Requests that are being handled get their responses."""
        for connection in self.connections:
            connection.stop_dispatching()

    def forget_shortcuts(self) -> None:
        """Handle the next request of each connection in full: what a shortcut checked may have changed."""
        for connection in self.connections:
            connection.shortcut = None

    async def drain(self, seconds: float) -> None:
        """Wait up to `seconds` for the responses of requests that are being handled."""
        deadline = self._loop.time() + seconds
        while any(each.has_unanswered for each in self.connections):
            if self._loop.time() >= deadline:
                return
            # At shutdown only: waking a hundred times a second for at most `seconds` is simpler than a report
            # of every connection that becomes idle.
            await asyncio.sleep(0.01)

    def close(self) -> None:
        self.stop_accepting()
        if self._idle_sweep is not None:
            self._idle_sweep.cancel()
        for connection in list(self.connections):
            connection.close("broker is stopping")


def listening_socket(host: str | None, port: int) -> socket.socket:
    """A listening TCP socket bound to `host` (None or empty: every interface). Raises OSError."""
    family = socket.AF_INET6 if host and ":" in host else socket.AF_INET
    if not host and socket.has_dualstack_ipv6():
        return _dualstack_socket(port)
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setblocking(False)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((host or "", port))
        sock.listen(_BACKLOG)
    except OSError:
        sock.close()
        raise
    return sock


def _dualstack_socket(port: int) -> socket.socket:
    sock = socket.create_server(
        ("", port), family=socket.AF_INET6, dualstack_ipv6=True, backlog=_BACKLOG, reuse_port=False
    )
    sock.setblocking(False)
    return sock
