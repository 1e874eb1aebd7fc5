"""Responses on their way out: what a request handler may return, and the queue that keeps their order.

A handler returns a list of parts (sent now, or as soon as earlier requests are answered), None (no
response: acks=0), or a `Pending` it completes later. Responses leave in the order of the requests,
whoever finishes first.
"""

from collections import deque
from collections.abc import Callable

from barnabas.base.ranges import FileRange

Part = bytes | bytearray | memoryview | FileRange
Parts = list[Part]


class Pending:
    """A response that is not there yet.

    `holds_back`: later requests of the same connection wait for it (everything but Produce, whose
    appends must not wait for the acknowledgement of earlier ones). `release` ends that before the answer is
    there; then too `when_complete`'s callback runs, and finds that it is not done.
    """

    __slots__ = ("_cancel", "_on_complete", "holds_back", "is_done", "parts")

    def __init__(self, *, holds_back: bool = True, cancel: Callable[[], object] | None = None) -> None:
        self.holds_back: bool = holds_back
        self.parts: Parts = []
        self.is_done: bool = False
        self._cancel: Callable[[], object] | None = cancel
        self._on_complete: Callable[[], None] | None = None

    def complete(self, parts: Parts) -> None:
        """Answer; called once, from the event loop's thread. Ignored when the connection is gone."""
        if self.is_done:
            return
        self.parts = parts
        self.is_done = True
        if self._on_complete is not None:
            self._on_complete()

    def release(self) -> None:
        """Later requests need not wait any more; the answer still comes first."""
        if not self.is_done and self.holds_back:
            self.holds_back = False
            if self._on_complete is not None:
                self._on_complete()

    def when_complete(self, callback: Callable[[], None]) -> None:
        self._on_complete = callback

    def on_cancel(self, cancel: Callable[[], object]) -> None:
        self._cancel = cancel

    def cancel(self) -> None:
        """The connection is gone: nobody waits for this any more."""
        if self.is_done:
            return
        self.is_done = True
        if self._cancel is not None:
            self._cancel()


def size_of(parts: Parts) -> int:
    return sum(part.size if isinstance(part, FileRange) else len(part) for part in parts)


class ResponseQueue:
    """The requests of one connection that are not answered yet, oldest first."""

    __slots__ = ("_waiting", "ready_bytes")

    def __init__(self) -> None:
        self.ready_bytes: int = 0
        """Of answers that wait for one before them. Only those that were there at once count: others hold
        the connection back, or are a few bytes long (acknowledgements of Produce).
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
        """Parts of every answered request that has no unanswered one before it."""
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
