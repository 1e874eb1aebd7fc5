"""kill -9 under load, again and again: what was acknowledged is there, once and in order.

The page cache outlives a process, so a kill may not lose an acknowledged record, flushed or not; losses of
power are in test_power.py.
"""

import random
import time

import pytest
from tests.faults.conftest import Serve
from tests.faults.reader import bounds, check_lookups, read_all
from tests.faults.served import Served
from tests.faults.writer import Writer, number_of
from tests.integration.clients.raw import RawClient

EAGER: dict[str, object] = {
    # Everything that writes files in the background does it all the time, so that kills hit it.
    "log.initial.task.delay.ms": 10,
    "log.retention.check.interval.ms": 30,
    "log.flush.scheduler.interval.ms": 20,
    "log.flush.offset.checkpoint.interval.ms": 20,
    "log.flush.start.offset.checkpoint.interval.ms": 20,
    "replica.high.watermark.checkpoint.interval.ms": 20,
    "log.segment.delete.delay.ms": 20,
}
SMALL: dict[str, object] = {"internal.segment.bytes": 8192, "index.interval.bytes": 300}
TOPICS: dict[str, dict[str, object]] = {
    "flushed": {**SMALL, "flush.messages": 1},
    "cached": SMALL,
    "retained": {**SMALL, "retention.bytes": 20_000, "flush.messages": 10},
}


@pytest.mark.parametrize("rounds", [12, pytest.param(300, marks=pytest.mark.soak)])
def test_acknowledged_records_outlive_every_kill(serve: Serve, rounds: int) -> None:
    rng = random.Random(rounds)
    broker = serve(EAGER).start()
    writers = _start_writers(broker)
    for number in range(rounds):
        time.sleep(rng.uniform(0.02, 0.4))
        broker.kill()
        if number % 5 == 4:
            _kill_while_it_starts(broker, rng)
        broker.start()
        for topic, writer in writers.items():
            _check(broker, topic, writer, rng, lookups=20)
    for writer in writers.values():
        writer.finish()
    for topic, writer in writers.items():
        assert writer.acknowledged > rounds
        _check(broker, topic, writer, rng, lookups=300)
    assert len(list(broker.log_dir.glob("flushed-0/*.log"))) > 5, "the segments are too large for this test"
    broker.stop()
    broker.start()
    for topic, writer in writers.items():
        _check(broker, topic, writer, rng, lookups=20)
    broker.assert_no_traceback()


def _start_writers(broker: Served) -> dict[str, Writer]:
    writers = {}
    for topic, config in TOPICS.items():
        create_topic(broker, topic, config)
        writers[topic] = Writer(broker.port, topic)
        writers[topic].start()
    return writers


def _kill_while_it_starts(broker: Served, rng: random.Random) -> None:
    broker.spawn()
    time.sleep(rng.uniform(0.1, 0.5))
    broker.kill()


def _check(broker: Served, topic: str, writer: Writer, rng: random.Random, *, lookups: int) -> None:
    writer.check()
    with RawClient(broker.port) as client:
        safe = writer.records
        start = None
        if lookups < 100:  # the whole log at the end, its recent part each time
            first, end = bounds(client, topic)
            start = max(first, end - 3000)
        records = read_all(client, topic, start)
        assert records
        # No transactions, no other producers: record n has offset n, or something was lost or doubled.
        assert [number_of(record.value or b"") for record in records] == [each.offset for each in records]
        assert records[-1].offset + 1 >= safe
        assert records[-1].offset < writer.records_sent
        if topic != "retained":
            assert bounds(client, topic)[0] == 0
            check_lookups(client, topic, records, rng, lookups)


def create_topic(broker: Served, name: str, config: dict[str, object], partitions: int = 1) -> None:
    from barnabas.testing.admin import Admin

    Admin("127.0.0.1", broker.port).create_topic(name, partitions, config)
