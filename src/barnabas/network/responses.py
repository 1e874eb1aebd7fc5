"""Responses: what a request handler may return, and the queue that keeps their order.

A handler returns a list of parts (sent as soon as the responses of earlier requests are sent), None (no
response: acks=0), or a `Pending` that it completes later. Responses are sent in the order of the requests,
not in the order of completion.
"""

from collections import deque
from collections.abc import Callable

from barnabas.base.ranges import FileRange

Part = bytes | bytearray | memoryview | FileRange
Parts = list[Part]


class Pending:
    """A response that is not complete yet.

    `holds_back`: later requests of the same connection wait for it (every API but Produce, whose appends must
    not wait for the acknowledgement of earlier ones). `release` ends that before the response is complete.
    The callback of `when_complete` runs then too, and finds that the response is not done.
    """

    __slots__ = ("_cancel", "_on_complete", "holds_back", "is_done", "parts")

    def __init__(self, *, holds_back: bool = True, cancel: Callable[[], object] | None = None) -> None:
        self.holds_back: bool = holds_back
        self.parts: Parts = []
        self.is_done: bool = False
        self._cancel: Callable[[], object] | None = cancel
        self._on_complete: Callable[[], None] | None = None

    def complete(self, parts: Parts) -> None:
        """Set the response. Called once, from the event loop's thread.

        Ignored if the connection is closed.
        """
        if self.is_done:
            return
        self.parts = parts
        self.is_done = True
        if self._on_complete is not None:
            self._on_complete()

    def become(self, result: "Parts | Pending | None") -> None:
        """Respond with a handler's late result: now, never (None), or when its own `Pending` is done."""
        if not isinstance(result, Pending):
            self.complete(result or [])
        elif self.is_done:  # The connection is closed.
            result.cancel()
        else:
            self.on_cancel(result.cancel)
            result.when_complete(lambda: self._follow(result))
            self._follow(result)

    def _follow(self, other: "Pending") -> None:
        if other.is_done:
            self.complete(other.parts)
        elif not other.holds_back:
            self.release()

    def release(self) -> None:
        """Let later requests go on. The response is still sent before theirs."""
        if not self.is_done and self.holds_back:
            self.holds_back = False
            if self._on_complete is not None:
                self._on_complete()

    def when_complete(self, callback: Callable[[], None]) -> None:
        self._on_complete = callback

    def on_cancel(self, cancel: Callable[[], object]) -> None:
        self._cancel = cancel

    def cancel(self) -> None:
        """The connection is closed: the response is no longer needed."""
        if self.is_done:
            return
        self.is_done = True
        if self._cancel is not None:
            self._cancel()


def size_of(parts: Parts) -> int:
    return sum(part.size if isinstance(part, FileRange) else len(part) for part in parts)


class ResponseQueue:
    """The requests of one connection that have no response yet, oldest first."""

    __slots__ = ("_waiting", "ready_bytes")

    def __init__(self) -> None:
        self.ready_bytes: int = 0
        """Bytes of responses that wait for an earlier one.

        Only responses that were complete at once count: others
        hold the connection back, or are a few bytes long (acknowledgements of Produce).
        """
        self._waiting: deque[Pending] = deque()

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def is_held_back(self) -> bool:
        return any(each.holds_back and not each.is_done for each in self._waiting)

    def add(self, pending: Pending) -> None:
        self._waiting.append(pending)

    def add_done(self, parts: Parts) -> None:
        done = Pending()
        done.complete(parts)
        self._waiting.append(done)
        self.ready_bytes += size_of(parts)

    def take_ready(self) -> Parts:
        """Returns the parts of every response that has no incomplete response before it."""
        ready: Parts = []
        waiting = self._waiting
        while waiting and waiting[0].is_done:
            ready.extend(waiting.popleft().parts)
        if self.ready_bytes:
            self.ready_bytes = sum(size_of(each.parts) for each in waiting)
        return ready

    def cancel_all(self) -> None:
        while self._waiting:
            self._waiting.popleft().cancel()
