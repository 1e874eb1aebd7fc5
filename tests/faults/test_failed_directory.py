"""A broker that loses one of its disks: its partitions there are led elsewhere until the disk is back."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.faults.served import Served, until
from tests.integration.clients.raw import RawClient
from tests.integration.clients.requests import batch, produce
from tests.patience import PATIENCE

pytestmark = pytest.mark.needs("confluent_kafka")

_TOPICS = ("one", "two")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 4 MiB, where the machine lets us have one."""
    path = tmp_path / "small"
    path.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=4M", "tmpfs", str(path)]
    if os.getuid() != 0 or subprocess.run(command, capture_output=True, check=False).returncode != 0:
        pytest.skip("only root can mount a small file system")
    yield path
    subprocess.run(["umount", "--lazy", str(path)], check=True)


@pytest.fixture
def brokers(tmp_path: Path, small_disk: Path) -> Iterator[list[Served]]:
    """Broker 2 has the small disk and a large one."""
    config = {"barnabas.metadata.store.path": tmp_path / "store" / "metadata.db", "min.insync.replicas": 2}
    with ExitStack() as stack:
        started = []
        for number in range(3):
            own = tmp_path / str(number)
            own.mkdir()
            log_dirs = [small_disk / "logs", own / "logs"] if number == 2 else []
            broker = Served(own, {"node.id": number, **config}, log_dirs)
            started.append(stack.enter_context(broker).start())
        yield started


def _states(brokers: list[Served]) -> dict[str, tuple[int, set[int]]]:
    """Leader and ISR of each topic's one partition."""
    from confluent_kafka.admin import AdminClient

    topics = AdminClient({"bootstrap.servers": f"127.0.0.1:{brokers[0].port}"}).list_topics(timeout=PATIENCE)
    partitions = {name: topics.topics[name].partitions[0] for name in _TOPICS if name in topics.topics}
    return {name: (each.leader, set(each.isrs)) for name, each in partitions.items()}


def _create_topics(brokers: list[Served]) -> None:
    from confluent_kafka.admin import AdminClient
    from confluent_kafka.cimpl import NewTopic

    admin = AdminClient({"bootstrap.servers": f"127.0.0.1:{brokers[0].port}"})
    for name in _TOPICS:  # One after the other: broker 2 puts them into its directories in turn.
        for created in admin.create_topics(
            [NewTopic(name, num_partitions=1, replica_assignment=[[2, 0, 1]])]
        ).values():
            created.result(PATIENCE)
    until(lambda: _states(brokers) == dict.fromkeys(_TOPICS, (2, {0, 1, 2})), pause=0.05)


def _fill(broker: Served, topic: str) -> None:
    with RawClient(broker.port) as client:
        until(lambda: produce(client, topic, batch(os.urandom(100_000))).error_code != 0)


def test_leaders_of_a_full_disk_move_and_its_replicas_return(brokers: list[Served], small_disk: Path) -> None:
    _create_topics(brokers)
    directory = brokers[2].log_dirs[0]
    lost, kept = sorted(_TOPICS, key=lambda name: not (directory / f"{name}-0").exists())
    assert (directory / f"{lost}-0").exists()
    _fill(brokers[2], lost)
    until(lambda: _states(brokers) == {lost: (0, {0, 1}), kept: (2, {0, 1, 2})}, pause=0.05)
    with RawClient(brokers[0].port) as client:
        assert produce(client, lost, batch(b"after")).error_code == 0
    brokers[2].stop()
    subprocess.run(["mount", "-o", "remount,size=64M", str(small_disk)], check=True)
    brokers[2].start()
    until(lambda: all(isr == {0, 1, 2} for _, isr in _states(brokers).values()), pause=0.05)
    replicas = [(each.log_dirs[0] / f"{lost}-0" / f"{0:020}.log").read_bytes() for each in brokers]
    assert replicas[0] == replicas[1] == replicas[2]
    for broker in brokers:
        broker.assert_no_traceback()
