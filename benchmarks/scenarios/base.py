"""What a scenario is: names its metrics, and measures them once on a running broker."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from benchmarks import raw_client
from benchmarks.metrics import Metric
from benchmarks.processes import BrokerProcess
from benchmarks.raw_client import Connection


@dataclass(frozen=True, slots=True)
class Settings:
    """How long and how much; `quick` runs use smaller figures."""

    warm_up: float = 0.2
    seconds: float = 0.8
    produced_bytes: int = 400_000_000
    latency_records: int = 600
    client_bytes: int = 60_000_000
    small_client_records: int = 40_000
    idle_partitions: int = 5000
    idle_connections: int = 1000

    @classmethod
    def quick(cls) -> Settings:
        return cls(
            warm_up=0.1,
            seconds=0.4,
            produced_bytes=150_000_000,
            latency_records=200,
            client_bytes=20_000_000,
            small_client_records=10_000,
        )


class Launcher(Protocol):
    """Starts brokers of one kind."""

    name: str

    def launch(self, directory: Path) -> BrokerProcess: ...


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


UNLINK_SECONDS = 0.15
"""Brokers unlink a deleted topic's files after 0.1 s: that is not to fall into the next measurement."""

_numbers = itertools.count()


@contextmanager
def topic(broker: BrokerProcess, partitions: int) -> Iterator[tuple[Connection, str]]:
    """A connection and a new topic; deleted afterwards, so that its data is not written back later."""
    name = f"bench-{next(_numbers):05d}"
    with broker.connect() as connection:
        raw_client.create_topic(connection, name, partitions)
        try:
            yield connection, name
        finally:
            with broker.connect() as other:
                raw_client.delete_topic(other, name)
            time.sleep(UNLINK_SECONDS)
