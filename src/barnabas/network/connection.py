"""One client connection: a non-blocking socket, frames in, responses out in order.

Invariants:
- Requests are dispatched in the order they came, and answered in that order.
- While a request holds the connection back, or while the peer does not read its responses, nothing more
  is dispatched and, past a small backlog, nothing more is read: memory per connection is bounded.
- Bytes and file ranges leave through one queue, so a header never overtakes the records of the response
  before it. Records go from the page cache to the socket by `sendfile`.
"""

import logging
import os
import socket
from asyncio import AbstractEventLoop
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

from barnabas.base.loop_holds import HOLD_SECONDS
from barnabas.base.ranges import FileRange
from barnabas.network.framing import LENGTH_SIZE, BadFrame, FrameBuffers, FrameReader
from barnabas.network.request_memory import RequestMemory
from barnabas.network.responses import Part, Parts, Pending, ResponseQueue
from barnabas.network.turn import Turn

logger = logging.getLogger("network")

RECEIVE_BUFFER_SIZE = 256 * 1024
# Bytes of answers that are not sent, or not yet in turn, from which on no further request of the connection
# is dispatched.
UNSENT_LIMIT = 1024 * 1024
# Bytes read ahead while the connection is held back; reading on is how a hang-up is noticed.
BACKLOG_LIMIT = 64 * 1024
# Up to here joining small answers is cheaper than a vector of buffers; beyond, records would be copied.
_JOIN_LIMIT = 4 * 1024
_MAX_VECTORS = 256
_MORE_FOLLOWS = getattr(socket, "MSG_MORE", 0)
_SENDFILE_CHUNK = 4 * 1024 * 1024

OnFrame = Callable[["Connection", memoryview], Parts | Pending | None]


class Peer(NamedTuple):
    """Who is at the other end, and through which listener they came."""

    host: str
    port: int
    listener: str


class Connection:
    """Owned by the event loop's thread. `on_closed` is called once, whoever closed it."""

    # attributes by lifetime: the process's, the connection's, the traffic's
    __slots__ = (
        "_dispatching",
        "_is_finishing",
        "_is_greedy",
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
        "_unsent",
        "_waits_for_memory",
        "is_closed",
        "last_active",
        "peer",
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
        self.shortcut: Callable[[memoryview], Parts | Pending | None] | None = None
        """Tried first for every frame; None as its result leaves the frame to `on_frame`'s usual way."""
        self.is_closed: bool = False
        self.last_active: float = loop.time()

        self._turn: Turn = turn or Turn(loop)
        buffers = buffers or FrameBuffers()
        self._memory: RequestMemory = buffers.memory
        self._waits_for_memory: bool = False
        self._reader: FrameReader = FrameReader(max_frame, buffers)
        self._responses: ResponseQueue = ResponseQueue()
        self._out: deque[Part] = deque()
        self._unsent: int = 0
        self._dispatching: bool = False
        self._is_finishing: bool = False
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
            self.last_active = self._loop.time()  # part of a large frame came
            return
        except OSError as error:
            self.close(f"read failed: {error}")
            return
        self._dispatch_frames()

    def _wait_for_memory(self) -> None:
        """Requests of all connections hold as much as they may: begin none until some are done."""
        self._waits_for_memory = True
        self._memory.when_available(self._on_memory)
        self._update_reading()

    def _on_memory(self) -> None:
        self._waits_for_memory = False
        if not self.is_closed:
            self._update_reading()

    def _receive(self) -> bool:
        """Read once (a torn frame: as far as it goes); True when there may be frames to dispatch."""
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
        """Dispatch what is complete and allowed, keep the rest, send what is ready."""
        reader, responses = self._reader, self._responses
        clock = self._turn.clock
        now = clock()
        end_of_turn = now + self._turn.seconds
        # With nobody else to serve, a client that pipelines is sent its first answer at once: it goes on
        # while the others are made, and neither waits for the other (measured: 1.6 times the rate).
        is_alone = send_first = self._turn.begin(self)
        self._dispatching = True
        try:
            while not (self._is_finishing or self._unsent or responses) or not self._must_wait():
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
                    self._enqueue(result)
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
        """The turn is over, or the connection; the last request took `seconds`."""
        if seconds > HOLD_SECONDS:
            self._turn.on_held(self, frame, seconds)
        if not self.is_closed:  # else: what the peer sent behind this is dropped with the connection
            self._loop.call_soon(self._dispatch_backlog)
            if not self._is_greedy:
                self._is_greedy = True
                self._turn.used_up(self)

    def send_answers(self) -> None:
        """Send what is ready and in turn."""
        if not self.is_closed:
            self._flush_responses()

    def _dispatch_backlog(self) -> None:
        """Go on with requests that were received while the connection was held back."""
        if self._reader.kept and not self.is_closed and not self._must_wait():
            self._dispatch_frames()

    def _must_wait(self) -> bool:
        if self._is_finishing:
            return True
        if self._unsent + self._responses.ready_bytes > UNSENT_LIMIT:
            self._flush()
            if self.is_closed or self._unsent + self._responses.ready_bytes > UNSENT_LIMIT:
                return True
        return bool(self._responses) and self._responses.is_held_back

    def _update_reading(self) -> None:
        if self._is_reading and not self._responses and not self._out and not self._waits_for_memory:
            return  # the usual case: everything is answered and sent
        has_room = not self._must_wait() or self._reader.kept < BACKLOG_LIMIT
        wanted = not self.is_closed and not self._waits_for_memory and has_room
        if wanted and not self._is_reading:
            self._loop.add_reader(self._socket, self._on_readable)
        elif not wanted and self._is_reading:
            self._loop.remove_reader(self._socket)
        self._is_reading = wanted

    # --- out ----------------------------------------------------------------------------------------

    def _on_completed(self) -> None:
        """A pending response is there: send what is in turn, and go on with what waited behind it."""
        if self.is_closed or self._dispatching:
            return
        self._flush_responses()
        self._dispatch_backlog()

    def _flush_responses(self) -> None:
        if self._responses:
            self._enqueue(self._responses.take_ready())
        self._flush()
        if not self.is_closed:
            self._update_reading()

    def _enqueue(self, parts: Parts) -> None:
        for part in parts:
            size = part.size if isinstance(part, FileRange) else len(part)
            if size:  # an empty part would never count as sent
                self._out.append(part)
                self._unsent += size

    def _flush(self) -> None:
        """Send until the queue is empty or the socket is full."""
        out = self._out
        if self._is_writing or not out:
            return
        try:
            self._send_queued()
        except BlockingIOError:
            pass
        except OSError as error:
            self.close(f"write failed: {error}")
            return
        if out and not self.is_closed:
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

    def _send_queued(self) -> None:
        out = self._out
        while out:
            head = out[0]
            if isinstance(head, FileRange):
                self._send_range(head)
                continue
            if len(out) == 1:
                count = self._socket.send(head)
            else:
                count = self._send_buffers()
            self._sent_bytes(count)

    def _send_buffers(self) -> int:
        """One call for the buffers at the head of the queue."""
        buffers: list[bytes | bytearray | memoryview] = []
        size = flags = 0
        for part in self._out:
            if isinstance(part, FileRange):
                # The kernel may keep these few bytes and send them together with the records.
                flags = _MORE_FOLLOWS
                break
            if len(buffers) == _MAX_VECTORS:
                break
            buffers.append(part)
            size += len(part)
        if size <= _JOIN_LIMIT:
            return self._socket.send(b"".join(buffers), flags)
        return self._socket.sendmsg(buffers, [], flags)

    def _sent_bytes(self, count: int) -> None:
        out = self._out
        self._unsent -= count
        while count:
            head = out[0]
            assert not isinstance(head, FileRange)
            if count < len(head):
                out[0] = memoryview(head)[count:]
                return
            count -= len(head)
            out.popleft()

    def _send_range(self, head: FileRange) -> None:
        count = os.sendfile(
            self._socket.fileno(), head.file.fd, head.position, min(head.size, _SENDFILE_CHUNK)
        )
        if count == 0:
            # The log was truncated under a response that promised these bytes: the frame cannot be
            # completed, and the client must not read the next response as the rest of this one.
            raise OSError(f"{head.file.path} ends before byte {head.position + head.size}")
        self._unsent -= count
        if count == head.size:
            self._out.popleft()
        else:
            self._out[0] = FileRange(head.file, head.position + count, head.size - count)

    # --- end ----------------------------------------------------------------------------------------

    def stop_dispatching(self) -> None:
        """Begin no further request: the broker is stopping."""
        self._is_finishing = True

    @property
    def has_unanswered(self) -> bool:
        """A request is under way, or its answer is."""
        return bool(self._responses or self._out)

    def close(self, reason: str, *, is_fault: bool = False) -> None:
        if self.is_closed:
            return
        self.is_closed = True
        logger.log(logging.WARNING if is_fault else logging.DEBUG, "Connection %r closed: %s", self, reason)
        self._loop.remove_reader(self._socket)
        if self._is_writing:
            self._loop.remove_writer(self._socket)
        if is_fault:
            # The requests before the bad one were good: their answers leave, as far as the socket takes them.
            with suppress(OSError):
                self._send_queued()
        self._socket.close()
        self._memory.forget(self._on_memory)
        self._turn.left_over(self)
        self._reader.discard()
        self._out.clear()
        self.shortcut = None  # it knows this connection: nobody should have to wait for the collector
        self._responses.cancel_all()
        self._on_closed(self)
