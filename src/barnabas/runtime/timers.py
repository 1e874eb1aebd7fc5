"""Deadlines of one shard, by key.

Setting a later deadline, as every heartbeat does, costs one dictionary write: the heap keeps the earlier
entry and corrects it when it is due. Time is the clock's monotonic time, in milliseconds. The runtime reads
`next_deadline_ms`, waits, and runs what `due` yields. An action returns an `Outcome` whose records are
written like those of a request.
"""

from collections.abc import Callable, Iterator
from heapq import heappop, heappush
from typing import Any, NamedTuple

from barnabas.base.clock import Clock
from barnabas.runtime.outcome import Outcome

Key = tuple[str, ...]
"""The purpose and the owner of the deadline: ("session", group id, member id)."""
Action = Callable[[], "Outcome[Any] | None"]


class _Deadline(NamedTuple):
    at_ms: int
    action: Action


class Timers:
    def __init__(self, clock: Clock) -> None:
        self._clock: Clock = clock
        self._deadlines: dict[Key, _Deadline] = {}
        self._heap: list[tuple[int, Key]] = []
        self._queued: dict[Key, int] = {}
        self.on_earlier: Callable[[], None] | None = None
        """Called when the next deadline has become earlier, so that the waiting timer is set again."""

    def now_ms(self) -> int:
        return int(self._clock.monotonic() * 1000)

    def schedule(self, key: Key, delay_ms: int, action: Action) -> None:
        """Set the deadline of `key`. Replaces the previous one."""
        at_ms = self.now_ms() + delay_ms
        self._deadlines[key] = _Deadline(at_ms, action)
        queued = self._queued.get(key)
        if queued is None or at_ms < queued:
            self._queue(at_ms, key)

    def schedule_if_absent(self, key: Key, delay_ms: int, action: Action) -> None:
        if key not in self._deadlines:
            self.schedule(key, delay_ms, action)

    def cancel(self, key: Key) -> None:
        self._deadlines.pop(key, None)

    def is_scheduled(self, key: Key) -> bool:
        return key in self._deadlines

    def clear(self) -> None:
        self._deadlines.clear()
        self._heap.clear()
        self._queued.clear()

    def __len__(self) -> int:
        return len(self._deadlines)

    def next_deadline_ms(self) -> int | None:
        """The earliest time at which a deadline may be due, in the time of `now_ms`.

        Never later than it is.
        """
        return self._heap[0][0] if self._heap else None

    def due(self) -> Iterator[tuple[Key, Action]]:
        """Remove and yield the due deadlines. Deadlines scheduled meanwhile wait for the next call."""
        now_ms = self.now_ms()
        taken: list[tuple[int, Key]] = []
        while self._heap and self._heap[0][0] <= now_ms:
            taken.append(heappop(self._heap))
        for at_ms, key in taken:
            if self._queued.get(key) != at_ms:
                continue
            del self._queued[key]
            deadline = self._deadlines.get(key)
            if deadline is None:
                continue
            if deadline.at_ms > now_ms:
                self._queue(deadline.at_ms, key)
                continue
            del self._deadlines[key]
            yield key, deadline.action

    def _queue(self, at_ms: int, key: Key) -> None:
        is_first = not self._heap or at_ms < self._heap[0][0]
        self._queued[key] = at_ms
        heappush(self._heap, (at_ms, key))
        if is_first and self.on_earlier is not None:
            self.on_earlier()
