"""confluent-kafka beyond what every client does."""

from typing import Any

import pytest
from tests.integration.clients.drivers.confluent import ConfluentDriver
from tests.integration.clients.messages import Message, Settings
from tests.patience import PATIENCE

from barnabas.testing import Broker

pytestmark = pytest.mark.needs("confluent_kafka")


def _consumer(broker: Broker, **settings: Any) -> Any:
    from confluent_kafka import Consumer

    common = {
        "bootstrap.servers": broker.bootstrap_servers,
        "group.id": "not used",
        "enable.auto.commit": False,
        "fetch.wait.max.ms": 100,
        "log_level": 0,
    }
    return Consumer({**common, **settings})


def _fill(broker: Broker, topic: str, *values: bytes, **settings: Any) -> None:
    driver = ConfluentDriver(broker.bootstrap_servers, Settings(**settings))
    driver.produce(topic, [Message(b"k", value) for value in values])
    driver.close()


def test_end_of_a_partition_is_reported(kafka_broker: Broker, kafka_topic: str) -> None:
    from confluent_kafka import KafkaError, TopicPartition

    _fill(kafka_broker, kafka_topic, b"only")
    with _consumer(kafka_broker, **{"enable.partition.eof": True}) as consumer:
        consumer.assign([TopicPartition(kafka_topic, 0, 0)])
        assert consumer.poll(PATIENCE).value() == b"only"
        end = consumer.poll(PATIENCE)
        assert end.error().code() == KafkaError._PARTITION_EOF
        assert end.offset() == 1


def test_watermarks_and_position(kafka_broker: Broker, kafka_topic: str) -> None:
    from confluent_kafka import TopicPartition

    _fill(kafka_broker, kafka_topic, b"a", b"b", b"c")
    partition = TopicPartition(kafka_topic, 0, 1)
    with _consumer(kafka_broker) as consumer:
        assert consumer.get_watermark_offsets(partition, timeout=PATIENCE) == (0, 3)
        consumer.assign([partition])
        message = consumer.poll(PATIENCE)
        assert (message.offset(), message.leader_epoch()) == (1, 0)
        consumer.seek(TopicPartition(kafka_topic, 0, 2))
        assert consumer.poll(PATIENCE).offset() == 2
        assert consumer.position([partition])[0].offset == 3


@pytest.mark.parametrize(("reset", "expected"), [("earliest", b"first"), ("latest", b"late")])
def test_offset_out_of_range_is_reset(
    kafka_broker: Broker, kafka_topic: str, reset: str, expected: bytes
) -> None:
    from confluent_kafka import TopicPartition

    _fill(kafka_broker, kafka_topic, b"first", b"second")
    with _consumer(kafka_broker, **{"auto.offset.reset": reset}) as consumer:
        consumer.assign([TopicPartition(kafka_topic, 0, 1000)])
        message = None
        while message is None:  # a reset to the end starts with what comes after it
            message = consumer.poll(0.1)
            if message is None:
                _fill(kafka_broker, kafka_topic, b"late")
        assert message.value() == expected


def test_waiting_consumer_gets_a_new_message_at_once(kafka_broker: Broker, kafka_topic: str) -> None:
    from confluent_kafka import TopicPartition

    with _consumer(kafka_broker, **{"fetch.wait.max.ms": 300_000}) as consumer:
        consumer.assign([TopicPartition(kafka_topic, 0, 0)])
        assert consumer.poll(0.3) is None  # its fetch now waits at the broker, for up to a minute
        _fill(kafka_broker, kafka_topic, b"news")
        assert consumer.poll(PATIENCE).value() == b"news"


def test_thousands_of_messages_over_many_partitions(kafka_broker: Broker) -> None:
    from confluent_kafka import TopicPartition

    kafka_broker.create_topic("wide", 12)
    count, value = 6000, b"x" * 200
    driver = ConfluentDriver(kafka_broker.bootstrap_servers, Settings(codec="lz4", is_idempotent=True))
    driver.produce("wide", [Message(b"%d" % i, value, partition=i % 12) for i in range(count)])
    driver.close()
    keys: dict[int, list[int]] = {}
    with _consumer(kafka_broker) as consumer:
        consumer.assign([TopicPartition("wide", partition, 0) for partition in range(12)])
        while sum(map(len, keys.values())) < count:
            messages = consumer.consume(1000, PATIENCE)
            assert messages
            for message in messages:
                keys.setdefault(message.partition(), []).append(int(message.key()))
    assert keys == {partition: list(range(partition, count, 12)) for partition in range(12)}


def test_consumer_goes_on_while_the_broker_restarts(kafka_broker: Broker, kafka_topic: str) -> None:
    from confluent_kafka import TopicPartition

    fast = {"reconnect.backoff.ms": 20, "reconnect.backoff.max.ms": 100}
    _fill(kafka_broker, kafka_topic, b"before")
    with _consumer(kafka_broker, **fast) as consumer:
        consumer.assign([TopicPartition(kafka_topic, 0, 0)])
        assert consumer.poll(PATIENCE).value() == b"before"
        kafka_broker.restart()
        _fill(kafka_broker, kafka_topic, b"after")
        message = consumer.poll(PATIENCE)
        while message is not None and message.error() is not None:
            message = consumer.poll(PATIENCE)
        assert message.value() == b"after"


def test_producer_that_was_cut_off_delivers_when_the_broker_is_back(
    kafka_broker: Broker, kafka_topic: str
) -> None:
    from confluent_kafka import Producer

    settings = {"reconnect.backoff.ms": 20, "reconnect.backoff.max.ms": 100, "enable.idempotence": True}
    producer = Producer({"bootstrap.servers": kafka_broker.bootstrap_servers, "log_level": 0, **settings})
    producer.produce(kafka_topic, b"0")
    assert producer.flush(PATIENCE) == 0
    kafka_broker.stop()
    for number in range(1, 50):
        producer.produce(kafka_topic, b"%d" % number)
    kafka_broker.start()
    assert producer.flush(PATIENCE) == 0
    driver = ConfluentDriver(kafka_broker.bootstrap_servers, Settings())
    received = [message.value for message in driver.consume(kafka_topic, 50)]
    driver.close()
    assert received == [b"%d" % number for number in range(50)]


def test_asyncio_producer(kafka_broker: Broker, kafka_topic: str) -> None:
    import asyncio

    from confluent_kafka.aio import AIOProducer

    async def send() -> int:
        producer = AIOProducer({"bootstrap.servers": kafka_broker.bootstrap_servers})
        try:
            delivery = await producer.produce(kafka_topic, value=b"from a loop")
            await producer.flush()
            offset: int = (await delivery).offset()
            return offset
        finally:
            await producer.close()

    assert asyncio.run(asyncio.wait_for(send(), PATIENCE)) == 0
