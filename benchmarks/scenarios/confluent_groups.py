"""Consumer groups of confluent-kafka: from the first `subscribe` until every member has its partition.

All members live in this process, each with librdkafka's own threads; a partition for each, so a member that
has exactly one and shares it with no other has its final assignment. Starting the clients is part of it.
"""

from __future__ import annotations

import time

from confluent_kafka import Consumer

from benchmarks.broker_settings import GROUP_HEARTBEAT_MS
from benchmarks.confluent_client import ClientFailed
from benchmarks.medians import median
from benchmarks.metrics import Metric
from benchmarks.processes import BrokerProcess
from benchmarks.scenarios.base import Scenario, Settings
from benchmarks.scenarios.groups import NO_SLOWER, PROTOCOLS, await_coordinator, group_topic, new_group

GROUP = "Consumer groups, confluent-kafka"
TIMEOUT = 60.0
GROUPS_A_ROUND = {1: 5, 10: 1}
POLL_SECONDS = 0.001


class ConfluentGroup:
    """Milliseconds to a stable group."""

    group = GROUP

    def __init__(self, protocol: str, size: int) -> None:
        self._protocol = protocol
        self._size = size
        self.name = f"groups/confluent/{protocol}/{size}"
        members = "1 member" if size == 1 else f"{size} members"
        title = f"{protocol} protocol, {members}: subscribe to stable"
        self.metrics = (Metric("stable_ms", title, "ms", False, NO_SLOWER),)

    def measure(self, broker: BrokerProcess, settings: Settings) -> dict[str, float]:
        seconds = [self._seconds(broker) for _ in range(GROUPS_A_ROUND[self._size])]
        return {"stable_ms": median(seconds) * 1e3}

    def _seconds(self, broker: BrokerProcess) -> float:
        topic, group = group_topic(broker, self._size), new_group()
        with broker.connect() as connection:
            await_coordinator(connection, group, topic)
        started = time.perf_counter()
        consumers = [Consumer(self._options(broker, group)) for _ in range(self._size)]
        try:
            for consumer in consumers:
                consumer.subscribe([topic])
            self._poll_until_stable(consumers)
            return time.perf_counter() - started
        finally:
            for consumer in consumers:
                consumer.close()

    def _options(self, broker: BrokerProcess, group: str) -> dict[str, str | int | bool]:
        options: dict[str, str | int | bool] = {
            "bootstrap.servers": broker.bootstrap_servers,
            "group.id": group,
            "group.protocol": self._protocol,
            "enable.auto.commit": False,
        }
        if self._protocol == "classic":
            # The consumer protocol has the interval from the broker.
            options["heartbeat.interval.ms"] = GROUP_HEARTBEAT_MS
        return options

    def _poll_until_stable(self, consumers: list[Consumer]) -> None:
        deadline = time.perf_counter() + TIMEOUT
        while not self._is_stable(consumers):
            if time.perf_counter() > deadline:
                raise ClientFailed(f"{self.name}: not stable after {TIMEOUT:.0f} s")
            for consumer in consumers:
                message = consumer.poll(0)
                if message is not None and message.error() is not None:
                    raise ClientFailed(str(message.error()))
            time.sleep(POLL_SECONDS)

    def _is_stable(self, consumers: list[Consumer]) -> bool:
        owned = set()
        for consumer in consumers:
            mine = consumer.assignment()
            if len(mine) != 1:
                return False
            owned.add(mine[0].partition)
        return len(owned) == self._size


def scenarios() -> list[Scenario]:
    return [ConfluentGroup(protocol, size) for protocol in PROTOCOLS for size in (1, 10)]
