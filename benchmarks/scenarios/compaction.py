"""Log compaction: how fast a dirty log is cleaned, and what a producer notices of it."""

from __future__ import annotations

import itertools
import select
import time
from collections.abc import Callable

from benchmarks import protocol, raw_client
from benchmarks.batches import batch
from benchmarks.dirty_log import CLEANING_TIMEOUT, DirtyLog, await_cleaning, dirty_log
from benchmarks.medians import percentile
from benchmarks.metrics import Metric, Target
from benchmarks.processes import BrokerProcess
from benchmarks.protocol import ProduceAnswer, UnexpectedAnswer
from benchmarks.raw_client import Connection
from benchmarks.scenarios.base import Scenario, Settings, topic, wait_until_deleted

GROUP = "Log compaction, a tenth of the records live"
RECORDS_A_SECOND = 200
WARM_UP_RECORDS = 40
LARGEST_LIVE_SHARE = 0.3
BESIDE_BATCH_BYTES = 100_000
"""Larger than those of the rates, so that loading a gigabyte takes less time."""

_numbers = itertools.count()


def _sizes(log: DirtyLog) -> tuple[int, int]:
    """The base offset of the active segment, and the bytes before it."""
    segments = log.segments()
    active = max(segments)
    return active, sum(size for base, size in segments.items() if base != active)


class CleaningRate:
    """MB of log a second, from when cleaning may start until the cleaner has written down that it is done."""

    group = GROUP

    def __init__(self, value_size: int) -> None:
        self._value_size = value_size
        self.name = f"compaction/{value_size}B"
        title = f"cleaning {value_size:,} B records"
        self.metrics = (Metric("mb_s", title, "MB/s", True, Target("ratio", "least", 1.0)),)

    def measure(self, broker: BrokerProcess, settings: Settings) -> dict[str, float]:
        name = f"bench-compacted-{next(_numbers):03d}"
        with dirty_log(broker, name, settings.compacted_bytes, self._value_size) as log:
            active, dirty = _sizes(log)
            started = time.perf_counter()
            log.release()
            await_cleaning(log, active, broker)
            seconds = time.perf_counter() - started
            _, left = _sizes(log)
            if left > LARGEST_LIVE_SHARE * dirty:
                raise UnexpectedAnswer(f"{name}: {left:,} of {dirty:,} bytes are left after cleaning")
        wait_until_deleted(broker.log_dir, name)
        return {"mb_s": dirty / seconds / 1e6}


class _Producer:
    """Sends a record every 5 ms and keeps how long each took to be acknowledged (acks=all)."""

    def __init__(self, connection: Connection, name: str) -> None:
        self._connection = connection
        self._answer = ProduceAnswer(name, 1)
        self._request = protocol.produce(name, [(0, batch([bytes(100)]))], acks=-1)
        raw_client.produce_once(connection, self._request, self._answer)

    def run(self, ended: Callable[[int], bool]) -> list[float]:
        """Until `ended` of the number of records says so; latencies in seconds."""
        interval, now = 1.0 / RECORDS_A_SECOND, time.perf_counter
        latencies: list[float] = []
        next_send = now()
        sent: list[float] = []
        while not ended(len(latencies)):
            wait = next_send - now()
            if wait <= 0:
                next_send += interval
                sent.append(now())
                self._connection.send(self._request)
            elif select.select([self._connection.socket], [], [], wait)[0]:
                self._receive()
                latencies.append(now() - sent[len(latencies)])
        for start in sent[len(latencies) :]:
            self._receive()
            latencies.append(now() - start)
        return latencies

    def _receive(self) -> None:
        if error := self._answer.first_error(self._connection.receive()):
            raise UnexpectedAnswer(f"producing beside the cleaner: error code {error}")


class ProducerBesideCleaning:
    """p99 of a producer's acknowledgements at 200 records/s, quiet and while 1 GB is cleaned."""

    group = GROUP
    name = "compaction/latency"

    def __init__(self, value_size: int = 100) -> None:
        self._value_size = value_size
        self.metrics = (
            Metric("quiet_ms", "producer at 200 records/s, p99, quiet", "ms", False),
            Metric("cleaning_ms", "producer at 200 records/s, p99, beside cleaning", "ms", False),
            Metric("times", "p99 beside cleaning / quiet", "times", False, Target("value", "most", 3.0)),
        )

    def measure(self, broker: BrokerProcess, settings: Settings) -> dict[str, float]:
        name = f"bench-compacted-{next(_numbers):03d}"
        with (
            topic(broker, 1, settled=False) as (connection, other),
            dirty_log(broker, name, settings.dirty_bytes, self._value_size, BESIDE_BATCH_BYTES) as log,
        ):
            active, _ = _sizes(log)
            producer = _Producer(connection, other)
            producer.run(lambda count: count >= WARM_UP_RECORDS)
            quiet = producer.run(lambda count: count >= settings.latency_records)
            log.release()
            beside = producer.run(self._cleaned(log, active))
        wait_until_deleted(broker.log_dir, name)
        calm, busy = percentile(quiet, 99), percentile(beside, 99)
        return {"quiet_ms": calm * 1e3, "cleaning_ms": busy * 1e3, "times": busy / calm}

    @staticmethod
    def _cleaned(log: DirtyLog, active: int) -> Callable[[int], bool]:
        deadline = time.perf_counter() + CLEANING_TIMEOUT
        seen = -1

        def ended(count: int) -> bool:
            nonlocal seen
            if count == seen:
                return False
            seen = count
            if time.perf_counter() > deadline:
                raise UnexpectedAnswer(f"{log.topic} is not clean after {CLEANING_TIMEOUT:.0f} s")
            # Looked at every tenth of a second, so that looking does not disturb the producer.
            return count % 20 == 0 and log.is_cleaned(active)

        return ended


def scenarios() -> list[Scenario]:
    return [CleaningRate(100), CleaningRate(1000), ProducerBesideCleaning()]
