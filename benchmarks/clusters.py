"""Clusters of three brokers in processes of their own: starting, restarting and asking them."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress

from benchmarks import protocol
from benchmarks.processes import BrokerFailed, BrokerProcess
from benchmarks.protocol import ClusterView, PartitionView
from benchmarks.raw_client import Connection

BROKERS = 3
SETTINGS = f"""offsets.topic.replication.factor={BROKERS}
transaction.state.log.replication.factor={BROKERS}
transaction.state.log.min.isr=2
default.replication.factor={BROKERS}
"""
"""For every broker of a cluster, after the common ones."""
TIMEOUT = 120.0

StartBroker = Callable[[int], BrokerProcess]
"""Starts the broker with this number (from 0) on its directory, also after it was stopped."""


class RunningCluster:
    """Brokers that are one cluster. Broker ids are numbers from 1."""

    def __init__(self, name: str, start: StartBroker) -> None:
        self.name: str = name
        self._start: StartBroker = start
        self.brokers: list[BrokerProcess] = []
        try:
            for number in range(BROKERS):
                self.brokers.append(start(number))
        except BaseException:
            self.stop()
            raise

    @property
    def bootstrap_servers(self) -> str:
        return ",".join(broker.bootstrap_servers for broker in self.brokers)

    def connect(self, broker_id: int = 1) -> Connection:
        return self.brokers[broker_id - 1].connect()

    def restart(self, broker_id: int) -> None:
        self.brokers[broker_id - 1] = self._start(broker_id - 1)

    def view(self, topics: list[str] | None) -> ClusterView:
        """Metadata of the first broker that answers."""
        for broker in self.brokers:
            with suppress(OSError), broker.connect() as connection:
                return protocol.parse_metadata(connection.call(protocol.metadata(topics)))
        raise BrokerFailed(f"{self.name}: no broker answers")

    def partitions(self, topic: str) -> dict[int, PartitionView]:
        return self.view([topic]).topics.get(topic, {})

    def wait_until_in_sync(self, topic: str, partitions: int, timeout: float = TIMEOUT) -> None:
        """Until every partition has a leader and all brokers in its ISR."""
        deadline = time.perf_counter() + timeout
        while time.perf_counter() < deadline:
            found = self.partitions(topic).values()
            if len(found) == partitions and all(
                each.leader >= 0 and len(each.isr) == BROKERS for each in found
            ):
                return
            time.sleep(0.005)
        raise BrokerFailed(f"{self.name}: the replicas of {topic} are not in sync after {timeout:.0f} s")

    def rss_mb(self) -> float:
        """Of one broker, on average."""
        return sum(broker.rss_mb() for broker in self.brokers) / len(self.brokers)

    def stop(self) -> None:
        for broker in self.brokers:
            broker.terminate()
        for broker in self.brokers:
            broker.stop()
