"""The coordinator after a restart: a million offset records of 100,000 keys in `__consumer_offsets`.

Loaded once over the wire (a thousand groups that commit all hundred partitions of a topic, over and over; or
one partition a commit, which leaves many small batches), then the broker is stopped cleanly, or killed, and
started again. Counted is exec until a group of every partition of `__consumer_offsets` has answered its
OffsetFetch with the right offset, and the peak of resident memory by then.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from benchmarks import group_protocol, raw_client
from benchmarks.metrics import Metric, Target
from benchmarks.processes import BrokerProcess
from benchmarks.protocol import UnexpectedAnswer
from benchmarks.raw_client import Connection
from benchmarks.scenarios.base import Launcher, Settings
from benchmarks.scenarios.groups import await_coordinator

NAME = "offsets-scale"
GROUP = "Coordinator after a restart, 100,000 committed offsets"
TOPIC = "bench-offsets"
PARTITIONS = 100
OFFSETS_PARTITIONS = 50
CONNECTIONS = 20
TIMEOUT = 120.0

_WITHIN = Target("value", "most", 5.0)


@dataclass(frozen=True, slots=True)
class OffsetsLoad:
    """How the records came into the log, and the rows that are measured on them."""

    name: str
    records: int
    partitions_a_commit: int
    clean: Metric
    killed: Metric
    memory: Metric

    @property
    def metrics(self) -> tuple[Metric, ...]:
        return self.clean, self.killed, self.memory


def loads(settings: Settings) -> list[OffsetsLoad]:
    """Many records a batch, and one; a load of no records is left out."""
    known = [
        _load("batches", settings.offset_records, PARTITIONS),
        _load("singles", settings.single_offset_records, 1),
    ]
    return [load for load in known if load.records]


def _load(name: str, records: int, partitions_a_commit: int) -> OffsetsLoad:
    batches = f"{records:,} records" if partitions_a_commit > 1 else f"{records:,} records, one a commit"
    return OffsetsLoad(
        name,
        records,
        partitions_a_commit,
        Metric(f"{name}_clean_s", f"{batches}: answers after a clean stop", "s", False, _WITHIN),
        Metric(f"{name}_killed_s", f"{batches}: answers after kill -9", "s", False, _WITHIN),
        Metric(f"{name}_mb", f"{batches}: peak memory", "MB", False, Target("value", "most", 150)),
    )


class OffsetsScale:
    """One broker with one load; filled once, restarted again and again."""

    def __init__(self, launcher: Launcher, directory: Path, load: OffsetsLoad, keys: int) -> None:
        self._launcher = launcher
        self._directory = directory
        self._load = load
        self._groups = [f"scale-{number:04d}" for number in range(keys // PARTITIONS)]
        self._last_offset = load.records // keys
        self._broker: BrokerProcess | None = None

    def measure(self, settings: Settings, add: Callable[[dict[str, float]], None]) -> None:
        """Fill a broker, restart it as often as the settings say, and `add` the figures of each restart."""
        try:
            self.fill()
            for cleanly in [True] * settings.clean_restarts + [False] * settings.killed_restarts:
                add(self.restart(cleanly=cleanly))
        finally:
            self.stop()

    def fill(self) -> None:
        self._directory.mkdir(parents=True)
        broker = self._launch()
        with ExitStack() as stack:
            connections = [stack.enter_context(broker.connect()) for _ in range(CONNECTIONS)]
            raw_client.create_topic(connections[0], TOPIC, PARTITIONS)
            for group in _one_a_partition(self._groups):
                await_coordinator(connections[0], group, TOPIC)
            _commit_all(connections, self._commits())

    def restart(self, *, cleanly: bool) -> dict[str, float]:
        """Stop or kill, start, ask; metric key to figure."""
        if cleanly:
            self.stop()
        elif self._broker is not None:
            self._broker.kill()
        broker = self._launch()
        with broker.connect() as connection:
            for group in _one_a_partition(self._groups):
                self._await_answer(connection, group)
            seconds = broker.seconds_since_exec()
        which = self._load.clean if cleanly else self._load.killed
        return {which.key: seconds, self._load.memory.key: broker.peak_rss_mb()}

    def stop(self) -> None:
        if self._broker is not None:
            self._broker.stop()

    def _launch(self) -> BrokerProcess:
        self._broker = self._launcher.launch(self._directory)
        return self._broker

    def _commits(self) -> Iterator[bytes]:
        each = self._load.partitions_a_commit
        for offset in range(1, self._last_offset + 1):
            for first in range(0, PARTITIONS, each):
                wanted = [(partition, offset) for partition in range(first, first + each)]
                for group in self._groups:
                    yield group_protocol.offset_commit(group, -1, "", TOPIC, wanted)

    def _await_answer(self, connection: Connection, group: str) -> None:
        """Ask for the last partition of a group until it is answered with what was committed last."""
        request = group_protocol.offset_fetch(group, TOPIC, [PARTITIONS - 1])
        deadline = time.perf_counter() + TIMEOUT
        while True:
            error, offsets = group_protocol.parse_offset_fetch(connection.call(request))
            if not error:
                if offsets != {PARTITIONS - 1: self._last_offset}:
                    raise UnexpectedAnswer(f"{group} has {offsets} instead of offset {self._last_offset}")
                return
            if time.perf_counter() > deadline:
                raise UnexpectedAnswer(f"{group}: error code {error} for {TIMEOUT:.0f} s")
            time.sleep(0.005)


def offsets_partition(group: str) -> int:
    """Where Kafka keeps a group: Java's hash of its name, made positive, modulo the partitions."""
    hashed = 0
    for character in group:
        hashed = (hashed * 31 + ord(character)) & 0xFFFFFFFF
    return (hashed & 0x7FFFFFFF) % OFFSETS_PARTITIONS


def _one_a_partition(groups: list[str]) -> list[str]:
    return list({offsets_partition(group): group for group in groups}.values())


def _commit_all(connections: list[Connection], requests: Iterator[bytes]) -> None:
    """A request in flight on each connection. Answers do not name the group, so most equal one another."""
    good: set[bytes] = set()

    def check(answer: bytes) -> None:
        if answer not in good:
            group_protocol.check_committed(answer)
            good.add(answer)

    for turn, request in enumerate(requests):
        connection = connections[turn % len(connections)]
        if turn >= len(connections):
            check(connection.receive())
        connection.send(request)
    for connection in connections:
        check(connection.receive())
