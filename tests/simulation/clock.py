"""The clock of one node: virtual time, with a wall clock that may be wrong.

Satisfies `barnabas.base.clock.Clock`.
"""

from tests.simulation.scheduler import Scheduler

BEGINNING_MS = 1_700_000_000_000
"""The wall time at which every simulation begins."""


class NodeClock:
    def __init__(self, scheduler: Scheduler, skew_ms: int = 0) -> None:
        self._scheduler: Scheduler = scheduler
        self.skew_ms: int = skew_ms
        """How much the wall clock is ahead of the others; negative: behind."""

    def now_ms(self) -> int:
        return BEGINNING_MS + self.skew_ms + int(self._scheduler.now * 1000)

    def monotonic(self) -> float:
        return self._scheduler.now
