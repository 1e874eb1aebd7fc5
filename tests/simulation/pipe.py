"""One direction of a simulated connection, and what a loop watches of a socket."""

import errno
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.simulation.network import Network, SimulatedSocket
    from tests.simulation.node_loop import NodeLoop

CAPACITY = 256 * 1024
"""Bytes that are under way or not read: then the sender has to wait."""
_RETRANSMISSION = 100
"""Packets that were lost in a cut take so many times longer when they are sent again."""

_END = None
_RESET = "reset"
Segment = bytes | str | None


class Pipe:
    """Bytes on their way from one socket to its peer, in order."""

    def __init__(self, network: "Network", sender: "SimulatedSocket", receiver: "SimulatedSocket") -> None:
        self._network: Network = network
        self._sender: SimulatedSocket = sender
        self._receiver: SimulatedSocket = receiver
        self._segments: deque[Segment] = deque()
        """What has not arrived yet, in order. Whatever arrives next is the first of them."""
        self._lost: int = 0
        """How many packets met a cut, and are sent again when it is healed."""
        self._under_way: int = 0
        self._last_arrival: float = 0.0
        self.is_ended: bool = False

    @property
    def room(self) -> int:
        return max(0, CAPACITY - self._under_way - len(self._receiver.received))

    def send(self, data: bytes) -> None:
        self._under_way += len(data)
        self._transmit(data, self._network.delay())

    def end(self) -> None:
        if not self.is_ended:
            self.is_ended = True
            self._transmit(_END, self._network.delay())

    def reset(self) -> None:
        if not self.is_ended:
            self.is_ended = True
            self._transmit(_RESET, self._network.delay())

    def stop(self) -> None:
        """Nothing more is sent, not even what is under way."""
        self.is_ended = True
        self._segments.clear()
        self._lost = 0

    def _transmit(self, segment: Segment, delay: float) -> None:
        self._segments.append(segment)
        self._send_packet(delay)

    def _send_packet(self, delay: float) -> None:
        scheduler = self._network.scheduler
        self._last_arrival = max(self._last_arrival, scheduler.now + delay)
        label = f"packet from {self._sender.host} to {self._receiver.host}"
        scheduler.at(self._last_arrival, label, self._arrive)

    @property
    def _is_cut(self) -> bool:
        network, target = self._network, self._receiver.host
        return not network.is_open(self._sender.host, target) or not network.is_powered(target)

    def _arrive(self) -> None:
        if not self._segments:
            return  # stopped
        if self._is_cut:
            if not self._lost:
                self._give_up_later()
            self._lost += 1
            return
        segment = self._segments.popleft()
        receiver = self._receiver
        if isinstance(segment, bytes):
            self._under_way -= len(segment)
        if receiver.is_closed:
            self._refuse()
        elif isinstance(segment, bytes):
            receiver.received += segment
            receiver.changed()
        elif segment is _END:
            receiver.is_at_end = True
            receiver.changed()
        else:
            receiver.received.clear()
            receiver.fail(errno.ECONNRESET)

    def _refuse(self) -> None:
        """The receiver does not know this connection any more: it answers with a reset, if that arrives."""
        if self._network.is_open(self._receiver.host, self._sender.host):
            self._network.scheduler.after(
                self._network.delay(),
                f"reset from {self._receiver.host} to {self._sender.host}",
                lambda: self._sender.fail(errno.ECONNRESET),
            )

    def _give_up_later(self) -> None:
        from tests.simulation.network import TCP_PATIENCE

        def give_up() -> None:
            if self._lost:
                self._sender.fail(errno.ETIMEDOUT)

        self._network.scheduler.after(TCP_PATIENCE, f"{self._sender.host} gives up a connection", give_up)

    def send_again(self) -> None:
        """A cut was healed somewhere, or a host is back."""
        if not self._is_cut:
            lost, self._lost = self._lost, 0
            for _ in range(lost):
                self._send_packet(self._network.delay() * _RETRANSMISSION)


class Watch:
    """A callback for as long as a socket is readable, or writable: once in every turn of the loop."""

    __slots__ = ("_args", "_callback", "_condition", "_is_scheduled", "_loop")

    def __init__(self) -> None:
        self._loop: NodeLoop | None = None
        self._condition: Callable[[], bool] = bool
        self._callback: Callable[..., object] = bool
        self._args: tuple[Any, ...] = ()
        self._is_scheduled: bool = False

    def start(
        self,
        loop: "NodeLoop",
        condition: Callable[[], bool],
        callback: Callable[..., object],
        args: tuple[Any, ...],
    ) -> None:
        self._loop, self._condition, self._callback, self._args = loop, condition, callback, args
        self.check()

    def stop(self) -> bool:
        was_watching = self._loop is not None
        self._loop = None
        return was_watching

    def check(self) -> None:
        if self._loop is not None and not self._is_scheduled and self._condition():
            self._is_scheduled = True
            self._loop.call_soon(self._run)

    def _run(self) -> None:
        self._is_scheduled = False
        if self._loop is not None and self._condition():
            self._callback(*self._args)
            self.check()
