"""Consumers read from the replica in their rack (KIP-392): three brokers in three racks, real processes."""

import json

import pytest
from tests.faults.replicated_topic import assert_no_traceback
from tests.faults.served import until
from tests.patience import PATIENCE

from barnabas.testing import Cluster

_TOPIC = "near"
_RACKS = ("a", "b", "c")

pytestmark = [
    pytest.mark.needs("confluent_kafka"),
    pytest.mark.kafka_cluster(
        racks=list(_RACKS),
        config={"replica.selector.class": "org.apache.kafka.common.replica.RackAwareReplicaSelector"},
    ),
]


class Reader:
    """A consumer in a rack, which knows from which broker it reads."""

    def __init__(self, bootstrap: str, rack: str) -> None:
        from confluent_kafka import Consumer, TopicPartition

        self.values: list[bytes] = []
        self.broker: int = -1
        self.consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": f"readers-{rack}",
                "client.rack": rack,
                "isolation.level": "read_committed",
                "statistics.interval.ms": 50,
                "stats_cb": self._on_statistics,
            }
        )
        self.consumer.assign([TopicPartition(_TOPIC, 0, 0)])

    def _on_statistics(self, statistics: str) -> None:
        topic = json.loads(statistics)["topics"].get(_TOPIC)
        if topic is not None and "0" in topic["partitions"]:
            self.broker = topic["partitions"]["0"]["broker"]

    def poll(self) -> None:
        for message in self.consumer.consume(100, 0.05):
            assert message.error() is None, message.error()
            self.values.append(message.value() or b"")


def _write(bootstrap: str, values: list[bytes], *, is_aborted: bool = False) -> None:
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": f"tx-{is_aborted}"})
    producer.init_transactions(PATIENCE)
    producer.begin_transaction()
    for value in values:
        producer.produce(_TOPIC, value, partition=0)
    producer.flush(PATIENCE)
    if is_aborted:
        producer.abort_transaction(PATIENCE)
    else:
        producer.commit_transaction(PATIENCE)


def test_each_rack_reads_committed_records_from_its_own_replica(kafka_cluster: Cluster) -> None:
    bootstrap = kafka_cluster.bootstrap_servers
    kafka_cluster.create_topic(_TOPIC, 1)
    kafka_cluster.wait_for_isr(_TOPIC, 0, {0, 1, 2})
    _write(bootstrap, [b"aborted"] * 5, is_aborted=True)
    expected = [str(number).encode() for number in range(50)]
    _write(bootstrap, expected)
    readers = {number: Reader(bootstrap, rack) for number, rack in enumerate(_RACKS)}
    try:

        def all_have(values: list[bytes]) -> bool:
            for reader in readers.values():
                reader.poll()
            near = all(reader.broker == number for number, reader in readers.items())
            return near and all(len(reader.values) >= len(values) for reader in readers.values())

        until(lambda: all_have(expected))
        later = [str(number).encode() for number in range(50, 60)]  # the readers wait at their replicas
        _write(bootstrap, later)
        until(lambda: all_have(expected + later))
        assert [reader.values for reader in readers.values()] == [expected + later] * 3
    finally:
        for reader in readers.values():
            reader.consumer.close()
    assert_no_traceback(kafka_cluster)
