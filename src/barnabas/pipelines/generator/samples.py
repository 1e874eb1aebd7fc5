"""Metrics of hosts: each host has its levels, gives a sample of every metric in turn, and may get into
trouble.
"""

import random
from collections.abc import Iterator

from barnabas.pipelines.generator.incidents import HostIncident, host_incidents
from barnabas.pipelines.generator.plan import Plan
from barnabas.pipelines.generator.records import Sample
from barnabas.pipelines.generator.world import METRICS, SAMPLE_INTERVAL_MS, SERVICES, Metric

_FEWEST_HOSTS = 4
_MOST_HOSTS = 2000


class Samples:
    """The samples of a plan, by time; a host's samples of one round have one time."""

    def __init__(self, plan: Plan, events_per_second: float) -> None:
        self._plan: Plan = plan
        wanted = round(events_per_second * SAMPLE_INTERVAL_MS / 1000 / len(METRICS))
        count = min(max(wanted, _FEWEST_HOSTS), _MOST_HOSTS)
        services = sorted(SERVICES)
        self.hosts: tuple[str, ...] = tuple(
            f"{services[number % len(services)]}-{number // len(services) + 1}" for number in range(count)
        )
        self.incidents: tuple[HostIncident, ...] = host_incidents(plan, self.hosts)
        self._chance: random.Random = plan.chance("samples")
        self._troubles = {(each.host, each.metric): each for each in self.incidents}
        self._levels = {
            (host, metric.name): self._chance.uniform(metric.low, metric.high)
            for host in self.hosts
            for metric in METRICS
        }

    def __iter__(self) -> Iterator[list[Sample]]:
        phases = sorted((self._chance.randrange(SAMPLE_INTERVAL_MS), host) for host in self.hosts)
        for round_start in range(self._plan.start_ms, self._plan.end_ms, SAMPLE_INTERVAL_MS):
            for phase, host in phases:
                moment = round_start + phase
                if moment < self._plan.end_ms:
                    yield [self._sample(moment, host, metric) for metric in METRICS]

    def _sample(self, moment: int, host: str, metric: Metric) -> Sample:
        level = self._levels[host, metric.name]
        trouble = self._troubles.get((host, metric.name))
        if trouble is not None and trouble.start_ms <= moment < trouble.end_ms:
            level = trouble.level(level, moment)
        value = min(max(0.0, self._chance.gauss(level, metric.noise)), metric.ceiling)
        return Sample(moment, host, metric.name, round(value, 3))
