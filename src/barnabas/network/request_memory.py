"""Bytes of requests that are being received or worked on, and their bound (`queued.max.request.bytes`).

As in Apache Kafka (`SimpleMemoryPool`, not strict) a request may be begun while anything is left, so that
the bound can be passed by one request. From then on no connection begins to read another one until some are
done; who is in the middle of a request goes on with it. A request that fits into the receive buffer, which
all connections share, and is answered at once takes nothing.

Belongs to the event loop's thread.
"""

from collections.abc import Callable


class RequestMemory:
    __slots__ = ("_limit", "_waiting", "is_exhausted", "used")

    def __init__(self, limit: int = -1) -> None:
        """`limit` in bytes; not positive: none."""
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
        """Call `resume` once when there is room again."""
        self._waiting[resume] = None

    def forget(self, resume: Callable[[], None]) -> None:
        self._waiting.pop(resume, None)
