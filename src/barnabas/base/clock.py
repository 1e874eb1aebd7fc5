"""Time as an argument: wall time in milliseconds for records, monotonic seconds for waiting."""

import time
from typing import Protocol


class Clock(Protocol):
    def now_ms(self) -> int:
        """Milliseconds since the epoch, as records and files carry them."""
        ...

    def monotonic(self) -> float:
        """Seconds that never go back, for timeouts."""
        ...


class SystemClock:
    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def monotonic(self) -> float:
        return time.monotonic()


class ManualClock:
    """A clock that stands still until it is advanced: tests decide what time it is."""

    def __init__(self, now_ms: int = 1_600_000_000_000) -> None:
        self._now_ms: int = now_ms
        self._started_ms: int = now_ms

    def now_ms(self) -> int:
        return self._now_ms

    def monotonic(self) -> float:
        return (self._now_ms - self._started_ms) / 1000

    def advance(self, ms: int) -> None:
        self._now_ms += ms
