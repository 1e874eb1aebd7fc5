"""The bytes and file ranges that one connection has yet to send, in order.

Bytes and file ranges share one queue: a header never overtakes the records of the response before it. Records
go from the page cache to the socket by `sendfile`.
"""

import os
import socket
from collections import deque
from collections.abc import Callable

from barnabas.base.ranges import FileRange
from barnabas.network.responses import Part, Parts

# Below this size, joining small responses is cheaper than a vector of buffers. Above it, records would be
# copied.
_JOIN_LIMIT = 4 * 1024
_MAX_VECTORS = 256
_MORE_FOLLOWS = getattr(socket, "MSG_MORE", 0)
_SENDFILE_CHUNK = 4 * 1024 * 1024


class SentMark(bytes):
    """An empty part at the end of a response. `on_sent` is called when the socket has all parts before it.

    It is not called if the connection is closed earlier.
    """

    on_sent: Callable[[], None]


def sent_mark(on_sent: Callable[[], None]) -> SentMark:
    mark = SentMark()
    mark.on_sent = on_sent
    return mark


class SendQueue:
    __slots__ = ("_marks", "_parts", "_socket", "unsent")

    def __init__(self, sock: socket.socket) -> None:
        self._socket: socket.socket = sock
        self._parts: deque[Part] = deque()
        self.unsent: int = 0
        """Bytes in the queue. The queue is empty if it is 0."""
        self._marks: deque[tuple[int, Callable[[], None]]] | None = None
        """What to call when no more than so many of the bytes now unsent are left, in order."""

    @property
    def parts(self) -> Parts:
        return list(self._parts)

    def add(self, parts: Parts) -> None:
        for part in parts:
            size = part.size if isinstance(part, FileRange) else len(part)
            if size:  # An empty part would never be counted as sent.
                self._parts.append(part)
                self.unsent += size
            elif isinstance(part, SentMark):
                self._add_mark(part)

    def _add_mark(self, mark: SentMark) -> None:
        if not self.unsent:
            mark.on_sent()
            return
        if self._marks is None:
            self._marks = deque()
        self._marks.append((self.unsent, mark.on_sent))

    def send(self) -> None:
        """Send until the queue is empty. Raises BlockingIOError if the socket is full, or OSError."""
        parts = self._parts
        while parts:
            head = parts[0]
            if isinstance(head, FileRange):
                self._send_range(head)
                continue
            if len(parts) == 1:
                count = self._socket.send(head)
            else:
                count = self._send_buffers()
            self._remove(count)

    def _send_buffers(self) -> int:
        """One system call for the buffers at the head of the queue."""
        buffers: list[bytes | bytearray | memoryview] = []
        size = flags = 0
        for part in self._parts:
            if isinstance(part, FileRange):
                # The kernel may hold these few bytes back and send them together with the records.
                flags = _MORE_FOLLOWS
                break
            if len(buffers) == _MAX_VECTORS:
                break
            buffers.append(part)
            size += len(part)
        if size <= _JOIN_LIMIT:
            return self._socket.send(b"".join(buffers), flags)
        return self._socket.sendmsg(buffers, [], flags)

    def _remove(self, count: int) -> None:
        parts = self._parts
        self.unsent -= count
        left = count
        while left:
            head = parts[0]
            assert not isinstance(head, FileRange)
            if left < len(head):
                parts[0] = memoryview(head)[left:]
                break
            left -= len(head)
            parts.popleft()
        if self._marks:
            self._pass_marks(count)

    def _send_range(self, head: FileRange) -> None:
        count = os.sendfile(
            self._socket.fileno(), head.file.fd, head.position, min(head.size, _SENDFILE_CHUNK)
        )
        if count == 0:
            # The log was truncated below a response that announced these bytes. The frame cannot be
            # completed, and the client must not read the next response as the rest of this one.
            raise OSError(f"{head.file.path} ends before byte {head.position + head.size}")
        self.unsent -= count
        if count == head.size:
            self._parts.popleft()
        else:
            self._parts[0] = FileRange(head.file, head.position + count, head.size - count)
        if self._marks:
            self._pass_marks(count)

    def _pass_marks(self, sent: int) -> None:
        assert self._marks is not None
        marks = deque((left - sent, on_sent) for left, on_sent in self._marks)
        passed: list[Callable[[], None]] = []
        while marks and marks[0][0] <= 0:
            passed.append(marks.popleft()[1])
        self._marks = marks
        for on_sent in passed:
            on_sent()

    def clear(self) -> None:
        """Drop everything: the connection is closed."""
        self._parts.clear()
        self.unsent = 0
        self._marks = None
