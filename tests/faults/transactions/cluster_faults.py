"""Brokers of a cluster are killed, paused and restarted, also several at once; each fault ends by itself."""

import random
import time
from collections import Counter
from collections.abc import Callable

from barnabas.testing import Cluster

_MOST_AT_ONCE = 2
"""So many brokers are down or paused at a time."""


class ClusterFaults:
    def __init__(self, cluster: Cluster, rng: random.Random) -> None:
        self._cluster: Cluster = cluster
        self._rng: random.Random = rng
        self._heals: dict[int, tuple[float, Callable[[int], object]]] = {}
        """When and how the fault of a broker ends."""
        self._next: float = time.monotonic() + rng.uniform(1, 3)
        self.counts: Counter[str] = Counter()

    def step(self) -> None:
        """End what is due, and begin the next fault if its time has come."""
        now = time.monotonic()
        for broker, (end, heal) in list(self._heals.items()):
            if now >= end:
                del self._heals[broker]
                heal(broker)
        if now >= self._next and len(self._heals) < _MOST_AT_ONCE:
            self._begin(now)
            self._next = time.monotonic() + self._rng.uniform(1, 5)

    def _begin(self, now: float) -> None:
        rng, cluster = self._rng, self._cluster
        broker = rng.choice([each for each in range(len(cluster.brokers)) if each not in self._heals])
        match rng.choice(("kill", "kill", "pause", "long pause", "restart")):
            case "kill":
                self.counts["broker killed"] += 1
                cluster.kill(broker)
                self._heals[broker] = now + rng.choice((0, 0.5, 3, 6)), cluster.start
            case "pause":
                self.counts["broker paused"] += 1
                cluster.pause(broker)
                self._heals[broker] = now + rng.uniform(0.2, 2), cluster.resume
            case "long pause":
                self.counts["broker paused beyond its session"] += 1
                cluster.pause(broker)
                self._heals[broker] = now + rng.uniform(5, 8), cluster.resume
            case _:
                self.counts["broker restarted"] += 1
                cluster.restart(broker)

    def heal(self) -> None:
        for broker, (_, heal) in self._heals.items():
            heal(broker)
        self._heals.clear()
