"""The next deadline of a shard on the event loop: one timer handle, set again for an earlier deadline."""

from collections.abc import Callable
from typing import Protocol

from barnabas.runtime.timers import Timers


class Handle(Protocol):
    def cancel(self) -> None: ...


CallLater = Callable[[float, Callable[[], None]], Handle]
"""`loop.call_later`: the delay in seconds, and the callback."""
CallSoon = Callable[[Callable[[], None]], object]
"""`loop.call_soon`: the callback runs when the loop has finished its turn."""


class Alarm:
    def __init__(self, call_later: CallLater) -> None:
        self._call_later: CallLater = call_later
        self._timers: Timers | None = None
        self._ring: Callable[[], None] = _silence
        self._handle: Handle | None = None

    def watch(self, timers: Timers, ring: Callable[[], None]) -> None:
        """Call `ring` once, when a deadline of `timers` may be due."""
        self._timers, self._ring = timers, ring
        timers.on_earlier = self.reset
        self.reset()

    def reset(self) -> None:
        """The next deadline has changed."""
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None
        deadline = None if self._timers is None else self._timers.next_deadline_ms()
        if deadline is not None and self._timers is not None:
            delay_ms = deadline - self._timers.now_ms()
            # One millisecond more than needed: the loop may wake slightly early, and would then wake twice.
            self._handle = self._call_later((delay_ms + 1) / 1000 if delay_ms > 0 else 0, self._on_time)

    def _on_time(self) -> None:
        self._handle = None
        self._ring()
        self.reset()

    def stop(self) -> None:
        if self._timers is not None:
            self._timers.on_earlier = None
            self._timers = None
        self.reset()


def _silence() -> None:
    """Do nothing: no shard is watched yet."""
