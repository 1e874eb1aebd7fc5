"""kafka-python beyond what every client does."""

from typing import Any

import pytest
from tests.integration.clients.drivers.kafka_python import KafkaPythonDriver
from tests.integration.clients.messages import Message, Settings
from tests.patience import PATIENCE

from barnabas.testing import Broker

pytestmark = pytest.mark.needs("kafka")


def _fill(broker: Broker, topic: str, *values: bytes) -> None:
    driver = KafkaPythonDriver(broker.bootstrap_servers, Settings())
    driver.produce(topic, [Message(b"k", value) for value in values])
    driver.close()


def _consumer(broker: Broker, **settings: Any) -> Any:
    from kafka import KafkaConsumer

    return KafkaConsumer(bootstrap_servers=broker.bootstrap_servers, group_id=None, **settings)


def test_beginning_and_end(kafka_broker: Broker, kafka_topic: str) -> None:
    from kafka import TopicPartition

    _fill(kafka_broker, kafka_topic, b"a", b"b", b"c")
    partition = TopicPartition(kafka_topic, 0)
    with _consumer(kafka_broker) as consumer:
        assert consumer.beginning_offsets([partition]) == {partition: 0}
        assert consumer.end_offsets([partition]) == {partition: 3}
        assert kafka_topic in consumer.topics()
        assert consumer.partitions_for_topic(kafka_topic) == {0}


def test_consumer_iterates_until_nothing_comes(kafka_broker: Broker, kafka_topic: str) -> None:
    from kafka import TopicPartition

    _fill(kafka_broker, kafka_topic, b"a", b"b", b"c")
    partition = TopicPartition(kafka_topic, 0)
    with _consumer(kafka_broker, consumer_timeout_ms=2000) as consumer:
        consumer.assign([partition])
        consumer.seek_to_beginning(partition)
        assert [record.value for record in consumer] == [b"a", b"b", b"c"]
        assert consumer.highwater(partition) == 3


def test_topic_without_a_group_is_consumed_by_its_name(kafka_broker: Broker, kafka_topic: str) -> None:
    from kafka import KafkaConsumer

    _fill(kafka_broker, kafka_topic, b"a")
    consumer = KafkaConsumer(
        kafka_topic,
        bootstrap_servers=kafka_broker.bootstrap_servers,
        group_id=None,
        auto_offset_reset="earliest",
    )
    try:
        assert next(consumer).value == b"a"
    finally:
        consumer.close()


@pytest.mark.parametrize("sessions", [True, False])
def test_with_and_without_fetch_sessions(kafka_broker: Broker, kafka_topic: str, sessions: bool) -> None:
    from kafka import TopicPartition

    partition = TopicPartition(kafka_topic, 0)
    settings = {"enable_incremental_fetch_sessions": sessions, "fetch_max_wait_ms": 100}
    with _consumer(kafka_broker, **settings) as consumer:
        consumer.assign([partition])
        consumer.seek(partition, 0)
        for number in range(5):
            _fill(kafka_broker, kafka_topic, b"%d" % number)
            ((record,),) = consumer.poll(timeout_ms=int(PATIENCE * 1000)).values()
            assert (record.offset, record.value) == (number, b"%d" % number)


@pytest.mark.kafka_topic(partitions=3)
def test_keys_choose_their_partition(kafka_broker: Broker, kafka_topic: str) -> None:
    from kafka import KafkaProducer

    with KafkaProducer(bootstrap_servers=kafka_broker.bootstrap_servers) as producer:
        sent = {key: producer.send(kafka_topic, b"v", key=b"%d" % key) for key in range(12)}
        producer.flush()
        first = {key: future.get(PATIENCE).partition for key, future in sent.items()}
        again = {key: producer.send(kafka_topic, b"v", key=b"%d" % key).get(PATIENCE) for key in range(12)}
    assert {key: metadata.partition for key, metadata in again.items()} == first
    assert set(first.values()) == {0, 1, 2}
