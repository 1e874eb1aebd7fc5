"""What a scenario is: names its metrics, and measures them once on a running broker."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from benchmarks import protocol, raw_client
from benchmarks.batches import batch_of_size
from benchmarks.clusters import RunningCluster
from benchmarks.metrics import Metric
from benchmarks.processes import BrokerProcess
from benchmarks.protocol import ProduceAnswer
from benchmarks.raw_client import Connection
from benchmarks.spark_jobs import SparkSizes


@dataclass(frozen=True, slots=True)
class Settings:
    """How long and how much; `quick` runs use smaller figures."""

    compile_seconds: float = 15.0
    warm_up: float = 0.2
    seconds: float = 0.8
    produced_bytes: int = 400_000_000
    latency_records: int = 600
    transaction_seconds: float = 2.0
    latency_transactions: int = 200
    client_bytes: int = 60_000_000
    small_client_records: int = 40_000
    idle_partitions: int = 5000
    idle_connections: int = 1000
    cluster_partitions: int = 10_000
    heartbeat_seconds: float = 3.0
    compacted_bytes: int = 300_000_000
    dirty_bytes: int = 1_000_000_000
    offset_records: int = 1_000_000
    single_offset_records: int = 100_000
    offset_keys: int = 100_000
    long_rounds: int = 3
    clean_restarts: int = 3
    killed_restarts: int = 2
    spark: SparkSizes = field(default_factory=SparkSizes)

    def for_warming_up(self) -> Settings:
        """Less of what takes long."""
        return replace(self, heartbeat_seconds=0.5, compacted_bytes=60_000_000, dirty_bytes=60_000_000)

    def for_compiling(self) -> Settings:
        return replace(self, seconds=self.compile_seconds)

    @classmethod
    def quick(cls) -> Settings:
        return cls(
            compile_seconds=8.0,
            warm_up=0.1,
            seconds=0.4,
            produced_bytes=150_000_000,
            latency_records=200,
            transaction_seconds=1.0,
            latency_transactions=100,
            client_bytes=20_000_000,
            small_client_records=10_000,
            idle_partitions=1000,
            idle_connections=300,
            compacted_bytes=100_000_000,
            dirty_bytes=300_000_000,
            offset_records=300_000,
            single_offset_records=0,
            long_rounds=1,
            clean_restarts=1,
            killed_restarts=1,
            spark=SparkSizes.quick(),
        )


class Launcher(Protocol):
    """Starts brokers, and clusters of them, of one kind."""

    name: str

    def launch(self, directory: Path) -> BrokerProcess: ...
    def launch_cluster(self, directory: Path) -> RunningCluster: ...


class Scenario(Protocol):
    """Measured on brokers that run for the whole benchmark."""

    @property
    def name(self) -> str: ...
    @property
    def group(self) -> str: ...
    @property
    def metrics(self) -> tuple[Metric, ...]: ...

    def measure(self, broker: BrokerProcess, settings: Settings) -> dict[str, float]:
        """One round: metric key to figure."""


DELETION_TIMEOUT = 10.0

_numbers = itertools.count()


@contextmanager
def topic(
    broker: BrokerProcess, partitions: int, *, settled: bool = True
) -> Iterator[tuple[Connection, str]]:
    """A connection and a new topic, which is removed from the disk before the next measurement begins."""
    name = f"bench-{next(_numbers):05d}"
    with broker.connect() as connection:
        raw_client.create_topic(connection, name, partitions)
        try:
            if settled:
                settle(connection, name, partitions)
            yield connection, name
        finally:
            with broker.connect() as other:
                raw_client.delete_topic(other, name)
            wait_until_deleted(broker.log_dir, name)


def settle(connection: Connection, name: str, partitions: int) -> None:
    """Three batches beyond index.interval.bytes into each partition, so that its first index entries exist.

    Apache Kafka maps sparse index files: the first touch of each is a page fault with a block allocation,
    which with 100 new partitions holds it up for seconds. That is the price of new topics, not the rate.
    """
    records, _ = batch_of_size(5_000, 100)
    answer = ProduceAnswer(name, 1)
    for partition in range(partitions):
        request = protocol.produce(name, [(partition, records)], acks=1)
        raw_client.produce_once(connection, request, answer)
        raw_client.produce_times(connection, request, answer, 2)


def wait_until_deleted(log_dir: Path, name: str) -> None:
    """Deletion goes on in the background; its unlinking must not fall into the next measurement."""
    deadline = time.monotonic() + DELETION_TIMEOUT
    while time.monotonic() < deadline:
        if not any(
            entry.name.startswith(name) or entry.name.endswith("-delete") for entry in log_dir.iterdir()
        ):
            return
        time.sleep(0.02)
