"""What every client can rely on, written once and run with each of them."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from tests.integration.clients.clients import every_client, every_pair
from tests.integration.clients.drivers import Driver, SendFailed
from tests.integration.clients.messages import (
    CODECS,
    Message,
    Settings,
    every_shape,
    now_ms,
    numbered,
    without_timestamps,
)

from barnabas.testing import Broker

OpenDriver = Callable[..., Driver]

_BATCH_OVERHEAD = 61 + 20
"""Header of a batch, and of its one record."""
_MAX_MESSAGE_BYTES = 1_048_588


def _assert_same(received: list[Message], sent: list[Message], writer: Driver) -> None:
    if writer.keeps_timestamps:
        assert received == sent
    else:
        assert without_timestamps(received) == without_timestamps(sent)
        assert all(abs(message.timestamp - now_ms()) < 60_000 for message in received)


@every_pair
@pytest.mark.kafka_topic(partitions=len(CODECS))
def test_what_one_client_wrote_the_other_reads(
    kafka_topic: str, open_driver: OpenDriver, writer: str, reader: str
) -> None:
    messages = every_shape()
    reading = open_driver(reader)
    for partition, codec in enumerate(CODECS):
        writing = open_driver(writer, Settings(codec=codec))
        sent = [replace(message, partition=partition) for message in messages]
        writing.produce(kafka_topic, sent)
        received = reading.consume(kafka_topic, len(sent), partition=partition)
        _assert_same(received, numbered(sent), writing)


@every_client
@pytest.mark.parametrize("acks", ["0", "1", "all"])
def test_acks(kafka_topic: str, open_driver: OpenDriver, client: str, acks: str) -> None:
    driver = open_driver(client, Settings(acks=acks))
    sent = every_shape()
    driver.produce(kafka_topic, sent)
    _assert_same(driver.consume(kafka_topic, len(sent)), numbered(sent), driver)


@every_client
def test_idempotent_producer(kafka_topic: str, open_driver: OpenDriver, client: str) -> None:
    driver = open_driver(client, Settings(is_idempotent=True, codec="lz4"))
    sent = every_shape(200)
    for begin in range(0, len(sent), 40):
        driver.produce(kafka_topic, sent[begin : begin + 40])
    _assert_same(driver.consume(kafka_topic, len(sent)), numbered(sent), driver)


@every_client
def test_message_at_the_limit_passes_and_a_larger_one_is_refused(
    kafka_topic: str, open_driver: OpenDriver, client: str
) -> None:
    driver = open_driver(client, Settings(max_request_bytes=2_000_000))
    largest = Message(b"k", b"x" * (_MAX_MESSAGE_BYTES - _BATCH_OVERHEAD), timestamp=now_ms())
    driver.produce(kafka_topic, [largest])
    with pytest.raises(SendFailed, match=r"(?i)too.?large|larger than|exceeds"):
        driver.produce(kafka_topic, [Message(b"k", b"x" * (_MAX_MESSAGE_BYTES + 1))])
    small = Message(b"after", b"it", timestamp=now_ms())
    open_driver(client).produce(kafka_topic, [small])
    _assert_same(driver.consume(kafka_topic, 2), numbered([largest, small]), driver)


@every_client
def test_topic_is_created_by_its_first_use(
    kafka_broker: Broker, open_driver: OpenDriver, client: str
) -> None:
    topic = f"first-use-by-{client}"
    driver = open_driver(client)
    sent = every_shape(3)
    driver.produce(topic, sent)
    assert topic in kafka_broker.topics()
    _assert_same(driver.consume(topic, len(sent)), numbered(sent), driver)


@every_client
@pytest.mark.kafka_topic(partitions=4)
def test_partitions_have_their_own_offsets(kafka_topic: str, open_driver: OpenDriver, client: str) -> None:
    driver = open_driver(client)
    sent = [replace(message, partition=index % 4) for index, message in enumerate(every_shape(40))]
    driver.produce(kafka_topic, sent)
    for partition in range(4):
        own = [message for message in sent if message.partition == partition]
        received = driver.consume(kafka_topic, len(own), partition=partition)
        _assert_same(received, numbered(own), driver)


@every_client
def test_consumer_starts_in_the_middle_of_a_batch(
    kafka_topic: str, open_driver: OpenDriver, client: str
) -> None:
    driver = open_driver(client, Settings(codec="gzip"))
    sent = numbered(every_shape(50))
    driver.produce(kafka_topic, sent)
    for offset in (0, 1, 17, 49):
        received = driver.consume(kafka_topic, 50 - offset, offset=offset)
        _assert_same(received, sent[offset:], driver)


@every_client
@pytest.mark.needs("confluent_kafka")
@pytest.mark.parametrize("codec", ["none", "zstd"])
def test_offset_by_time_is_exact_to_the_record(
    kafka_topic: str, open_driver: OpenDriver, client: str, codec: str
) -> None:
    sent = every_shape(10)
    open_driver("confluent", Settings(codec=codec)).produce(kafka_topic, sent)
    driver = open_driver(client)
    first = sent[0].timestamp
    requested = {first - 1: 0, first: 0, first + 1: 1, first + 4000: 4, first + 4001: 5, first + 9000: 9}
    found = {time: driver.offset_for_time(kafka_topic, 0, time) for time in requested}
    assert found == requested
    assert driver.offset_for_time(kafka_topic, 0, first + 9001) is None


@every_client
def test_client_lives_through_a_restart_of_the_broker(
    kafka_broker: Broker, kafka_topic: str, open_driver: OpenDriver, client: str
) -> None:
    driver = open_driver(client, Settings(is_idempotent=True, codec="snappy"))
    sent = every_shape(10)
    driver.produce(kafka_topic, sent[:5])
    _assert_same(driver.consume(kafka_topic, 5), numbered(sent[:5]), driver)
    kafka_broker.restart()
    driver.produce(kafka_topic, sent[5:])
    _assert_same(driver.consume(kafka_topic, 10), numbered(sent), driver)


@every_client
@pytest.mark.kafka_topic(config={"message.timestamp.type": "LogAppendTime"})
def test_log_append_time_replaces_the_producers(
    kafka_topic: str, open_driver: OpenDriver, client: str
) -> None:
    driver = open_driver(client, Settings(codec="gzip"))
    sent = every_shape(5)
    before = now_ms()
    driver.produce(kafka_topic, sent)
    received = driver.consume(kafka_topic, 5)
    assert without_timestamps(received) == without_timestamps(numbered(sent))
    assert all(before <= message.timestamp <= now_ms() for message in received)


@every_client
@pytest.mark.parametrize("codec", ["none", "zstd"])
@pytest.mark.kafka_topic(config={"compression.type": "gzip"})
def test_topic_with_its_own_codec_is_read_by_all(
    kafka_topic: str, open_driver: OpenDriver, client: str, codec: str
) -> None:
    driver = open_driver(client, Settings(codec=codec))
    sent = every_shape(20)
    driver.produce(kafka_topic, sent)
    _assert_same(driver.consume(kafka_topic, 20), numbered(sent), driver)
