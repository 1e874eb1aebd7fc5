"""A fetch that waits for more records: until enough are readable, its time is up, or a partition changes."""

from asyncio import AbstractEventLoop, TimerHandle
from collections.abc import Callable, Sequence

from barnabas.replication.partition import Partition
from barnabas.replication.partition_environment import FetchIsolation


class ParkedFetch:
    """Watches its partitions.

    `try_complete(is_final)` responds if it can and returns how many bytes are still missing, 0 once it has
    responded.
    """

    __slots__ = ("_is_over", "_missing", "_partitions", "_timer", "_try_complete")

    def __init__(
        self,
        partitions: Sequence[Partition],
        missing: int,
        max_wait: float,
        loop: AbstractEventLoop,
        try_complete: Callable[[bool], int],
        *,
        isolation: FetchIsolation = FetchIsolation.HIGH_WATERMARK,
    ) -> None:
        self._partitions: Sequence[Partition] = partitions
        self._missing: int = missing
        self._try_complete: Callable[[bool], int] = try_complete
        self._is_over: bool = False
        self._timer: TimerHandle = loop.call_later(max_wait, self.give_up)
        for partition in partitions:
            partition.watch(self, isolation)

    def on_readable(self, added: int) -> None:
        """`added` more bytes are readable. 0 says that a partition has changed and must be read again."""
        self._missing -= added
        if self._missing > 0 and added:
            return
        # Less may be readable than was appended (an open transaction): then the fetch waits on.
        self._missing = self._try_complete(False)
        if self._missing <= 0:
            self.forget()

    def give_up(self) -> None:
        """The time is up: respond with the records that are available."""
        if not self._is_over:
            self.forget()
            self._try_complete(True)

    def forget(self) -> None:
        """Stop watching; idempotent."""
        self._is_over = True
        self._timer.cancel()
        for partition in self._partitions:
            partition.unwatch(self)
