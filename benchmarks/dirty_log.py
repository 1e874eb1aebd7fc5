"""A compacted topic full of overwritten records, and the moment when its cleaning has ended.

The topic has one partition. A run of batches with every key once is produced ten times over, so a tenth of
the records is live. `min.compaction.lag.ms` keeps the cleaner away until all is loaded and `release` sets it
to 0. Both brokers write how far a log is cleaned to `cleaner-offset-checkpoint`; cleaning has ended when that
has reached the active segment, which is never cleaned.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from benchmarks import protocol, raw_client
from benchmarks.batches import batch
from benchmarks.processes import BrokerProcess
from benchmarks.protocol import ProduceAnswer, UnexpectedAnswer
from benchmarks.raw_client import Connection

TIMES_WRITTEN = 10
SEGMENT_BYTES = 16 << 20
IN_FLIGHT = 20
CLEANING_TIMEOUT = 300.0

_HELD_BACK = str(7 * 24 * 3600 * 1000)
_CONFIGS = {
    "cleanup.policy": "compact",
    "segment.bytes": str(SEGMENT_BYTES),
    "min.cleanable.dirty.ratio": "0.01",
    "min.compaction.lag.ms": _HELD_BACK,
}


@lru_cache(maxsize=2)
def _batches_of_every_key(size: int, value_size: int, batch_bytes: int) -> list[bytes]:
    """About `size` bytes of batches in which each key occurs once, with values that do not compress."""
    source = random.Random(value_size)
    batches: list[bytes] = []
    total = number = 0
    per_batch = max(1, batch_bytes // (value_size + 24))
    while total < size:
        keys = [b"key-%012d" % n for n in range(number, number + per_batch)]
        batches.append(batch([source.randbytes(value_size) for _ in keys], keys=keys))
        number += per_batch
        total += len(batches[-1])
    return batches


@dataclass(frozen=True, slots=True)
class DirtyLog:
    """One loaded topic on a running broker."""

    log_dir: Path
    topic: str
    connection: Connection

    def load(self, size: int, value_size: int, batch_bytes: int) -> None:
        """About `size` bytes of records."""
        batches = _batches_of_every_key(size // TIMES_WRITTEN, value_size, batch_bytes)
        requests = [protocol.produce(self.topic, [(0, records)], acks=1) for records in batches]
        answer = ProduceAnswer(self.topic, 1)
        raw_client.produce_once(self.connection, requests[0], answer)
        unanswered = 0
        for _ in range(TIMES_WRITTEN):
            for request in requests:
                self.connection.send(request)
                unanswered += 1
                if unanswered == IN_FLIGHT:
                    self._check(answer)
                    unanswered -= 1
        for _ in range(unanswered):
            self._check(answer)

    def release(self) -> None:
        """From now on the cleaner may clean."""
        request = protocol.alter_topic_configs(self.topic, {"min.compaction.lag.ms": "0"})
        protocol.check_configs_altered(self.connection.call(request))

    def segments(self) -> dict[int, int]:
        """Base offset to bytes of the segments there are now."""
        found = {}
        for path in (self.log_dir / f"{self.topic}-0").glob("*.log"):
            try:
                found[int(path.stem)] = path.stat().st_size
            except FileNotFoundError:  # renamed to be deleted meanwhile
                continue
        return found

    def is_cleaned(self, active: int) -> bool:
        """Whether the cleaner has written down that all below the active segment is clean."""
        try:
            lines = (self.log_dir / "cleaner-offset-checkpoint").read_text().splitlines()
        except FileNotFoundError:
            return False
        prefix = f"{self.topic} 0 "
        return any(line.startswith(prefix) and int(line[len(prefix) :]) >= active for line in lines)

    def _check(self, answer: ProduceAnswer) -> None:
        if error := answer.first_error(self.connection.receive()):
            raise UnexpectedAnswer(f"loading {self.topic}: error code {error}")


@contextmanager
def dirty_log(
    broker: BrokerProcess, name: str, size: int, value_size: int, batch_bytes: int = 16_000
) -> Iterator[DirtyLog]:
    """A loaded topic, deleted in the end."""
    with broker.connect() as connection:
        raw_client.create_topic(connection, name, 1, _CONFIGS)
        try:
            log = DirtyLog(broker.log_dir, name, connection)
            log.load(size, value_size, batch_bytes)
            if len(log.segments()) < 2:
                raise UnexpectedAnswer("nothing to clean: all of it is in the active segment")
            yield log
        finally:
            with broker.connect() as other:
                raw_client.delete_topic(other, name)


def await_cleaning(log: DirtyLog, active: int, broker: BrokerProcess) -> None:
    deadline = time.perf_counter() + CLEANING_TIMEOUT
    while not log.is_cleaned(active):
        if time.perf_counter() > deadline:
            raise UnexpectedAnswer(f"{log.topic} is not clean after {CLEANING_TIMEOUT:.0f} s")
        broker.check_running()
        time.sleep(0.005)
