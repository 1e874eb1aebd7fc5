"""Groups under stress: members join, leave, freeze and are killed, and so is the broker.

Every record is delivered at least once, no partition has two owners in one generation, committed offsets
never go back, and none that was acknowledged is lost. With `BARNABAS_TEST_BOOTSTRAP` the members go to that
broker, which is then left alone.
"""

import os
import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.faults.conftest import Serve
from tests.faults.group_chaos import Crowd, Source, Watch
from tests.faults.served import Served
from tests.integration.clients.group_requests import fetch_offsets
from tests.integration.clients.raw import RawClient

from barnabas.testing.admin import Admin

pytestmark = pytest.mark.needs("confluent_kafka")
_PARTITIONS = 6
_CONFIG: dict[str, object] = {
    "offsets.topic.num.partitions": 3,
    "offsets.topic.replication.factor": 1,
    "group.initial.rebalance.delay.ms": 100,
    "group.min.session.timeout.ms": 100,
    "group.consumer.min.session.timeout.ms": 100,
    "group.consumer.session.timeout.ms": 2000,
    "group.consumer.min.heartbeat.interval.ms": 100,
    "group.consumer.heartbeat.interval.ms": 200,
}
_LONGER = 30
_OTHER_BROKER = os.environ.get("BARNABAS_TEST_BOOTSTRAP")
_GROUPS = {"classic": ("classic",), "new": ("consumer",), "mixed": ("classic", "consumer")}
OpenCrowd = Callable[..., Crowd]


@pytest.fixture
def topic() -> str:
    return f"soak-{os.urandom(4).hex()}"


@pytest.fixture
def broker(serve: Serve, topic: str) -> Served | None:
    """None when it is somebody else's."""
    started = None if _OTHER_BROKER is not None else serve(_CONFIG).start()
    Admin("127.0.0.1", _port(started)).create_topic(topic, _PARTITIONS, {})
    return started


@pytest.fixture
def open_crowd(broker: Served | None, topic: str, tmp_path: Path) -> Iterator[OpenCrowd]:
    crowds: list[Crowd] = []

    def new(name: str) -> Crowd:
        crowds.append(Crowd(_port(broker), f"{topic}-{name}", topic, _GROUPS[name], tmp_path))
        return crowds[-1]

    yield new
    for crowd in crowds:
        crowd.kill()


def _port(broker: Served | None) -> int:
    if broker is not None:
        return broker.port
    assert _OTHER_BROKER is not None
    return int(_OTHER_BROKER.rpartition(":")[2])


@pytest.mark.parametrize(
    ("names", "seconds", "most", "kills_broker"),
    [
        pytest.param(("classic", "new"), 8, 3, False, id="short"),
        pytest.param(("classic", "new"), 5, 2, True, id="short-with-kills-of-the-broker"),
        pytest.param(("classic", "new", "mixed"), 120, 4, False, id="long", marks=pytest.mark.soak),
        pytest.param(("classic", "new", "mixed"), 120, 4, True, id="long-with-kills", marks=pytest.mark.soak),
    ],
)
def test_groups_survive(
    broker: Served | None,
    topic: str,
    open_crowd: OpenCrowd,
    names: tuple[str, ...],
    seconds: int,
    most: int,
    kills_broker: bool,
) -> None:
    if kills_broker and broker is None:
        pytest.skip("the broker of BARNABAS_TEST_BOOTSTRAP cannot be killed")
    rng = random.Random(seconds + kills_broker)
    port = _port(broker)
    crowds = [open_crowd(name) for name in names]
    source = Source(port, topic, _PARTITIONS)
    with Watch(port, topic, _PARTITIONS, crowds) as watch:
        for crowd in crowds:
            crowd.add()
            crowd.add()
        _disturb(crowds, watch, rng, seconds, most, broker if kills_broker else None)
        source.finish()
        for crowd in crowds:
            crowd.calm()
            crowd.add()
        _wait_until_all_is_committed(port, topic, crowds, source, watch)
        for crowd in crowds:
            crowd.leave()
    for crowd in crowds:
        _check(crowd, source)
    if broker is not None:
        broker.assert_no_traceback()


def _disturb(
    crowds: list[Crowd], watch: Watch, rng: random.Random, seconds: int, most: int, broker: Served | None
) -> None:
    end = time.monotonic() + seconds
    next_kill = time.monotonic() + 2
    while watch.failure is None and (time.monotonic() < end or not _has_happened(crowds, end + _LONGER)):
        time.sleep(rng.uniform(0.1, 0.6))
        rng.choice(crowds).disturb(rng, most)
        if broker is not None and time.monotonic() > next_kill:
            broker.kill()
            broker.start()
            next_kill = time.monotonic() + rng.uniform(1, 5)


def _has_happened(crowds: list[Crowd], latest: float) -> bool:
    """A busy machine may need longer than the run is meant to take for every group to be assigned twice."""
    return time.monotonic() > latest or all(crowd.journal.count("assigned") >= 2 for crowd in crowds)


def _wait_until_all_is_committed(
    port: int, topic: str, crowds: list[Crowd], source: Source, watch: Watch
) -> None:
    deadline = time.monotonic() + 60
    with RawClient(port) as client:
        for crowd in crowds:
            while _committed(client, crowd.group, topic) != source.acknowledged:
                assert watch.failure is None, watch.failure
                assert time.monotonic() < deadline, (
                    crowd.group,
                    _committed(client, crowd.group, topic),
                    source.acknowledged,
                )
                time.sleep(0.1)


def _committed(client: RawClient, group: str, topic: str) -> dict[int, int]:
    answer = fetch_offsets(client, group, {topic: range(_PARTITIONS)})
    return {
        each.partition_index: each.committed_offset for found in answer.topics for each in found.partitions
    }


def _check(crowd: Crowd, source: Source) -> None:
    journal = crowd.journal
    journal.assert_all_delivered(source.acknowledged)
    journal.assert_no_partition_is_owned_twice()
    journal.assert_commits_never_go_back()
    assert journal.count("assigned") >= 2, "nothing happened"
