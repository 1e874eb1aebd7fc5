"""One client connection: a non-blocking socket, frames in, responses out in order.

Invariants:
- Requests are dispatched in the order of arrival. Responses are sent in the same order.
- No request is dispatched while an earlier one holds the connection back, or while the peer does not read its
  responses. Beyond a small backlog nothing is read either. Memory per connection is bounded.
- Responses are sent through one queue (`network.send_queue`).
"""

import logging
import socket
from asyncio import AbstractEventLoop, TimerHandle
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

from barnabas.base.loop_holds import HOLD_SECONDS
from barnabas.base.principal import ANONYMOUS, Principal
from barnabas.network.framing import LENGTH_SIZE, BadFrame, FrameBuffers, FrameReader
from barnabas.network.request_memory import RequestMemory
from barnabas.network.responses import Parts, Pending, ResponseQueue
from barnabas.network.send_queue import SendQueue
from barnabas.network.turn import Turn

logger = logging.getLogger("network")

RECEIVE_BUFFER_SIZE = 256 * 1024
# Bytes of responses that are queued, or wait for an earlier response. At this limit no further request of the
# connection is dispatched.
UNSENT_LIMIT = 1024 * 1024
# Bytes read ahead while the connection is held back. Reading on detects that the peer has disconnected.
BACKLOG_LIMIT = 64 * 1024

OnFrame = Callable[["Connection", memoryview], Parts | Pending | None]


class Peer(NamedTuple):
    """The address of the client, and the listener it connected to."""

    host: str
    port: int
    listener: str


class Connection:
    """Owned by the event loop's thread. `on_closed` is called once, for every cause of the close."""

    # Attributes by lifetime: process, connection, traffic.
    __slots__ = (
        "_dispatching",
        "_is_finishing",
        "_is_greedy",
        "_is_paused",
        "_is_reading",
        "_is_writing",
        "_loop",
        "_memory",
        "_on_closed",
        "_on_frame",
        "_out",
        "_reader",
        "_receive_buffer",
        "_responses",
        "_socket",
        "_turn",
        "_unmute",
        "_waits_for_memory",
        "is_closed",
        "last_active",
        "peer",
        "principal",
        "shortcut",
    )

    def __init__(
        self,
        sock: socket.socket,
        peer: Peer,
        loop: AbstractEventLoop,
        receive_buffer: memoryview,
        *,
        max_frame: int,
        buffers: FrameBuffers | None = None,
        turn: Turn | None = None,
        on_frame: OnFrame,
        on_closed: Callable[["Connection"], None],
    ) -> None:
        self._loop: AbstractEventLoop = loop
        self._receive_buffer: memoryview = receive_buffer
        self._on_frame: OnFrame = on_frame
        self._on_closed: Callable[[Connection], None] = on_closed

        self._socket: socket.socket = sock
        self.peer: Peer = peer
        self.principal: Principal = ANONYMOUS
        """Who the client has proved to be."""
        self.shortcut: Callable[[memoryview], Parts | Pending | None] | None = None
        """Tried first for every frame. If it returns None, `on_frame` handles the frame."""
        self.is_closed: bool = False
        self.last_active: float = loop.time()

        self._turn: Turn = turn or Turn(loop)
        buffers = buffers or FrameBuffers()
        self._memory: RequestMemory = buffers.memory
        self._waits_for_memory: bool = False
        self._reader: FrameReader = FrameReader(max_frame, buffers)
        self._responses: ResponseQueue = ResponseQueue()
        self._out: SendQueue = SendQueue(sock)
        self._dispatching: bool = False
        self._is_finishing: bool = False
        self._unmute: TimerHandle | None = None
        self._is_paused: bool = False
        """Dispatches no request: it is finishing or muted."""
        self._is_greedy: bool = False
        self._is_writing: bool = False
        self._is_reading: bool = True
        loop.add_reader(sock, self._on_readable)

    def __repr__(self) -> str:
        return f"{self.peer.host}:{self.peer.port}"

    # --- in -----------------------------------------------------------------------------------------

    def _on_readable(self) -> None:
        if self._memory.is_exhausted and self._reader.target is None:
            self._wait_for_memory()
            return
        try:
            if not self._receive():
                return
        except BlockingIOError:
            self.last_active = self._loop.time()  # A part of a large frame was received.
            return
        except OSError as error:
            self.close(f"read failed: {error}")
            return
        self._dispatch_frames()

    def _wait_for_memory(self) -> None:
        """The requests of all connections are at the memory limit.

        Read no new request until some are done.
        """
        self._waits_for_memory = True
        self._memory.when_available(self._on_memory)
        self._update_reading()

    def _on_memory(self) -> None:
        self._waits_for_memory = False
        if not self.is_closed:
            self._update_reading()

    def _receive(self) -> bool:
        """Read once (a partial frame: as far as it goes). Returns True if there may be frames to dispatch."""
        reader = self._reader
        target = reader.target
        if target is None:
            room = self._receive_buffer
            if reader.expects_large and reader.kept < LENGTH_SIZE:
                room = room[: LENGTH_SIZE - reader.kept]
            count = self._socket.recv_into(room)
            if count:
                reader.feed(room[:count])
        else:
            count = self._socket.recv_into(target)
            while 0 < count < len(target):
                reader.received(count)
                target = target[count:]
                count = self._socket.recv_into(target)
            reader.received(count)
        if count == 0:
            self.close("closed by peer")
            return False
        self.last_active = self._loop.time()
        return True

    def _dispatch_frames(self) -> None:
        """Dispatch the complete frames that are allowed, keep the rest, send the responses that are ready."""
        reader, responses = self._reader, self._responses
        clock = self._turn.clock
        now = clock()
        end_of_turn = now + self._turn.seconds
        # If no other connection has requests, a pipelining client gets its first response at once. The client
        # then works on it while the next responses are made (measured: 1.6 times the rate).
        is_alone = send_first = self._turn.begin(self)
        self._dispatching = True
        try:
            while not (self._is_paused or self._out.unsent or responses) or not self._must_wait():
                frame = reader.next_frame()
                if frame is None:
                    if self._is_greedy:
                        self._is_greedy = False
                        self._turn.left_over(self)
                    break
                result = self._on_frame(self, frame)
                if isinstance(result, Pending):
                    result.when_complete(self._on_completed)
                    responses.add(result)
                elif result is not None and responses:
                    responses.add_done(result)
                elif result is not None:
                    self._out.add(result)
                    if send_first and reader.kept:
                        send_first = False
                        self._flush()
                begun, now = now, clock()
                if now > end_of_turn or self.is_closed:
                    self._end_turn(frame, now - begun)
                    break
        except BadFrame as error:
            self.close(str(error), is_fault=True)
        finally:
            self._dispatching = False
            reader.detach()
        if is_alone:
            self.send_answers()
        elif not self.is_closed:
            self._turn.answer_at_end(self)

    def _end_turn(self, frame: memoryview, seconds: float) -> None:
        """End the turn, or the connection is closed. The last request took `seconds`."""
        if seconds > HOLD_SECONDS:
            self._turn.on_held(self, frame, seconds)
        if not self.is_closed:  # If it is closed, the remaining frames of the peer are dropped.
            self._loop.call_soon(self._dispatch_backlog)
            if not self._is_greedy:
                self._is_greedy = True
                self._turn.used_up(self)

    def send_answers(self) -> None:
        """Send the responses that are ready and in order."""
        if not self.is_closed:
            self._flush_responses()

    def _dispatch_backlog(self) -> None:
        """Dispatch the requests that were received while the connection was held back."""
        if self._reader.kept and not self.is_closed and not self._must_wait():
            self._dispatch_frames()

    def _must_wait(self) -> bool:
        if self._is_paused:
            return True
        if self._out.unsent + self._responses.ready_bytes > UNSENT_LIMIT:
            self._flush()
            if self.is_closed or self._out.unsent + self._responses.ready_bytes > UNSENT_LIMIT:
                return True
        return bool(self._responses) and self._responses.is_held_back

    def _update_reading(self) -> None:
        is_idle = not (self._responses or self._out.unsent or self._waits_for_memory or self._is_paused)
        if is_idle and self._is_reading:
            return  # The usual case: every response is sent.
        has_room = not self._must_wait() or self._reader.kept < BACKLOG_LIMIT
        wanted = not self.is_closed and not self._waits_for_memory and has_room
        if wanted and not self._is_reading:
            self._loop.add_reader(self._socket, self._on_readable)
        elif not wanted and self._is_reading:
            self._loop.remove_reader(self._socket)
        self._is_reading = wanted

    # --- out ----------------------------------------------------------------------------------------

    def _on_completed(self) -> None:
        """A pending response is complete: send what is in order, and dispatch the requests behind it."""
        if self.is_closed or self._dispatching:
            return
        self._flush_responses()
        self._dispatch_backlog()

    def _flush_responses(self) -> None:
        if self._responses:
            self._out.add(self._responses.take_ready())
        self._flush()
        if not self.is_closed:
            self._update_reading()

    def _flush(self) -> None:
        """Send until the queue is empty or the socket is full."""
        out = self._out
        if self._is_writing or not out.unsent:
            return
        try:
            out.send()
        except BlockingIOError:
            pass
        except OSError as error:
            self.close(f"write failed: {error}")
            return
        if out.unsent and not self.is_closed:
            self._is_writing = True
            self._loop.add_writer(self._socket, self._on_writable)

    def _on_writable(self) -> None:
        self._is_writing = False
        self._loop.remove_writer(self._socket)
        self.last_active = self._loop.time()
        self._flush()
        if self.is_closed or self._is_writing:
            return
        self._update_reading()
        self._dispatch_backlog()

    # --- end ----------------------------------------------------------------------------------------

    def stop_dispatching(self) -> None:
        """Dispatch no further request: the broker is stopping."""
        self._is_finishing = self._is_paused = True

    def mute(self, seconds: float) -> None:
        """Dispatch no further request for `seconds`, or until the end of an earlier `mute` that ends later.

        Responses are sent meanwhile. This is how a client that exceeds its quota is slowed down.
        """
        if self.is_closed:
            return
        end = self._loop.time() + seconds
        if self._unmute is not None:
            end = max(end, self._unmute.when())
            self._unmute.cancel()
        self._unmute = self._loop.call_at(end, self._on_unmute)
        self._is_paused = True

    def _on_unmute(self) -> None:
        self._unmute = None
        self._is_paused = self._is_finishing
        self._dispatch_backlog()
        if not self.is_closed:
            self._update_reading()

    @property
    def has_unanswered(self) -> bool:
        """Whether a request is being handled, or its response is not sent yet."""
        return bool(self._responses or self._out.unsent)

    def close(self, reason: str, *, is_fault: bool = False) -> None:
        if self.is_closed:
            return
        self.is_closed = True
        logger.log(logging.WARNING if is_fault else logging.DEBUG, "Connection %r closed: %s", self, reason)
        self._loop.remove_reader(self._socket)
        if self._is_writing:
            self._loop.remove_writer(self._socket)
        if is_fault:
            # The requests before the bad frame were valid: their responses are sent, as far as the socket
            # takes them.
            with suppress(OSError):
                self._out.send()
        self._socket.close()
        if self._unmute is not None:
            self._unmute.cancel()
        self._memory.forget(self._on_memory)
        self._turn.left_over(self)
        self._reader.discard()
        self._out.clear()
        # It refers to this connection: break the cycle, so that no collector run is needed.
        self.shortcut = None
        self._responses.cancel_all()
        self._on_closed(self)
