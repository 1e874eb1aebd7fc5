"""Three brokers in processes of their own on one metadata store: leaders are killed and stopped under load.

A producer with acks=all writes all the time. Nothing that was acknowledged is lost or doubled, and the
replicas are equal in the end, byte by byte.
"""

import signal
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.faults.served import Served, until
from tests.patience import PATIENCE

pytestmark = pytest.mark.needs("confluent_kafka")

_TOPIC = "replicated"
_PARTITIONS = 3


class Cluster:
    def __init__(self, directory: Path, brokers: ExitStack) -> None:
        self.brokers: list[Served] = []
        for number in range(3):
            own = directory / str(number)
            own.mkdir()
            config = {
                "node.id": number,
                "barnabas.metadata.store.path": directory / "store" / "metadata.db",
                "offsets.topic.replication.factor": 3,
                "offsets.topic.num.partitions": 3,
                "min.insync.replicas": 2,
            }
            # One after the other: each finds a free port.
            self.brokers.append(brokers.enter_context(Served(own, config)).start())

    @property
    def bootstrap(self) -> str:
        return ",".join(f"127.0.0.1:{each.port}" for each in self.brokers)

    def states(self) -> list[tuple[int, frozenset[int]]]:
        """Leader and ISR of each partition."""
        from confluent_kafka.admin import AdminClient

        topic = (
            AdminClient({"bootstrap.servers": self.bootstrap}).list_topics(_TOPIC, PATIENCE).topics[_TOPIC]
        )
        return [(each.leader, frozenset(each.isrs)) for _, each in sorted(topic.partitions.items())]

    def wait_for_isr(self, *members: int) -> None:
        until(lambda: all(isr == set(members) for _, isr in self.states()), pause=0.1)

    def log_of(self, number: int, partition: int) -> bytes:
        directory = self.brokers[number].log_dir / f"{_TOPIC}-{partition}"
        return b"".join(path.read_bytes() for path in sorted(directory.glob("*.log")))


class Load:
    """A producer in a thread that writes numbers until it is stopped."""

    def __init__(self, bootstrap: str) -> None:
        from confluent_kafka import Producer

        self.acknowledged: list[bytes] = []
        self.errors: list[str] = []
        self._producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True})
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        number = 0
        while not self._is_over.is_set():
            value = str(number).encode()
            self._producer.produce(_TOPIC, value, partition=number % _PARTITIONS, on_delivery=self._delivered)
            self._producer.poll(0.002)
            number += 1
        self._producer.flush(PATIENCE)

    def _delivered(self, error: object, message: object) -> None:
        if error is not None:
            self.errors.append(str(error))
        else:
            self.acknowledged.append(message.value())  # type: ignore[attr-defined]

    def wait_for_more(self, count: int = 300) -> None:
        """Until so many more records are acknowledged."""
        goal = len(self.acknowledged) + count
        until(lambda: len(self.acknowledged) >= goal, pause=0.01)

    def stop(self) -> None:
        self._is_over.set()
        self._thread.join()


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    with ExitStack() as brokers:
        yield Cluster(tmp_path, brokers)


def _create_topic(bootstrap: str) -> None:
    from confluent_kafka.admin import AdminClient
    from confluent_kafka.cimpl import NewTopic

    admin = AdminClient({"bootstrap.servers": bootstrap})
    for created in admin.create_topics([NewTopic(_TOPIC, _PARTITIONS, 3)]).values():
        created.result(PATIENCE)


def _read_all(bootstrap: str, count: int) -> list[bytes]:
    from confluent_kafka import Consumer

    settings = {"bootstrap.servers": bootstrap, "group.id": "readers", "auto.offset.reset": "earliest"}
    consumer = Consumer(settings)
    consumer.subscribe([_TOPIC])
    values: list[bytes] = []

    def poll() -> bool:
        values.extend(each.value() or b"" for each in consumer.consume(500, 0.2) if each.error() is None)
        return len(values) >= count

    try:
        until(poll)
    finally:
        consumer.close()
    return values


def test_leaders_are_killed_stopped_and_return(cluster: Cluster) -> None:
    _create_topic(cluster.bootstrap)
    cluster.wait_for_isr(0, 1, 2)
    assert len({leader for leader, _ in cluster.states()}) == 3
    load = Load(cluster.bootstrap)
    try:
        load.wait_for_more()
        killed = cluster.states()[0][0]
        cluster.brokers[killed].kill()
        cluster.wait_for_isr(*{0, 1, 2} - {killed})
        load.wait_for_more()
        cluster.brokers[killed].start()
        cluster.wait_for_isr(0, 1, 2)
        stopped = cluster.states()[1][0]
        cluster.brokers[stopped].signal(signal.SIGTERM)
        load.wait_for_more()
        assert cluster.brokers[stopped].wait() == 0
        assert stopped not in {leader for leader, _ in cluster.states()}
        cluster.brokers[stopped].start()
        cluster.wait_for_isr(0, 1, 2)
        load.wait_for_more()
    finally:
        load.stop()
    assert load.errors == []
    values = _read_all(cluster.bootstrap, len(load.acknowledged))
    assert sorted(values) == sorted(load.acknowledged)
    for partition in range(_PARTITIONS):
        logs = [cluster.log_of(number, partition) for number in range(3)]
        assert logs[0] == logs[1] == logs[2]
    for broker in cluster.brokers:
        broker.assert_no_traceback()
        broker.stop()
