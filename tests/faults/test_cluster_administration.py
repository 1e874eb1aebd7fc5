"""Three brokers in processes of their own: administrative requests at brokers that are not the controller.

Also while the controller is killed, and topics that are deleted while a broker is down.
"""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kio.schema.errors import ErrorCode
from tests.faults.served import until
from tests.integration.clients.raw import RawClient
from tests.patience import PATIENCE

from barnabas.testing import Cluster

pytestmark = pytest.mark.needs("confluent_kafka", "kafka")

_MS = 60_000
_BROKER, _TOPIC = 4, 2


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    with Cluster(directory=tmp_path / "cluster") as started:
        until(lambda: started.controller() in (0, 1, 2))
        yield started


class At:
    """Requests to one broker."""

    def __init__(self, cluster: Cluster, number: int) -> None:
        self._port: int = cluster.brokers[number].port

    def call(self, api: str, version: int, **fields: object) -> Any:
        with RawClient(self._port) as client:
            return client.call(api, version, **fields)

    def create(self, name: str, partitions: int = 1, factor: int = 3) -> ErrorCode:
        topic = {
            "name": name,
            "num_partitions": partitions,
            "replication_factor": factor,
            "assignments": [],
            "configs": [],
        }
        answer = self.call("create_topics", 7, topics=[topic], timeout=_MS, validate_only=False)
        return ErrorCode(answer.topics[0].error_code)

    def delete(self, name: str) -> ErrorCode:
        topic = {"name": name, "topic_id": None}
        answer = self.call("delete_topics", 6, topics=[topic], timeout=_MS)
        return ErrorCode(answer.responses[0].error_code)

    def grow(self, name: str, count: int) -> ErrorCode:
        topic = {"name": name, "count": count, "assignments": None}
        answer = self.call("create_partitions", 3, topics=[topic], timeout=_MS, validate_only=False)
        return ErrorCode(answer.results[0].error_code)

    def configure(self, kind: int, name: str, key: str, value: str) -> ErrorCode:
        configs = [{"name": key, "config_operation": 0, "value": value}]
        resource = {"resource_type": kind, "resource_name": name, "configs": configs}
        answer = self.call("incremental_alter_configs", 1, resources=[resource], validate_only=False)
        return ErrorCode(answer.responses[0].error_code)

    def value_of(self, kind: int, name: str, key: str) -> str | None:
        resource = {"resource_type": kind, "resource_name": name, "configuration_keys": [key]}
        answer = self.call(
            "describe_configs", 4, resources=[resource], include_synonyms=False, include_documentation=False
        )
        found: list[str | None] = [each.value for each in answer.results[0].configs]
        return found[0] if found else None

    def partitions_of(self, name: str) -> int:
        answer = self.call(
            "metadata",
            12,
            topics=[{"topic_id": None, "name": name}],
            allow_auto_topic_creation=False,
            include_topic_authorized_operations=False,
        )
        return len(answer.topics[0].partitions)


def others(cluster: Cluster) -> list[int]:
    controller = cluster.controller()
    return [number for number in range(3) if number != controller]


def test_every_request_works_at_a_broker_that_is_not_the_controller(cluster: Cluster) -> None:
    first, second = others(cluster)
    here = At(cluster, first)
    assert here.create("t") is ErrorCode.none
    assert here.partitions_of("t") == 1, "at once, at the broker that created it"
    assert here.grow("t", 4) is ErrorCode.none
    assert here.partitions_of("t") == 4
    cluster.wait_for_isr("t", 3, [0, 1, 2])
    assert here.configure(_TOPIC, "t", "retention.ms", "5000") is ErrorCode.none
    assert here.configure(_BROKER, str(first), "log.cleaner.threads", "2") is ErrorCode.none
    assert here.configure(_BROKER, "", "log.retention.bytes", "123456") is ErrorCode.none
    for number in range(3):
        there = At(cluster, number)
        until(lambda there=there: there.value_of(_TOPIC, "t", "retention.ms") == "5000")  # type: ignore[misc]
        until(
            lambda there=there, number=number: (  # type: ignore[misc]
                there.value_of(_BROKER, str(number), "log.retention.bytes") == "123456"
            )
        )
        expected = "2" if number == first else "1"
        assert there.value_of(_BROKER, str(number), "log.cleaner.threads") == expected
    elected = here.call(
        "elect_leaders",
        2,
        election_type=0,
        topic_partitions=[{"topic": "t", "partitions": [0]}],
        timeout=_MS,
    )
    result = elected.replica_election_results[0].partition_result[0]
    assert result.error_code == ErrorCode.election_not_needed
    target = [{"name": "t", "partitions": [{"partition_index": 0, "replicas": [first, second]}]}]
    moved = here.call("alter_partition_reassignments", 0, topics=target, timeout=_MS)
    assert moved.error_code == 0
    assert moved.responses[0].partitions[0].error_code == 0
    until(lambda: not here.call("list_partition_reassignments", 0, topics=None, timeout=_MS).topics)
    assert sorted(cluster.replicas("t", 0)) == sorted([first, second])
    assert here.call("unregister_broker", 0, broker_id=9).error_code == ErrorCode.broker_id_not_registered
    assert At(cluster, second).delete("t") is ErrorCode.none
    assert At(cluster, second).partitions_of("t") == 0
    until(lambda: At(cluster, first).partitions_of("t") == 0)


@pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")
@pytest.mark.filterwarnings("ignore:(read|open)_text is deprecated:DeprecationWarning")
def test_topics_are_created_while_the_controller_is_killed(cluster: Cluster) -> None:
    from confluent_kafka.admin import AdminClient
    from confluent_kafka.cimpl import NewTopic
    from kafka.admin import KafkaAdminClient

    killed = cluster.controller()
    survivor = next(number for number in range(3) if number != killed)
    created: list[str] = []
    codes: list[ErrorCode] = []
    is_over = threading.Event()

    def create_all() -> None:
        here = At(cluster, survivor)
        while not is_over.is_set():
            name = f"t{len(codes)}"
            codes.append(here.create(name, factor=2))
            created.append(name)

    thread = threading.Thread(target=create_all)
    thread.start()
    try:
        until(lambda: len(codes) >= 5)
        cluster.kill(killed)
        goal = len(codes) + 10
        until(lambda: len(codes) >= goal)
    finally:
        is_over.set()
        thread.join()
    # The response of the killed controller may be lost after it has created a topic, as in Kafka.
    lost = [code for code in codes if code is not ErrorCode.none]
    assert lost in ([], [ErrorCode.topic_already_exists])
    bootstrap = cluster.brokers[survivor].bootstrap_servers
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic("confluent", 2, 2)])["confluent"].result(PATIENCE)
    python = KafkaAdminClient(bootstrap_servers=bootstrap)
    try:
        assert {*created, "confluent"} <= set(python.list_topics())
        python.delete_topics(["confluent"])
        assert "confluent" not in python.list_topics()
    finally:
        python.close()


def test_topic_that_was_deleted_while_a_broker_was_down_is_never_served_from_old_files(
    cluster: Cluster,
) -> None:
    from confluent_kafka import Consumer, Producer, TopicPartition

    down = others(cluster)[0]
    assert At(cluster, cluster.controller()).create("t") is ErrorCode.none
    cluster.wait_for_isr("t", 0, [0, 1, 2])
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers})
    for _ in range(100):
        producer.produce("t", b"old")
    assert producer.flush(PATIENCE) == 0
    cluster.kill(down)
    here = At(cluster, others(cluster)[-1] if others(cluster)[-1] != down else cluster.controller())
    assert here.delete("t") is ErrorCode.none
    assert here.partitions_of("t") == 0, "deleted at once"
    until(lambda: "t" not in cluster.topics())
    assert here.create("t", factor=2) is ErrorCode.none
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers})
    producer.produce("t", b"new")
    assert producer.flush(PATIENCE) == 0
    cluster.start(down)
    target = [{"name": "t", "partitions": [{"partition_index": 0, "replicas": [down]}]}]
    answer = here.call("alter_partition_reassignments", 0, topics=target, timeout=_MS)
    assert answer.responses[0].partitions[0].error_code == 0
    until(lambda: cluster.replicas("t") == [down] and cluster.leader("t") == down)
    settings = {"bootstrap.servers": cluster.brokers[down].bootstrap_servers, "group.id": "g"}
    consumer = Consumer({**settings, "enable.partition.eof": True})
    values: list[bytes] = []
    try:
        consumer.assign([TopicPartition("t", 0, 0)])
        until(lambda: _read(consumer, values))
    finally:
        consumer.close()
    assert values == [b"new"]


def _read(consumer: Any, values: list[bytes]) -> bool:
    """Whether the end of the partition is reached."""
    message = consumer.poll(0.1)
    if message is None:
        return False
    if message.error() is None:
        values.append(message.value())
        return False
    return bool(message.error().name() == "_PARTITION_EOF")
