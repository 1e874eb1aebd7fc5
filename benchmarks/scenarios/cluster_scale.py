"""Three brokers with many partitions: the memory of a broker, and the time until all have leaders again.

The controller is killed. The time ends when every partition has a leader that lives, and a topic was created.
"""

from __future__ import annotations

import time
from contextlib import suppress

from benchmarks import protocol, raw_client
from benchmarks.clusters import BROKERS, RunningCluster
from benchmarks.metrics import Metric, Target
from benchmarks.processes import BrokerFailed
from benchmarks.protocol import UnexpectedAnswer
from benchmarks.scenarios.base import Settings
from benchmarks.scenarios.cluster import GROUP

NAME = "cluster/scale"
_TOPIC = "scale"
_PARTITIONS_A_TOPIC = 1000
_TIMEOUT = 600.0


class ManyPartitions:
    name = NAME
    group = GROUP

    def __init__(self, partitions: int) -> None:
        self._partitions: int = partitions
        count = f"{partitions:,} partitions"
        self.metrics = (
            Metric("memory_mb", f"{count}: memory of a broker", "MB", False, Target("ratio", "most", 0.25)),
            Metric(
                "failover_s",
                f"{count}: kill -9 of the controller, until all have leaders",
                "s",
                False,
                Target("value", "most", 1.0),
            ),
        )

    def measure(self, cluster: RunningCluster, settings: Settings) -> dict[str, float]:
        del settings
        names = [f"{_TOPIC}-{number}" for number in range(self._partitions // _PARTITIONS_A_TOPIC)]
        for name in names:
            _create(cluster, name, _PARTITIONS_A_TOPIC)
        for name in names:
            cluster.wait_until_in_sync(name, _PARTITIONS_A_TOPIC, _TIMEOUT)
        memory = cluster.rss_mb()
        controller = cluster.view([]).controller
        killed = time.perf_counter()
        cluster.brokers[controller - 1].kill()
        _wait_for_leaders(cluster, names, controller)
        _create(cluster, f"{_TOPIC}-after", 1, BROKERS - 1)
        failover = time.perf_counter() - killed
        cluster.restart(controller)
        with cluster.connect(cluster.view([]).controller) as connection:
            for name in (*names, f"{_TOPIC}-after"):
                raw_client.delete_topic(connection, name)
        return {"memory_mb": memory, "failover_s": failover}


def _create(cluster: RunningCluster, name: str, partitions: int, replicas: int = BROKERS) -> None:
    """At the controller, which may have changed."""
    deadline = time.perf_counter() + _TIMEOUT
    while True:
        try:
            with cluster.connect(cluster.view([]).controller) as connection:
                request = protocol.create_topic(name, partitions, replication_factor=replicas)
                protocol.check_created(connection.call(request))
                return
        except (OSError, UnexpectedAnswer, KeyError, IndexError) as error:
            if time.perf_counter() > deadline:
                raise BrokerFailed(f"{cluster.name}: {name} could not be created: {error}") from error
            time.sleep(0.005)


def _wait_for_leaders(cluster: RunningCluster, names: list[str], dead: int) -> None:
    deadline = time.perf_counter() + _TIMEOUT
    while time.perf_counter() < deadline:
        with suppress(OSError):
            topics = cluster.view(names).topics
            if len(topics) == len(names) and all(
                each.leader not in (-1, dead)
                for partitions in topics.values()
                for each in partitions.values()
            ):
                return
        time.sleep(0.005)
    raise BrokerFailed(f"{cluster.name}: partitions without a leader {_TIMEOUT:.0f} s after kill -9")
