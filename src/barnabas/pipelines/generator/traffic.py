"""When visits begin: a daily curve with its peak in the evening, bursts on top, chance in between."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from barnabas.pipelines.generator.plan import Plan

_DAY = 86_400_000
_PEAK_HOUR = 20.0
_STEPS = 288
"""How finely the mean of the curve is taken."""


@dataclass(frozen=True, slots=True)
class Burst:
    """A mail shot, a mention in the news: `factor` times the visits from `start_ms` to `end_ms`."""

    start_ms: int
    end_ms: int
    factor: float


class Traffic:
    """The visits of a plan: how many to expect at a time, and when each begins."""

    def __init__(self, plan: Plan, visits_per_second: float) -> None:
        self._plan: Plan = plan
        self._chance = plan.chance("traffic")
        self.bursts: tuple[Burst, ...] = tuple(self._bursts())
        shares = [plan.moment((step + 0.5) / _STEPS) for step in range(_STEPS)]
        mean = sum(self._shape(moment) for moment in shares) / _STEPS
        self._scale: float = visits_per_second / mean

    def intensity(self, time_ms: int) -> float:
        """Visits per second to expect at that time."""
        return self._shape(time_ms) * self._scale

    def arrivals(self) -> Iterator[int]:
        """The times at which visits begin (thinning of a steady stream of chances)."""
        peak = 1.9 * self._scale * max((burst.factor for burst in self.bursts), default=1.0)
        moment = float(self._plan.start_ms)
        while True:
            moment += self._chance.expovariate(peak) * 1000
            if moment >= self._plan.end_ms:
                return
            if self._chance.random() * peak < self.intensity(int(moment)):
                yield int(moment)

    def _shape(self, time_ms: int) -> float:
        hour = time_ms % _DAY / 3_600_000
        value = 1 + 0.7 * math.cos((hour - _PEAK_HOUR) / 24 * 2 * math.pi)
        for burst in self.bursts:
            if burst.start_ms <= time_ms < burst.end_ms:
                value *= burst.factor
        return value

    def _bursts(self) -> Iterator[Burst]:
        """About one in four hours, never two at once, at least one; minutes long, or a twentieth of the
        span.
        """
        count = max(1, round(self._plan.span / 14_400))
        for number in range(count):
            length = min(self._chance.uniform(180, 600), self._plan.span / 20)
            start = self._plan.moment((number + self._chance.uniform(0.1, 0.8)) / count)
            yield Burst(start, start + int(length * 1000), self._chance.uniform(2.0, 4.0))
