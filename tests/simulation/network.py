"""Simulated TCP between named hosts: bytes arrive late, in order, or not until a cut is healed.

Each host has a name, which is its address. A connection is two pipes, one for each direction. What is sent
arrives after a seeded delay and never overtakes what was sent before. A cut of the way from one host to
another loses packets silently: TCP sends them again, so the pipe stalls and goes on after the cut is healed,
or the sender gives up after `TCP_PATIENCE`. A process that is killed has its sockets closed by its kernel; a
host that loses power answers nothing, and after its return answers packets of old connections with a reset.

`SimulatedSocket` has the methods of a non-blocking `socket.socket` that `barnabas.network` uses. A loop
watches it through `add_reader` and `add_writer`. `transports` builds asyncio's protocols on top.
"""

import errno
import itertools
import os
import random
from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tests.simulation.pipe import Pipe, Watch
from tests.simulation.scheduler import Scheduler

if TYPE_CHECKING:
    from tests.simulation.node_loop import NodeLoop

Address = tuple[str, int]

TCP_PATIENCE = 120.0
"""How long a connection or an attempt to connect waits for a host that does not answer. Linux: longer."""
_RETRY_SECONDS = 1.0
_USUAL_DELAY = 0.002
_LONG_DELAY = 0.05
_LONG_SHARE = 0.02
_FIRST_DESCRIPTOR = 100
_FIRST_PORT = 40_000


class Network:
    def __init__(self, scheduler: Scheduler) -> None:
        self.scheduler: Scheduler = scheduler
        self._rng: random.Random = scheduler.stream("network")
        self._descriptors: itertools.count[int] = itertools.count(_FIRST_DESCRIPTOR)
        self._ports: itertools.count[int] = itertools.count(_FIRST_PORT)
        self._listeners: dict[Address, SimulatedSocket] = {}
        self._cuts: dict[tuple[str, str], None] = {}
        self._unpowered: dict[str, None] = {}
        self._sockets: dict[SimulatedSocket, None] = {}
        """Those that are open, in the order of their creation."""

    def socket(self, host: str) -> "SimulatedSocket":
        sock = SimulatedSocket(self, host, next(self._descriptors))
        self._sockets[sock] = None
        return sock

    def socket_of(self, descriptor: int) -> "SimulatedSocket":
        return next(each for each in self._sockets if each.fileno() == descriptor)

    # --- faults -----------------------------------------------------------------------------------------

    def cut(self, source: str, target: str) -> None:
        """Lose every packet from one host to another, silently; the other direction is as before."""
        self._cuts[source, target] = None

    def heal(self, source: str, target: str) -> None:
        self._cuts.pop((source, target), None)
        self._send_again()

    def heal_all(self) -> None:
        self._cuts.clear()
        self._send_again()

    def reset_connections(self, one: str, other: str) -> None:
        """Every connection between two hosts ends with an error on both sides."""
        for sock in list(self._sockets):
            if sock.host == one and sock.peer is not None and sock.peer.host == other:
                peer = sock.peer
                sock.fail(errno.ECONNRESET)
                peer.fail(errno.ECONNRESET)

    def close_all(self, host: str) -> None:
        """The process on `host` has ended: its kernel closes what it had open."""
        for sock in [each for each in self._sockets if each.host == host]:
            sock.close()

    def power_off(self, host: str) -> None:
        """The host answers nothing any more, and forgets its connections."""
        self._unpowered[host] = None
        for sock in [each for each in self._sockets if each.host == host]:
            sock.vanish()

    def power_on(self, host: str) -> None:
        self._unpowered.pop(host, None)

    def _send_again(self) -> None:
        for sock in list(self._sockets):
            if sock.outgoing is not None:
                sock.outgoing.send_again()

    # --- packets ----------------------------------------------------------------------------------------

    def delay(self) -> float:
        longest = _LONG_DELAY if self._rng.random() < _LONG_SHARE else _USUAL_DELAY
        return self._rng.random() * longest

    def is_open(self, source: str, target: str) -> bool:
        return source == target or (source, target) not in self._cuts

    def is_powered(self, host: str) -> bool:
        return host not in self._unpowered

    def forget(self, sock: "SimulatedSocket") -> None:
        self._sockets.pop(sock, None)
        if sock.address is not None and self._listeners.get(sock.address) is sock:
            del self._listeners[sock.address]

    def listen(self, sock: "SimulatedSocket", address: Address) -> None:
        if address in self._listeners:
            raise OSError(errno.EADDRINUSE, os.strerror(errno.EADDRINUSE))
        self._listeners[address] = sock

    def free_port(self) -> int:
        return next(self._ports)

    # --- connecting -------------------------------------------------------------------------------------

    def connect(self, sock: "SimulatedSocket", target: Address, on_done: Callable[[int], None]) -> None:
        """Connect a socket; `on_done` gets 0 or an errno."""
        self._send_syn(sock, target, on_done, self.scheduler.now + TCP_PATIENCE)

    def _send_syn(
        self, sock: "SimulatedSocket", target: Address, on_done: Callable[[int], None], deadline: float
    ) -> None:
        def arrive() -> None:
            if sock.is_closed:
                return
            if self.is_open(sock.host, target[0]) and self.is_powered(target[0]):
                self._answer_syn(sock, target, on_done, deadline)
            elif self.scheduler.now > deadline:
                on_done(errno.ETIMEDOUT)
            else:
                self.scheduler.after(
                    _RETRY_SECONDS,
                    f"{sock.host} connects again",
                    lambda: self._send_syn(sock, target, on_done, deadline),
                )

        self.scheduler.after(self.delay(), f"{sock.host} connects to {target[0]}", arrive)

    def _answer_syn(
        self, sock: "SimulatedSocket", target: Address, on_done: Callable[[int], None], deadline: float
    ) -> None:
        listener = self._listeners.get(target)

        def arrive() -> None:
            if sock.is_closed:
                return
            if not self.is_open(target[0], sock.host):
                if self.scheduler.now > deadline:
                    on_done(errno.ETIMEDOUT)
                    return
                self.scheduler.after(_RETRY_SECONDS, f"{target[0]} answers {sock.host} again", arrive)
            elif listener is None or listener.is_closed:
                on_done(errno.ECONNREFUSED)
            else:
                self._join(sock, listener, target)
                on_done(0)

        self.scheduler.after(self.delay(), f"{target[0]} answers {sock.host}", arrive)

    def _join(self, sock: "SimulatedSocket", listener: "SimulatedSocket", target: Address) -> None:
        accepted = self.socket(target[0])
        accepted.address, sock.address = target, sock.address or (sock.host, self.free_port())
        sock.peer, accepted.peer = accepted, sock
        sock.outgoing, accepted.outgoing = Pipe(self, sock, accepted), Pipe(self, accepted, sock)
        listener.backlog.append(accepted)
        listener.changed()


class SimulatedSocket:
    def __init__(self, network: Network, host: str, descriptor: int) -> None:
        self._network: Network = network
        self._descriptor: int = descriptor
        self.host: str = host
        self.address: Address | None = None
        self.peer: SimulatedSocket | None = None
        self.outgoing: Pipe | None = None
        self.backlog: deque[SimulatedSocket] = deque()
        """Connections that wait to be accepted."""
        self.is_closed: bool = False
        self.received: bytearray = bytearray()
        self.is_at_end: bool = False
        """The peer sends no more."""
        self._error: int = 0
        self._reader: Watch = Watch()
        self._writer: Watch = Watch()

    # --- the methods of a socket ------------------------------------------------------------------------

    def fileno(self) -> int:
        return -1 if self.is_closed else self._descriptor

    def bind(self, address: Address) -> None:
        self.address = (self.host, address[1] or self._network.free_port())

    def listen(self, backlog: int = 0) -> None:
        assert self.address is not None
        self._network.listen(self, self.address)

    def accept(self) -> "tuple[SimulatedSocket, Address]":
        if not self.backlog:
            raise BlockingIOError(errno.EAGAIN, "no connection waits")
        accepted = self.backlog.popleft()
        return accepted, accepted.getpeername()

    def getpeername(self) -> Address:
        if self.peer is None or self.peer.address is None:
            raise OSError(errno.ENOTCONN, os.strerror(errno.ENOTCONN))
        return self.peer.address

    def getsockname(self) -> Address:
        return self.address or (self.host, 0)

    def setblocking(self, flag: bool) -> None:
        assert not flag

    def setsockopt(self, *_: Any) -> None:
        """There is nothing to set."""

    def getsockopt(self, *_: Any) -> int:
        error, self._error = self._error, 0
        return error

    def recv(self, size: int) -> bytes:
        buffer = bytearray(size)
        return bytes(buffer[: self.recv_into(buffer)])

    def recv_into(self, buffer: "bytearray | memoryview") -> int:
        self._raise_error()
        if not self.received:
            if self.is_at_end:
                return 0
            raise BlockingIOError(errno.EAGAIN, "nothing to read")
        count = min(len(buffer), len(self.received))
        buffer[:count] = self.received[:count]
        del self.received[:count]
        if self.peer is not None:
            self.peer.changed()  # there is room again
        return count

    def send(self, data: "bytes | bytearray | memoryview", flags: int = 0) -> int:
        self._raise_error()
        if self.outgoing is None or self.outgoing.is_ended:
            raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))
        count = min(len(data), self.outgoing.room)
        if count == 0 and len(data):
            raise BlockingIOError(errno.EAGAIN, "the peer does not read")
        self.outgoing.send(bytes(data[:count]))
        return count

    def sendmsg(self, buffers: Sequence[Any], *_: Any) -> int:
        return self.send(b"".join(buffers))

    def shutdown(self, how: int) -> None:
        if self.outgoing is not None:
            self.outgoing.end()

    def close(self) -> None:
        """As the kernel does: a reset if received bytes were not read, otherwise an end."""
        if self.is_closed:
            return
        self._leave()
        for waiting in self.backlog:
            waiting.close()
        if self.outgoing is not None and not self._error:
            if self.received:
                self.outgoing.reset()
            else:
                self.outgoing.end()

    # --- the network's side -----------------------------------------------------------------------------

    def _leave(self) -> None:
        self.is_closed = True
        self._reader.stop()
        self._writer.stop()
        self._network.forget(self)

    def vanish(self) -> None:
        """The host has lost its power."""
        self._leave()
        if self.outgoing is not None:
            self.outgoing.stop()

    def fail(self, error: int) -> None:
        if not self.is_closed and not self._error:
            self._error = error
            if self.outgoing is not None:
                self.outgoing.stop()
            self.changed()

    def _raise_error(self) -> None:
        if self.is_closed:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        if self._error:
            raise OSError(self._error, os.strerror(self._error))

    @property
    def _can_read(self) -> bool:
        return bool(self.received or self.backlog) or self.is_at_end or bool(self._error)

    @property
    def _can_write(self) -> bool:
        return bool(self._error) or (self.outgoing is not None and self.outgoing.room > 0)

    # --- the loop's side --------------------------------------------------------------------------------

    def on_readable(self, loop: "NodeLoop", callback: Callable[..., object], args: tuple[Any, ...]) -> None:
        self._reader.start(loop, lambda: self._can_read, callback, args)

    def on_writable(self, loop: "NodeLoop", callback: Callable[..., object], args: tuple[Any, ...]) -> None:
        self._writer.start(loop, lambda: self._can_write, callback, args)

    def stop_reading(self) -> bool:
        return self._reader.stop()

    def stop_writing(self) -> bool:
        return self._writer.stop()

    def changed(self) -> None:
        self._reader.check()
        self._writer.check()
