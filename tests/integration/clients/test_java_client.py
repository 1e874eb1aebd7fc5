"""The Java client's Admin; producing and consuming with it is in test_every_client.py."""

import pytest
from tests.integration.clients.drivers.java import JavaDriver, JavaMachine
from tests.integration.clients.messages import Message, Settings

from barnabas.testing import Broker

pytestmark = pytest.mark.needs("java", "javac", "maven")


def test_life_of_a_topic_with_the_admin_client(kafka_broker: Broker, java_machine: JavaMachine) -> None:
    driver = JavaDriver(java_machine, kafka_broker.bootstrap_servers, Settings(is_idempotent=True))
    answer = java_machine.ask("admin", driver.of_producer, "life-in-java")
    driver.close()
    learnt = dict(line.split("\t", 1) for line in answer if "\t" in line)
    assert learnt == {
        "partitions": "3",
        "nodes": "1",
        "retention.ms": "9000000000000\tDYNAMIC_TOPIC_CONFIG",
        "EarliestSpec": "0",
        "LatestSpec": "3",
        "MaxTimestampSpec": "1",
        "TimestampSpec": "1",
        "low watermark": "null",
        "in a log directory": "true",
        "producers": "1",
        "still there": "false",
    }
    assert [line for line in answer if "\t" not in line] == ["0", "1", "2"]


@pytest.mark.kafka_topic(partitions=6)
def test_many_records_with_the_defaults_of_the_java_producer(
    kafka_broker: Broker, kafka_topic: str, java_machine: JavaMachine
) -> None:
    driver = JavaDriver(
        java_machine, kafka_broker.bootstrap_servers, Settings(is_idempotent=True, codec="zstd")
    )
    sent = [Message(b"%d" % number, b"v" * 300, partition=number % 6) for number in range(3000)]
    driver.produce(kafka_topic, sent)
    for partition in range(6):
        received = driver.consume(kafka_topic, 500, partition=partition)
        assert [message.key for message in received] == [b"%d" % n for n in range(partition, 3000, 6)]
    driver.close()
