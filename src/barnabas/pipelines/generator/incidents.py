"""What goes wrong in a run, drawn before it begins: services that fail, hosts that spike or drift.

A spike jumps to the metric's level of trouble and back; a drift climbs there over its whole length. An
incident begins after a fifth of the span, so that there is a good time to compare with, and ends before its
last tenth.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from barnabas.pipelines.generator.plan import Plan
from barnabas.pipelines.generator.world import METRICS, SERVICES, Metric

_SPIKE = 240.0
_DRIFT = 2400.0
_OUTAGE = 900.0


@dataclass(frozen=True, slots=True)
class Outage:
    """A service answers slowly and fails often."""

    service: str
    start_ms: int
    end_ms: int
    failures: float


@dataclass(frozen=True, slots=True)
class HostIncident:
    host: str
    metric: str
    kind: str
    """`spike` or `drift`"""
    start_ms: int
    end_ms: int
    trouble: float

    def level(self, normal: float, time_ms: int) -> float:
        """What the level of the metric is at a time of the incident."""
        if self.kind == "spike":
            return self.trouble
        passed = (time_ms - self.start_ms) / (self.end_ms - self.start_ms)
        return normal + (self.trouble - normal) * passed


def outages(plan: Plan) -> tuple[Outage, ...]:
    """One in six hours, at least one."""
    chance = plan.chance("outages")
    found = []
    for _ in range(max(1, round(plan.span / 21_600))):
        service = chance.choice(sorted(SERVICES))
        start, end = _interval(plan, chance.random(), min(_OUTAGE, plan.span / 12))
        found.append(Outage(service, start, end, chance.uniform(0.2, 0.5)))
    return tuple(found)


def host_incidents(plan: Plan, hosts: Sequence[str]) -> tuple[HostIncident, ...]:
    """A spike and a drift at least, on different hosts; more with many hosts, one per host at most."""
    chance = plan.chance("incidents")
    found = []
    for number, host in enumerate(chance.sample(list(hosts), max(2, len(hosts) // 20))):
        kind = ("spike", "drift")[number % 2]
        metric: Metric = chance.choice(METRICS)
        length = min(_SPIKE, plan.span / 10) if kind == "spike" else min(_DRIFT, plan.span / 3)
        start, end = _interval(plan, chance.random(), length)
        found.append(HostIncident(host, metric.name, kind, start, end, metric.trouble))
    return tuple(found)


def _interval(plan: Plan, where: float, seconds: float) -> tuple[int, int]:
    length = int(seconds * 1000)
    first, last = plan.moment(0.2), plan.moment(0.9) - length
    start = first + int(where * (last - first))
    return start, start + length
