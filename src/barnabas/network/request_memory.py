"""Memory of requests that are being received or handled, and its limit (`queued.max.request.bytes`).

As in Apache Kafka (`SimpleMemoryPool`, not strict), a request may be started while any memory is left, so
that one request can exceed the limit. Then no connection starts to read another request until some are done.
A connection in the middle of a request continues. A request that fits into the shared receive buffer and gets
its response at once takes nothing.

Belongs to the event loop's thread.
"""

from collections.abc import Callable


class RequestMemory:
    __slots__ = ("_limit", "_waiting", "is_exhausted", "used")

    def __init__(self, limit: int = -1) -> None:
        """`limit` in bytes. There is no limit if it is not positive."""
        self._limit: int = limit
        self._waiting: dict[Callable[[], None], None] = {}
        self.used: int = 0
        self.is_exhausted: bool = False

    def hold(self, size: int) -> None:
        self.used += size
        self.is_exhausted = 0 < self._limit <= self.used

    def free(self, size: int) -> None:
        self.used -= size
        was_exhausted, self.is_exhausted = self.is_exhausted, 0 < self._limit <= self.used
        if was_exhausted and not self.is_exhausted:
            waiting, self._waiting = self._waiting, {}
            for resume in waiting:
                resume()

    def when_available(self, resume: Callable[[], None]) -> None:
        """Call `resume` once, when memory is available again."""
        self._waiting[resume] = None

    def forget(self, resume: Callable[[], None]) -> None:
        self._waiting.pop(resume, None)
