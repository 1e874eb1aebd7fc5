"""One run: clients work, clients and broker are disturbed, then everything that was written is read."""

import random
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

from tests.faults.transactions.client import SOURCE, TARGET
from tests.faults.transactions.crowd import Crowd
from tests.faults.transactions.journal import Journal
from tests.faults.transactions.keys import partition_of
from tests.faults.transactions.reader import Reader
from tests.integration.clients.raw import RawClient

PATIENCE = 180.0
READ_UNCOMMITTED, READ_COMMITTED = 0, 1


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
    ends = _settled_ends(crowd.port, keys, patience)
    path: Path = crowd.new_journal("drain")
    journal = Journal(path)
    reader = Reader(f"127.0.0.1:{crowd.port}", "unused-drain", journal, **{"enable.partition.eof": True})
    reader.assign(dict.fromkeys(keys, 0))
    deadline = time.monotonic() + PATIENCE
    while any(reader.ends.get(key, -1) < end for key, end in ends.items()):
        if reader.poll(500, 0.2):
            deadline = time.monotonic() + PATIENCE
        assert time.monotonic() < deadline, f"it was not read up to {ends}, only to {reader.ends}"
    reader.consumer.close()
    journal.drained(ends)


def _settled_ends(port: int, keys: list[str], patience: float) -> Mapping[str, int]:
    """The ends, as soon as nothing is open before them."""
    deadline = time.monotonic() + patience
    while True:
        with RawClient(port) as client:
            ends = {key: _end(client, key, READ_UNCOMMITTED) for key in keys}
            stable = {key: _end(client, key, READ_COMMITTED) for key in keys}
        if ends == stable:
            return ends
        hanging = {key: (stable[key], ends[key]) for key in keys if stable[key] != ends[key]}
        assert time.monotonic() < deadline, f"a transaction hangs (last stable offset, end): {hanging}"
        time.sleep(0.1)


def _end(client: RawClient, key: str, isolation_level: int) -> int:
    topic, partition = partition_of(key)
    topics = [{"name": topic, "partitions": [{"partition_index": partition, "timestamp": -1}]}]
    answer = client.call("list_offsets", 7, replica_id=-1, isolation_level=isolation_level, topics=topics)
    (found,) = answer.topics[0].partitions
    assert found.error_code == 0, found
    offset: int = found.offset
    return offset
