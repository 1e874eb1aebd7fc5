"""`barnabas.testing.Broker` and the fixtures with the real broker, as a user's suite has them."""

import asyncio
import time
from collections.abc import Iterator

import pytest
from tests.patience import PATIENCE

from barnabas.testing import AdminError, Broker, BrokerStartError


@pytest.fixture(params=["thread", "process"])
def broker(request: pytest.FixtureRequest) -> Iterator[Broker]:
    with Broker(process=request.param == "process") as running:
        yield running


def _produce(broker: Broker, topic: str, *values: bytes) -> None:
    from confluent_kafka import Producer

    failed: list[object] = []
    producer = Producer(
        {"bootstrap.servers": broker.bootstrap_servers, "message.timeout.ms": int(PATIENCE * 1000)}
    )
    for value in values:
        producer.produce(topic, value, on_delivery=lambda error, _: failed.append(error) if error else None)
    assert producer.flush(20) == 0
    assert failed == []


def _consume(broker: Broker, topic: str, count: int) -> list[bytes]:
    from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

    # librdkafka wants a group id even for `assign`.
    settings = {"bootstrap.servers": broker.bootstrap_servers, "group.id": "unused"}
    consumer = Consumer({**settings, "enable.auto.commit": False})
    try:
        consumer.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
        values: list[bytes] = []
        while len(values) < count:
            messages = consumer.consume(count - len(values), timeout=PATIENCE)
            assert messages, f"only {len(values)} of {count} messages came"
            for message in messages:
                assert message.error() is None
                values.append(message.value() or b"")
        return values
    finally:
        consumer.close()


def test_clients_produce_and_consume(broker: Broker) -> None:
    broker.create_topic("orders", partitions=3, config={"retention.ms": 3_600_000})
    assert broker.topics() == {"orders"}
    _produce(broker, "greetings", b"hello")
    assert _consume(broker, "greetings", 1) == [b"hello"]


def test_old_records_stay_unless_retention_is_configured() -> None:
    from confluent_kafka import Consumer, Producer, TopicPartition

    often = {"log.retention.check.interval.ms": 20, "log.initial.task.delay.ms": 0}
    with Broker(config=often) as broker:
        broker.create_topic("kept")
        broker.create_topic("for-an-hour", config={"retention.ms": 3_600_000})
        producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
        for topic in ("kept", "for-an-hour"):
            producer.produce(topic, b"old", timestamp=1_600_000_000_000)
        assert producer.flush(20) == 0
        consumer = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": "unused"})
        end = time.monotonic() + 20
        while consumer.get_watermark_offsets(TopicPartition("for-an-hour", 0))[0] == 0:
            assert time.monotonic() < end, "retention did not come"
        # One pass looks at every log: the second one that is seen to be over has looked at both.
        producer.produce("for-an-hour", b"old", timestamp=1_600_000_000_000)
        assert producer.flush(20) == 0
        while consumer.get_watermark_offsets(TopicPartition("for-an-hour", 0))[0] == 1:
            assert time.monotonic() < end, "retention did not come again"
        assert consumer.get_watermark_offsets(TopicPartition("kept", 0)) == (0, 1)
        consumer.close()


def test_topic_can_be_deleted(broker: Broker) -> None:
    broker.create_topic("orders")
    broker.delete_topic("orders")
    assert broker.topics() == set()


def test_refusal_is_an_error_with_kafkas_name(broker: Broker) -> None:
    broker.create_topic("orders")
    with pytest.raises(AdminError) as error:
        broker.create_topic("orders")
    assert error.value.code == "topic_already_exists"


def test_restart_keeps_address_and_records(broker: Broker) -> None:
    _produce(broker, "greetings", b"before")
    address = broker.bootstrap_servers
    broker.restart()
    assert broker.bootstrap_servers == address
    assert _consume(broker, "greetings", 1) == [b"before"]


def test_kill_is_not_a_clean_shutdown_and_records_are_recovered(broker: Broker) -> None:
    _produce(broker, "greetings", b"one", b"two")
    broker.kill()
    assert not (broker.log_dir / ".kafka_cleanshutdown").exists()
    broker.restart()
    assert _consume(broker, "greetings", 2) == [b"one", b"two"]


def test_clean_stop_leaves_kafkas_marker(broker: Broker) -> None:
    broker.stop()
    assert (broker.log_dir / ".kafka_cleanshutdown").exists()


@pytest.mark.parametrize("process", [False, True])
def test_bad_configuration_is_reported_in_one_line(process: bool) -> None:
    with (
        pytest.raises(BrokerStartError, match=r"log\.segment\.bytes") as error,
        Broker(process=process, config={"log.segment.bytes": "many"}),
    ):
        pass
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("process", [False, True])
def test_taken_port_is_a_failed_start(broker: Broker, process: bool) -> None:
    with pytest.raises(BrokerStartError, match="in use"), Broker(process=process, port=broker.port):
        pass


def test_async_with() -> None:
    async def use() -> set[str]:
        async with Broker() as running:
            await asyncio.to_thread(running.create_topic, "t")
            return await asyncio.to_thread(running.topics)

    assert asyncio.run(use()) == {"t"}


def test_fixtures_work_together(kafka_broker: Broker, kafka_topic: str) -> None:
    assert kafka_topic in kafka_broker.topics()
    _produce(kafka_broker, kafka_topic, b"x")
    assert _consume(kafka_broker, kafka_topic, 1) == [b"x"]
