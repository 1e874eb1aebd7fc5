"""Faults by request: what confluent-kafka, kafka-python and aiokafka do about them."""

import asyncio
import time
from collections.abc import Callable, Iterator

import pytest
from tests.patience import PATIENCE

from barnabas.testing import Broker

Make = Callable[[str], object]


@pytest.fixture(params=["thread", "process"], scope="module")
def broker(request: pytest.FixtureRequest) -> Iterator[Broker]:
    with Broker(process=request.param == "process", config={"num.partitions": 1}) as running:
        yield running


@pytest.fixture(autouse=True)
def without_faults(request: pytest.FixtureRequest) -> Iterator[None]:
    yield
    if "broker" in request.fixturenames:
        request.getfixturevalue("broker").faults.clear()


def _produce_with_confluent(broker: Broker, topic: str, **settings: object) -> list[str | None]:
    from confluent_kafka import Producer

    outcome: list[str | None] = []
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "log_level": 0, **settings})
    producer.produce(
        topic, b"x", on_delivery=lambda error, message: outcome.append(error.name() if error else None)
    )
    producer.flush(PATIENCE)
    return outcome


def _produce_with_kafka_python(broker: Broker, topic: str) -> list[str | None]:
    from kafka import KafkaProducer

    producer = KafkaProducer(
        bootstrap_servers=broker.bootstrap_servers, retries=10, retry_backoff_ms=20, client_id="python"
    )
    try:
        producer.send(topic, b"x").get(PATIENCE)
    finally:
        producer.close()
    return [None]


def _produce_with_aiokafka(broker: Broker, topic: str) -> list[str | None]:
    from aiokafka import AIOKafkaProducer

    async def main() -> None:
        async with AIOKafkaProducer(
            bootstrap_servers=broker.bootstrap_servers, retry_backoff_ms=20
        ) as producer:
            await producer.send_and_wait(topic, b"x")

    asyncio.run(main())
    return [None]


_PRODUCE = {
    "confluent_kafka": _produce_with_confluent,
    "kafka": _produce_with_kafka_python,
    "aiokafka": _produce_with_aiokafka,
}


def _count(broker: Broker, topic: str) -> int:
    """How many records the topic has."""
    from confluent_kafka import Consumer, TopicPartition

    consumer = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": "count"})
    try:
        return int(consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=PATIENCE)[1])
    finally:
        consumer.close()


@pytest.mark.parametrize("client", [pytest.param(name, marks=pytest.mark.needs(name)) for name in _PRODUCE])
def test_producer_repeats_what_the_broker_refuses(broker: Broker, client: str) -> None:
    topic = f"refused-{client}"
    broker.create_topic(topic)
    broker.faults.error("Produce", "NOT_LEADER_OR_FOLLOWER", times=3, topic=topic)
    assert _PRODUCE[client](broker, topic) == [None]
    log = broker.faults.log
    assert [(each.kind, each.api, each.error, each.topics) for each in log] == 3 * [
        ("error", "Produce", "NOT_LEADER_OR_FOLLOWER", (topic,))
    ]
    assert _count(broker, topic) == 1


@pytest.mark.needs("confluent_kafka")
def test_error_that_is_not_retriable_reaches_the_application(broker: Broker) -> None:
    broker.create_topic("fatal")
    broker.faults.error("Produce", "INVALID_RECORD", topic="fatal")
    assert _produce_with_confluent(broker, "fatal") == ["INVALID_RECORD"]
    assert _count(broker, "fatal") == 0
    assert _produce_with_confluent(broker, "other") == [None]


@pytest.mark.needs("confluent_kafka")
def test_lost_response_makes_a_producer_send_again_and_idempotence_keeps_one(broker: Broker) -> None:
    broker.create_topic("twice")
    broker.faults.drop_response("Produce", times=1)
    assert _produce_with_confluent(broker, "twice") == [None]
    assert _count(broker, "twice") == 2
    broker.create_topic("once")
    broker.faults.drop_response("Produce", times=1)
    assert _produce_with_confluent(broker, "once", **{"enable.idempotence": True}) == [None]
    assert _count(broker, "once") == 1
    assert [each.kind for each in broker.faults.log] == ["drop_response"] * 2


@pytest.mark.needs("confluent_kafka")
def test_connection_that_is_silent_runs_into_the_timeout_of_the_client(broker: Broker) -> None:
    broker.create_topic("silent")
    broker.faults.drop_response("Produce", times=1, close=False)
    settings = {"enable.idempotence": True, "socket.timeout.ms": 300, "request.timeout.ms": 250}
    assert _produce_with_confluent(broker, "silent", **settings) == [None]
    assert _count(broker, "silent") == 1


@pytest.mark.needs("confluent_kafka")
def test_connection_is_closed_before_the_request_is_executed(broker: Broker) -> None:
    broker.create_topic("closed")
    broker.faults.disconnect("Produce", times=2)
    assert _produce_with_confluent(broker, "closed") == [None]
    assert _count(broker, "closed") == 1
    assert len(broker.faults.log) == 2


@pytest.mark.needs("confluent_kafka")
def test_delay_and_throttle_time_are_seen_by_the_client(broker: Broker) -> None:
    from confluent_kafka import Producer

    broker.create_topic("slow")
    broker.faults.delay("Produce", seconds=0.3, times=1)
    before = time.monotonic()
    assert _produce_with_confluent(broker, "slow") == [None]
    assert time.monotonic() - before >= 0.3
    throttled: list[float] = []
    producer = Producer(
        {
            "bootstrap.servers": broker.bootstrap_servers,
            "throttle_cb": lambda event: throttled.append(event.throttle_time),
        }
    )
    broker.faults.throttle("Produce", seconds=0.05, times=1)
    producer.produce("slow", b"x")
    deadline = time.monotonic() + PATIENCE
    while not throttled and time.monotonic() < deadline:
        producer.poll(0.01)
    assert throttled == [0.05]


@pytest.mark.needs("aiokafka")
def test_consumer_gets_over_errors_of_fetches_and_of_its_group(broker: Broker) -> None:
    from aiokafka import AIOKafkaConsumer

    broker.create_topic("read")
    _produce_with_aiokafka(broker, "read")
    broker.faults.error("Fetch", "NOT_LEADER_OR_FOLLOWER", times=2, client_id="reader")
    broker.faults.error("JoinGroup", "COORDINATOR_LOAD_IN_PROGRESS", times=1)
    broker.faults.error("FindCoordinator", "COORDINATOR_NOT_AVAILABLE", times=1)
    broker.faults.error("Metadata", "LEADER_NOT_AVAILABLE", times=1, topic="re*", client_id="reader")

    async def main() -> bytes | None:
        async with AIOKafkaConsumer(
            "read",
            bootstrap_servers=broker.bootstrap_servers,
            group_id="readers",
            auto_offset_reset="earliest",
            retry_backoff_ms=20,
            client_id="reader",
        ) as consumer:
            record = await asyncio.wait_for(consumer.getone(), PATIENCE)
            value: bytes | None = record.value
            return value

    assert asyncio.run(main()) == b"x"
    assert {(each.api, each.error) for each in broker.faults.log} == {
        ("Fetch", "NOT_LEADER_OR_FOLLOWER"),
        ("JoinGroup", "COORDINATOR_LOAD_IN_PROGRESS"),
        ("FindCoordinator", "COORDINATOR_NOT_AVAILABLE"),
        ("Metadata", "LEADER_NOT_AVAILABLE"),
    }


@pytest.mark.needs("confluent_kafka")
def test_acks_0_is_refused_by_closing_the_connection(broker: Broker) -> None:
    broker.create_topic("acks-0")
    broker.faults.error("Produce", "NOT_LEADER_OR_FOLLOWER", times=1, topic="acks-0")
    assert _produce_with_confluent(broker, "acks-0", acks=0) == [None]
    deadline = time.monotonic() + PATIENCE
    while not broker.faults.log and time.monotonic() < deadline:
        time.sleep(0.01)
    assert [each.error for each in broker.faults.log] == ["NOT_LEADER_OR_FOLLOWER"]
    assert _count(broker, "acks-0") == 0
