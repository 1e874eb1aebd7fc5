"""What is idle must cost nothing: Barnabas beside 5,000 idle partitions or 1,000 idle connections.

Two brokers, one plain and one that holds the idle partitions (a record in each), measured in turn; the
connections are opened to the plain one for the time of a measurement. At the end the full broker is stopped
cleanly and started again.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from benchmarks import protocol, raw_client
from benchmarks.barnabas_broker import Barnabas
from benchmarks.batches import batch
from benchmarks.metrics import Metric, Target
from benchmarks.processes import BrokerProcess
from benchmarks.protocol import ProduceAnswer
from benchmarks.results import ChangeRow
from benchmarks.scenarios.base import Scenario, Settings
from benchmarks.scenarios.produce import ProduceBatches
from benchmarks.scenarios.small_requests import OneRecordRequests

NAME = "idle"
GROUP = "Cost of what is idle (Barnabas alone)"
PARTITIONS_A_TOPIC = 100
LARGEST_LOSS = -10.0

RESTART = Metric(
    "restart_s", "start on the idle partitions after a clean stop", "s", False, Target("value", "most", 3.0)
)


class IdleCost:
    """Holds the two brokers and the figures of all rounds."""

    def __init__(self, barnabas: Barnabas, directory: Path, settings: Settings) -> None:
        self._barnabas = barnabas
        self._directory = directory
        self._settings = settings
        self._probes: list[tuple[str, Scenario]] = [
            ("one record a request", OneRecordRequests(1)),
            ("1 MB batches", ProduceBatches(100, 1)),
        ]

    def run(self, rounds: int, progress: Callable[[str], None]) -> tuple[list[ChangeRow], list[float]]:
        """Rows of change, and the seconds of each restart."""
        with ExitStack() as stack:
            plain = self._barnabas.launch(self._directory / "plain")
            stack.callback(plain.stop)
            full = self._barnabas.launch(self._directory / "full")
            stack.callback(full.stop)
            progress(f"creating {self._settings.idle_partitions} partitions")
            fill(full, self._settings.idle_partitions)
            rows = self._rounds(plain, full, rounds, progress)
        return rows, self._restarts(rounds, progress)

    def _rounds(
        self, plain: BrokerProcess, full: BrokerProcess, rounds: int, progress: Callable[[str], None]
    ) -> list[ChangeRow]:
        partitions = f"{self._settings.idle_partitions:,} idle partitions"
        connections = f"{self._settings.idle_connections:,} idle connections"
        rows = []
        for title, probe in self._probes:
            unit = probe.metrics[0].unit
            without: list[float] = []
            with_partitions: list[float] = []
            with_connections: list[float] = []
            probe_in_turn: list[tuple[list[float], Callable[[], float]]] = [
                (without, partial(self._probe, probe, plain)),
                (with_partitions, partial(self._probe, probe, full)),
                (with_connections, partial(self._probe_crowded, probe, plain)),
            ]
            for _, measure in probe_in_turn:
                progress(f"{title}, warming up")
                measure()
            for number in range(rounds):
                progress(f"{title}, round {number + 1}/{rounds}")
                for sink, measure in probe_in_turn:
                    sink.append(measure())
                probe_in_turn.reverse()
            rows.append(ChangeRow(f"{partitions}: {title}", unit, without, with_partitions, LARGEST_LOSS))
            rows.append(ChangeRow(f"{connections}: {title}", unit, without, with_connections, LARGEST_LOSS))
        return sorted(rows, key=lambda row: row.title, reverse=True)

    def _probe(self, probe: Scenario, broker: BrokerProcess) -> float:
        return probe.measure(broker, self._settings)[probe.metrics[0].key]

    def _probe_crowded(self, probe: Scenario, broker: BrokerProcess) -> float:
        request = protocol.metadata([])
        with ExitStack() as stack:
            for _ in range(self._settings.idle_connections):
                stack.enter_context(broker.connect()).call(request)
            return self._probe(probe, broker)

    def _restarts(self, rounds: int, progress: Callable[[str], None]) -> list[float]:
        seconds = []
        for number in range(rounds):
            progress(f"start on {self._settings.idle_partitions} partitions, round {number + 1}/{rounds}")
            broker = self._barnabas.launch(
                self._directory / "full", partitions=self._settings.idle_partitions
            )
            seconds.append(broker.ready_seconds)
            broker.stop()
        return seconds


def fill(broker: BrokerProcess, partitions: int) -> None:
    """Topics of 100 partitions, one record in each partition."""
    record = batch([bytes(100)])
    with broker.connect() as connection:
        for number in range(-(-partitions // PARTITIONS_A_TOPIC)):
            name = f"idle-{number:03d}"
            count = min(PARTITIONS_A_TOPIC, partitions - number * PARTITIONS_A_TOPIC)
            raw_client.create_topic(connection, name, count)
            request = protocol.produce(name, [(partition, record) for partition in range(count)], acks=1)
            raw_client.produce_once(connection, request, ProduceAnswer(name, count))
