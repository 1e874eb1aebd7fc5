"""One run: clients work, clients and broker are disturbed, then everything that was written is read."""

import random
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

from confluent_kafka import Consumer, TopicPartition
from tests.faults.transactions.client import SOURCE, TARGET
from tests.faults.transactions.crowd import Crowd
from tests.faults.transactions.journal import Journal
from tests.faults.transactions.keys import partition_of
from tests.faults.transactions.reader import Reader

PATIENCE = 180.0


class Killable(Protocol):
    """A broker that keeps its port and its files."""

    def kill(self) -> None: ...

    def start(self) -> object: ...


def disturb(
    crowd: Crowd,
    rng: random.Random,
    seconds: float,
    broker: Killable | None,
    is_enough: Callable[[], bool] = lambda: False,
) -> None:
    """For so long; a broker that may be killed is killed every now and then."""
    end = time.monotonic() + seconds
    next_kill = time.monotonic() + rng.uniform(3, 5)
    while time.monotonic() < end and not is_enough():
        time.sleep(rng.uniform(0.3, 1.8))
        crowd.disturb(rng)
        if broker is not None and time.monotonic() > next_kill:
            crowd.faults["broker killed"] += 1
            broker.kill()
            time.sleep(rng.choice((0, 0, 0.5)))
            broker.start()
            next_kill = time.monotonic() + rng.uniform(2, 12)


def drain(crowd: Crowd, patience: float = PATIENCE) -> None:
    """Read everything from the beginning. No transaction may be left open: it would block all readers."""
    keys = [f"{topic}-{number}" for topic in (SOURCE, TARGET) for number in range(crowd.partitions)]
    ends = _settled_ends(crowd.servers, keys, patience)
    path: Path = crowd.new_journal("drain")
    journal = Journal(path)
    reader = Reader(crowd.servers, "unused-drain", journal, **{"enable.partition.eof": True})
    reader.assign(dict.fromkeys(keys, 0))
    deadline = time.monotonic() + PATIENCE
    while any(reader.ends.get(key, -1) < end for key, end in ends.items()):
        if reader.poll(500, 0.2):
            deadline = time.monotonic() + PATIENCE
        assert time.monotonic() < deadline, f"it was not read up to {ends}, only to {reader.ends}"
    reader.consumer.close()
    journal.drained(ends)


def _settled_ends(servers: str, keys: list[str], patience: float) -> Mapping[str, int]:
    """The ends, as soon as nothing is open before them."""
    deadline = time.monotonic() + patience
    while True:
        ends = _ends(servers, keys, "read_uncommitted")
        stable = _ends(servers, keys, "read_committed")
        if ends == stable:
            return ends
        hanging = {key: (stable[key], ends[key]) for key in keys if stable[key] != ends[key]}
        assert time.monotonic() < deadline, f"a transaction hangs (last stable offset, end): {hanging}"
        time.sleep(0.1)


def _ends(servers: str, keys: list[str], isolation_level: str) -> dict[str, int]:
    settings = {"bootstrap.servers": servers, "group.id": "unused-ends", "isolation.level": isolation_level}
    consumer = Consumer(settings)
    try:
        partitions = {key: TopicPartition(*partition_of(key)) for key in keys}
        found = {key: consumer.get_watermark_offsets(each, PATIENCE) for key, each in partitions.items()}
    finally:
        consumer.close()
    return {key: end for key, (_, end) in found.items()}
