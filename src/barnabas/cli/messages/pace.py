"""Limits a rate: sleeps while the count is ahead of the clock."""

import time
from collections.abc import Callable

_SHORTEST = 0.002
"""Shorter sleeps cost more than they regulate."""


class Pace:
    def __init__(
        self,
        rate: float,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """`rate` per second. No limit if it is not above 0."""
        self._rate: float = rate
        self._clock: Callable[[], float] = clock
        self._sleep: Callable[[float], None] = sleep
        self._begin: float = clock()

    def wait(self, count: int) -> None:
        """Waits until `count` items are due."""
        if self._rate <= 0:
            return
        ahead = count / self._rate - (self._clock() - self._begin)
        if ahead >= _SHORTEST:
            self._sleep(ahead)
