"""Three brokers: how soon they serve, what they weigh, and how long writes stop when a leader goes.

The gap is the longest time without an acknowledged write in any of six partitions, for a producer of
confluent-kafka with its defaults and acks=all that goes on writing to all of them.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

from confluent_kafka import KafkaError, Message, Producer

from benchmarks import protocol, raw_client
from benchmarks.batches import batch
from benchmarks.clusters import RunningCluster
from benchmarks.confluent_client import ClientFailed
from benchmarks.metrics import Metric, Target
from benchmarks.processes import BrokerFailed
from benchmarks.protocol import ProduceAnswer, UnexpectedAnswer
from benchmarks.scenarios.base import Launcher, Settings
from benchmarks.scenarios.cluster import GROUP, PARTITIONS, leader_connection, replicated_topic

NAME = "cluster/start"
READY = Metric(
    "ready_s",
    "three brokers from nothing to the first acks=all response",
    "s",
    False,
    Target("value", "most", 1.5),
)
IDLE = Metric("idle_mb", "resident memory of a broker, idle", "MB", False, Target("ratio", "most", 0.15))

WRITES_A_SECOND = 1000
BEFORE_SECONDS = 1.0
AFTER_SECONDS = 1.0
RECOVERY_TIMEOUT = 60.0
START_TIMEOUT = 120.0


def measure_start(launcher: Launcher, directory: Path) -> tuple[RunningCluster, dict[str, float]]:
    """The running cluster, and what its start took."""
    directory.mkdir(parents=True)
    started = time.perf_counter()
    cluster = launcher.launch_cluster(directory)
    try:
        _first_response(cluster)
        ready = time.perf_counter() - started
        time.sleep(1.0)
        return cluster, {READY.key: ready, IDLE.key: cluster.rss_mb()}
    except BaseException:
        cluster.stop()
        raise


def _first_response(cluster: RunningCluster) -> None:
    deadline = time.perf_counter() + START_TIMEOUT
    name = "cluster-start"
    while time.perf_counter() < deadline:
        for broker in cluster.brokers:
            broker.check_running()
        try:
            view = cluster.view([name])
            if view.brokers == len(cluster.brokers) and view.controller in view.ports:
                if not view.led_partitions.get(name):
                    with cluster.connect(view.controller) as connection:
                        request = protocol.create_topic(name, 1, replication_factor=view.brokers)
                        protocol.check_created(connection.call(request))
                cluster.wait_until_in_sync(name, 1)
                with leader_connection(cluster, name) as connection:
                    request = protocol.produce(name, [(0, batch([bytes(100)]))], acks=-1)
                    raw_client.produce_once(connection, request, ProduceAnswer(name, 1))
                return
        except (OSError, BrokerFailed, UnexpectedAnswer):
            pass  # It starts.
        time.sleep(0.005)
    raise BrokerFailed(f"{cluster.name} was not ready after {START_TIMEOUT:.0f} s")


class _Writer:
    """Writes to all partitions in turn, in a thread, and notes when each was acknowledged last."""

    def __init__(self, cluster: RunningCluster, topic: str) -> None:
        self._topic = topic
        self._producer = Producer(
            {"bootstrap.servers": cluster.bootstrap_servers, "acks": -1, "linger.ms": 1}
        )
        self.last: dict[int, float] = {}
        self.longest: float = 0.0
        """Seconds; reset it to measure from now on."""
        self.failures: list[str] = []
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def stop(self) -> None:
        self._is_over.set()
        self._thread.join()

    def _run(self) -> None:
        number, next_send = 0, time.perf_counter()
        while not self._is_over.is_set():
            self._producer.produce(
                self._topic, bytes(100), partition=number % PARTITIONS, on_delivery=self._delivered
            )
            number += 1
            next_send += 1 / WRITES_A_SECOND
            self._producer.poll(max(0.0, next_send - time.perf_counter()))
        if left := self._producer.flush(60):
            self.failures.append(f"{left} records were not delivered")

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self.failures.append(str(error))
            return
        partition, now = message.partition(), time.perf_counter()
        assert partition is not None
        self.longest = max(self.longest, now - self.last.get(partition, now))
        self.last[partition] = now

    def has_written_everywhere_since(self, moment: float) -> bool:
        return len(self.last) == PARTITIONS and all(last > moment for last in self.last.values())


class LeaderGoes:
    """Seconds without an acknowledged write when a leader is killed or stopped."""

    group = GROUP

    def __init__(self, *, is_clean: bool) -> None:
        self._is_clean = is_clean
        self.name = f"cluster/{'stop' if is_clean else 'kill'}"
        title = "clean stop of a leader" if is_clean else "kill -9 of a leader"
        target = Target("value", "most", 0.2) if is_clean else Target("ratio", "most", 0.1)
        self.metrics = (Metric("gap_s", f"{title}: no acknowledged write for", "s", False, target),)

    def measure(self, cluster: RunningCluster, settings: Settings) -> dict[str, float]:
        del settings
        with replicated_topic(cluster, PARTITIONS) as name:
            # The controller stays: its own failover is another row.
            view = cluster.view([name])
            leaders = {each.leader for each in view.topics[name].values()}
            leader = next(iter(sorted(leaders - {view.controller})), view.controller)
            writer = _Writer(cluster, name)
            try:
                self._until(lambda: writer.has_written_everywhere_since(0.0))
                time.sleep(BEFORE_SECONDS)
                writer.longest, begun = 0.0, time.perf_counter()
                self._take_away(cluster, leader)
                self._until(lambda: writer.has_written_everywhere_since(begun + 0.05))
                time.sleep(AFTER_SECONDS)
                self._until(lambda: writer.has_written_everywhere_since(begun + AFTER_SECONDS))
                gap = writer.longest
            finally:
                writer.stop()
            cluster.restart(leader)
            cluster.wait_until_in_sync(name, PARTITIONS)
            if writer.failures:
                raise ClientFailed(writer.failures[0])
        return {"gap_s": gap}

    def _take_away(self, cluster: RunningCluster, leader: int) -> None:
        broker = cluster.brokers[leader - 1]
        if self._is_clean:
            broker.stop()
        else:
            broker.kill()

    def _until(self, condition: Callable[[], bool]) -> None:
        deadline = time.perf_counter() + RECOVERY_TIMEOUT
        while not condition():
            if time.perf_counter() > deadline:
                raise ClientFailed(f"{self.name}: writes did not go on after {RECOVERY_TIMEOUT:.0f} s")
            time.sleep(0.01)
