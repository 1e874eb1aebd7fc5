"""`kill -9` while offsets are committed and `__consumer_offsets` itself is being compacted: none is lost."""

import random

from tests.faults.conftest import Serve
from tests.faults.served import Served, until
from tests.faults.test_crash import create_topic
from tests.integration.clients.group_requests import commit, fetch_offsets, wait_for_coordinator
from tests.integration.clients.raw import RawClient

GROUPS = 20
PARTITIONS = 5
CONFIG = {
    "offsets.topic.num.partitions": 1,
    "offsets.topic.segment.bytes": 1_048_576,
    "log.cleaner.backoff.ms": 20,
    "log.cleaner.min.cleanable.ratio": 0.01,
    "log.initial.task.delay.ms": 10,
}


def _commit_until_killed(broker: Served, commits: int, acknowledged: dict[tuple[str, int], int]) -> None:
    """Commit growing offsets. A segment is full after 100 commits, so the kill may hit a cleaning."""
    with RawClient(broker.port) as client:
        offset = max(acknowledged.values(), default=0)
        for _ in range(commits):
            offset += 1
            group = f"group-{offset % GROUPS}"
            offsets = dict.fromkeys(range(PARTITIONS), offset)
            # Long notes, so that segments of the smallest size there is fill quickly.
            assert commit(client, group, "t", offsets, metadata="x" * 2000) == [0] * PARTITIONS
            acknowledged |= {(group, partition): offset for partition in offsets}
        broker.kill()


def _committed(broker: Served) -> dict[tuple[str, int], int]:
    found: dict[tuple[str, int], int] = {}
    with RawClient(broker.port) as client:
        for number in range(GROUPS):
            group = f"group-{number}"
            until(lambda name=group: fetch_offsets(client, name, None).error_code == 0)  # type: ignore[misc]
            for topic in fetch_offsets(client, group, None).topics:
                for each in topic.partitions:
                    found[group, each.partition_index] = each.committed_offset
    return found


def test_no_acknowledged_offset_is_lost_while_the_offsets_are_compacted(serve: Serve) -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    rng = random.Random(seed)
    broker = serve(CONFIG).start()
    create_topic(broker, "t", {}, PARTITIONS)
    acknowledged: dict[tuple[str, int], int] = {}
    for _ in range(4):
        wait_for_coordinator(broker.port, "group-0")
        _commit_until_killed(broker, rng.randrange(100, 400), acknowledged)
        broker.start()
        committed = _committed(broker)
        assert committed == acknowledged
    until(lambda: "Compacted __consumer_offsets-0" in broker.stderr.read_text())
    assert _committed(broker) == acknowledged
