"""Three brokers in processes of their own on one metadata store: leaders are killed and stopped under load.

A producer with acks=all writes all the time. Nothing that was acknowledged is lost or doubled, and the
replicas are equal in the end, byte by byte.
"""

import threading
import time

import pytest
from tests.faults.served import until
from tests.patience import PATIENCE

from barnabas.testing import Cluster

pytestmark = [
    pytest.mark.needs("confluent_kafka"),
    pytest.mark.kafka_cluster(
        config={
            "min.insync.replicas": 2,
            "offsets.topic.num.partitions": 3,
            "broker.session.timeout.ms": 2000,
        }
    ),
]

_TOPIC = "replicated"
_PARTITIONS = 3
_ALL = {0, 1, 2}


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


def _wait_for_isr(cluster: Cluster, members: set[int]) -> None:
    for partition in range(_PARTITIONS):
        cluster.wait_for_isr(_TOPIC, partition, members)


def _leaders(cluster: Cluster) -> set[int]:
    return {cluster.leader(_TOPIC, partition) for partition in range(_PARTITIONS)}


def _log_of(cluster: Cluster, broker: int, partition: int) -> bytes:
    directory = cluster.brokers[broker].log_dir / f"{_TOPIC}-{partition}"
    return b"".join(path.read_bytes() for path in sorted(directory.glob("*.log")))


def _assert_logs_are_equal(cluster: Cluster) -> None:
    for partition in range(_PARTITIONS):
        logs = [_log_of(cluster, number, partition) for number in sorted(_ALL)]
        assert logs[0] == logs[1] == logs[2]


def _assert_no_traceback(cluster: Cluster) -> None:
    for number in range(len(cluster.brokers)):
        log = (cluster.directory / f"broker-{number}" / "broker.log").read_text(errors="replace")
        assert "Traceback" not in log, log[log.index("Traceback") - 500 :][:3000]


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


def test_leaders_are_killed_stopped_and_return(kafka_cluster: Cluster) -> None:
    cluster = kafka_cluster
    cluster.create_topic(_TOPIC, _PARTITIONS)
    _wait_for_isr(cluster, _ALL)
    assert _leaders(cluster) == _ALL
    load = Load(cluster.bootstrap_servers)
    try:
        load.wait_for_more()
        killed = cluster.leader(_TOPIC, 0)
        cluster.kill(killed)
        _wait_for_isr(cluster, _ALL - {killed})
        load.wait_for_more()
        cluster.start(killed)
        _wait_for_isr(cluster, _ALL)
        stopped = cluster.leader(_TOPIC, 1)
        cluster.stop(stopped)
        assert stopped not in _leaders(cluster)
        load.wait_for_more()
        cluster.start(stopped)
        _wait_for_isr(cluster, _ALL)
        load.wait_for_more()
    finally:
        load.stop()
    assert load.errors == []
    values = _read_all(cluster.bootstrap_servers, len(load.acknowledged))
    assert sorted(values) == sorted(load.acknowledged)
    _assert_logs_are_equal(cluster)
    _assert_no_traceback(cluster)


def test_leaders_are_isolated_paused_and_expired(kafka_cluster: Cluster) -> None:
    cluster = kafka_cluster
    cluster.create_topic(_TOPIC, _PARTITIONS)
    load = Load(cluster.bootstrap_servers)
    try:
        load.wait_for_more()
        isolated = cluster.leader(_TOPIC, 0)
        cluster.isolate(isolated, from_=["brokers", "store"])
        cluster.wait_for_leader(_TOPIC, 0, among=_ALL - {isolated})
        load.wait_for_more()
        cluster.heal()
        expired = cluster.leader(_TOPIC, 1)
        cluster.expire_session(expired)
        cluster.wait_for_leader(_TOPIC, 1, among=_ALL - {expired})
        cluster.heal()
        paused = cluster.leader(_TOPIC, 2)
        cluster.pause(paused)
        cluster.wait_for_leader(_TOPIC, 2, among=_ALL - {paused})
        cluster.resume(paused)
        _wait_for_isr(cluster, _ALL)
        load.wait_for_more()
    finally:
        load.stop()
    assert load.errors == []
    values = _read_all(cluster.bootstrap_servers, len(load.acknowledged))
    assert sorted(values) == sorted(load.acknowledged)
    _assert_logs_are_equal(cluster)
    _assert_no_traceback(cluster)


def test_follower_that_no_broker_reaches_leaves_the_isr(kafka_cluster: Cluster) -> None:
    """The leader proposes it to the controller; the follower keeps its session."""
    from confluent_kafka import Producer

    cluster = kafka_cluster
    leader = cluster.controller()
    second, third = sorted(_ALL - {leader})
    cluster.create_topic(_TOPIC, assignment=[[leader, second, third]])
    cluster.isolate(third, from_=[leader, second])
    producer = Producer({"bootstrap.servers": cluster.brokers[leader].bootstrap_servers})
    producer.produce(_TOPIC, b"x", partition=0)
    producer.poll(0)
    cluster.wait_for_isr(_TOPIC, 0, [leader, second])
    assert producer.flush(PATIENCE) == 0
    cluster.heal()
    assert set(cluster.isr(_TOPIC, 0)) == _ALL


def test_broker_that_is_isolated_from_clients_answers_none_and_stays_in_sync(kafka_cluster: Cluster) -> None:
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import AdminClient

    cluster = kafka_cluster
    cluster.create_topic(_TOPIC, assignment=[[0, 1, 2]])
    cluster.isolate(2, from_="clients")
    client = AdminClient({"bootstrap.servers": cluster.brokers[2].bootstrap_servers, "log_level": 0})
    with pytest.raises(KafkaException):
        client.list_topics(timeout=0.5)
    assert set(cluster.isr(_TOPIC, 0)) == _ALL
    cluster.heal()
    assert _TOPIC in client.list_topics(timeout=PATIENCE).topics


def test_too_few_replicas_in_sync_refuse_writes(kafka_cluster: Cluster) -> None:
    from confluent_kafka import Producer

    cluster = kafka_cluster
    cluster.create_topic(_TOPIC)
    stopped = cluster.shrink_below_min_isr(_TOPIC)
    assert cluster.isr(_TOPIC) == [cluster.leader(_TOPIC)]
    assert {cluster.leader(_TOPIC), *stopped} == _ALL
    outcome: list[str] = []
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers, "retries": 0, "log_level": 0})
    producer.produce(_TOPIC, b"x", on_delivery=lambda error, message: outcome.append(error.name()))  # type: ignore[union-attr]
    producer.flush(PATIENCE)
    assert outcome == ["NOT_ENOUGH_REPLICAS"]
    with pytest.raises(ValueError, match="the id of another broker"):
        cluster.isolate(0, from_="everyone")


def test_commands_to_a_broker_that_cannot_answer_are_refused_at_once(kafka_cluster: Cluster) -> None:
    kafka_cluster.pause(1)
    before = time.monotonic()
    with pytest.raises(RuntimeError, match="paused"):
        kafka_cluster.expire_session(1)
    kafka_cluster.kill(1)
    with pytest.raises(RuntimeError, match="not running"):
        kafka_cluster.expire_session(1)
    assert time.monotonic() - before < PATIENCE / 2
    assert "1 stopped" in repr(kafka_cluster)
