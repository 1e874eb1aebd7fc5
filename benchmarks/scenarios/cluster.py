"""Three brokers, three replicas: what is produced, with which acknowledgement, how fast. LinkedIn's rows too.

The figures of LinkedIn's benchmark of 2014 (three machines, 100 B records, six partitions) stand in the
titles as a yardstick. Here the three brokers and the clients share the cores of one machine.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from confluent_kafka import KafkaException

from benchmarks import confluent_client, protocol, raw_client
from benchmarks.batches import batch, batch_of_size
from benchmarks.clusters import BROKERS, RunningCluster
from benchmarks.confluent_client import ClientFailed
from benchmarks.medians import percentile
from benchmarks.metrics import Metric, Target
from benchmarks.protocol import ProduceAnswer
from benchmarks.raw_client import Connection
from benchmarks.scenarios.base import Settings, wait_until_deleted
from benchmarks.scenarios.latency import WARM_UP_RECORDS, Traffic

GROUP = "Three brokers, three replicas"
LINKEDIN_GROUP = "Three brokers, LinkedIn's benchmark of 2014 (100 B records, 6 partitions)"
PARTITIONS = 6
IN_FLIGHT = 5
_ACKS = {1: "1", -1: "all"}

_numbers = itertools.count()


class ClusterScenario(Protocol):
    """Measured on clusters that run for the whole chapter."""

    @property
    def name(self) -> str: ...
    @property
    def group(self) -> str: ...
    @property
    def metrics(self) -> tuple[Metric, ...]: ...

    def measure(self, cluster: RunningCluster, settings: Settings) -> dict[str, float]:
        """One round: metric key to figure."""


@contextmanager
def replicated_topic(
    cluster: RunningCluster, partitions: int = 1, replication_factor: int = BROKERS
) -> Iterator[str]:
    """A new topic with all replicas in sync, which is deleted from all disks at the end."""
    name = f"cluster-{next(_numbers):05d}"
    with cluster.connect(cluster.view([]).controller) as connection:
        request = protocol.create_topic(name, partitions, replication_factor=replication_factor)
        protocol.check_created(connection.call(request))
    if replication_factor == BROKERS:
        cluster.wait_until_in_sync(name, partitions)
    try:
        yield name
    finally:
        with cluster.connect(cluster.view([]).controller) as connection:
            raw_client.delete_topic(connection, name)
        for broker in cluster.brokers:
            wait_until_deleted(broker.log_dir, name)


@contextmanager
def leader_connection(cluster: RunningCluster, topic: str) -> Iterator[Connection]:
    with cluster.connect(cluster.partitions(topic)[0].leader) as connection:
        yield connection


class ReplicatedBatches:
    """MB/s of 1 MB batches on one connection to the leader, for acks=1 and acks=all, and their ratio."""

    name = "cluster/produce"
    group = GROUP
    metrics = (
        Metric("acks_1", "1 MB batches of 1 KiB records, acks=1", "MB/s", True),
        Metric(
            "acks_all", "1 MB batches of 1 KiB records, acks=all", "MB/s", True, Target("ratio", "least", 1.2)
        ),
        Metric(
            "share", "1 MB batches: acks=all in percent of acks=1", "%", True, Target("value", "least", 54)
        ),
    )

    def measure(self, cluster: RunningCluster, settings: Settings) -> dict[str, float]:
        one, every = self._rate(cluster, settings, 1), self._rate(cluster, settings, -1)
        return {"acks_1": one, "acks_all": every, "share": 100 * every / one}

    def _rate(self, cluster: RunningCluster, settings: Settings, acks: int) -> float:
        records, _ = batch_of_size(1_000_000, 1024)
        with replicated_topic(cluster) as name:
            with leader_connection(cluster, name) as connection:
                request, answer = protocol.produce(name, [(0, records)], acks), ProduceAnswer(name, 1)
                raw_client.produce_once(connection, request, answer)
                replay = raw_client.replay_produce(
                    [connection],
                    [request],
                    answer,
                    in_flight=IN_FLIGHT,
                    warm_up=settings.warm_up,
                    seconds=settings.seconds,
                    at_most=settings.produced_bytes // len(records),
                )
            cluster.wait_until_in_sync(name, 1)
        return replay.rate * len(records) / 1e6


class ReplicatedRequests:
    """Requests/s of one record with acks=all, five in flight on one connection to the leader."""

    name = "cluster/small"
    group = GROUP
    metrics = (
        Metric("requests_s", "one record a request, acks=all", "req/s", True, Target("ratio", "least", 1.5)),
    )

    def measure(self, cluster: RunningCluster, settings: Settings) -> dict[str, float]:
        record = batch([bytes(100)])
        with replicated_topic(cluster) as name, leader_connection(cluster, name) as connection:
            request, answer = protocol.produce(name, [(0, record)], acks=-1), ProduceAnswer(name, 1)
            raw_client.produce_once(connection, request, answer)
            replay = raw_client.replay_produce(
                [connection],
                [request],
                answer,
                in_flight=IN_FLIGHT,
                warm_up=settings.warm_up,
                seconds=settings.seconds,
            )
        return {"requests_s": replay.rate}


class ReplicatedLatency:
    """From sending a record with acks=all to a waiting fetch that has it, at 200 records/s."""

    name = "cluster/latency"
    group = GROUP
    metrics = (
        Metric(
            "p50_ms", "end to end at 200 records/s, acks=all, p50", "ms", False, Target("ratio", "most", 0.8)
        ),
        Metric(
            "p99_ms", "end to end at 200 records/s, acks=all, p99", "ms", False, Target("ratio", "most", 1.0)
        ),
    )

    def measure(self, cluster: RunningCluster, settings: Settings) -> dict[str, float]:
        with (
            replicated_topic(cluster) as name,
            leader_connection(cluster, name) as producer,
            leader_connection(cluster, name) as consumer,
        ):
            request = protocol.produce(name, [(0, batch([bytes(100)]))], acks=-1)
            raw_client.produce_once(producer, request, ProduceAnswer(name, 1))
            traffic = Traffic(producer, consumer, name, first_offset=1)
            traffic.run(WARM_UP_RECORDS + settings.latency_records)
        measured = traffic.latencies[WARM_UP_RECORDS:]
        return {"p50_ms": percentile(measured, 50) * 1e3, "p99_ms": percentile(measured, 99) * 1e3}


class ReplicatedClient:
    """MB/s of confluent-kafka with its defaults, six partitions."""

    group = GROUP

    def __init__(self, acks: int, target: Target | None = None) -> None:
        self._acks = acks
        self.name = f"cluster/confluent/acks={_ACKS[acks]}"
        title = f"confluent-kafka, 1 KiB records, acks={_ACKS[acks]}"
        self.metrics = (Metric("mb_s", title, "MB/s", True, target),)

    def measure(self, cluster: RunningCluster, settings: Settings) -> dict[str, float]:
        count = settings.client_bytes * 2 // 1024
        with replicated_topic(cluster, PARTITIONS) as name:
            seconds = confluent_client.produce_seconds(
                cluster.bootstrap_servers, name, bytes(1024), count, settings={"acks": self._acks}
            )
            cluster.wait_until_in_sync(name, PARTITIONS)
        return {"mb_s": count * 1024 / seconds / 1e6}


class LinkedInProducers:
    """Records/s of 100 B by one or three producers."""

    group = LINKEDIN_GROUP

    def __init__(self, key: str, title: str, replication_factor: int, acks: int, producers: int = 1) -> None:
        self.name = f"cluster/linkedin/{key}"
        self._replication_factor = replication_factor
        self._acks = acks
        self._producers = producers
        self.metrics = (Metric("records_s", title, "records/s", True),)

    def measure(self, cluster: RunningCluster, settings: Settings) -> dict[str, float]:
        count = settings.client_bytes // 100 // self._producers
        rates: list[float] = []
        failures: list[Exception] = []
        with replicated_topic(cluster, PARTITIONS, self._replication_factor) as name:

            def produce() -> None:
                try:
                    seconds = confluent_client.produce_seconds(
                        cluster.bootstrap_servers, name, bytes(100), count, settings={"acks": self._acks}
                    )
                    rates.append(count / seconds)
                except (ClientFailed, KafkaException) as error:  # handed over to the measuring thread
                    failures.append(error)

            threads = [threading.Thread(target=produce) for _ in range(self._producers)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        if failures:
            raise ClientFailed(str(failures[0]))
        return {"records_s": sum(rates)}


class LinkedInConsumer:
    """Records/s of 100 B by one consumer of one replicated partition."""

    name = "cluster/linkedin/consumer"
    group = LINKEDIN_GROUP
    metrics = (Metric("records_s", "1 consumer (LinkedIn: 940,521)", "records/s", True),)

    def measure(self, cluster: RunningCluster, settings: Settings) -> dict[str, float]:
        records, in_batch = batch_of_size(100_000, 100)
        batches = settings.client_bytes // len(records)
        with replicated_topic(cluster) as name:
            with leader_connection(cluster, name) as connection:
                request, answer = protocol.produce(name, [(0, records)], acks=-1), ProduceAnswer(name, 1)
                raw_client.produce_once(connection, request, answer)
                raw_client.produce_times(connection, request, answer, batches - 1)
            rate = confluent_client.consume_rate(cluster.bootstrap_servers, name, batches * in_batch)
        return {"records_s": rate}


def scenarios() -> list[ClusterScenario]:
    return [
        ReplicatedBatches(),
        ReplicatedRequests(),
        ReplicatedLatency(),
        ReplicatedClient(1),
        ReplicatedClient(-1, Target("ratio", "least", 1.0)),
        LinkedInProducers("plain", "1 producer, no replication (LinkedIn: 821,557)", 1, 1),
        LinkedInProducers("async", "1 producer, 3 replicas, acks=1 (LinkedIn: 786,980)", BROKERS, 1),
        LinkedInProducers("sync", "1 producer, 3 replicas, acks=all (LinkedIn: 421,823)", BROKERS, -1),
        LinkedInProducers("three", "3 producers, 3 replicas, acks=1 (LinkedIn: 2,024,032)", BROKERS, 1, 3),
        LinkedInConsumer(),
    ]
