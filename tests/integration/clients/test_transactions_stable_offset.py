"""The last stable offset: who reads committed records does not pass an open transaction."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.integration.clients.clients import transactors_with
from tests.integration.clients.drivers import Driver
from tests.integration.clients.drivers.member import until
from tests.integration.clients.drivers.transaction_client import TransactionalProducer
from tests.integration.clients.messages import Message, Settings, now_ms
from tests.integration.clients.raw import RawClient
from tests.integration.clients.requests import EARLIEST, MAX_TIMESTAMP, fetch, list_offset, values_in
from tests.integration.clients.transactions import (
    READ_COMMITTED,
    log_end,
    stable_offset,
    texts,
    values_of,
    write,
)

from barnabas.testing import Broker

OpenDriver = Callable[..., Driver]
OpenTransactor = Callable[..., TransactionalProducer]
_COMMITTED = Settings(reads_committed=True)


@transactors_with("is_commit", True, False, True, False)
def test_reader_of_committed_records_waits_for_the_end_of_a_transaction(
    kafka_broker: Broker,
    kafka_topic: str,
    open_transactor: OpenTransactor,
    open_driver: OpenDriver,
    client: str,
    is_commit: bool,
) -> None:
    plain, producer = open_driver(client), open_transactor(client)
    plain.produce(kafka_topic, texts("before"))
    producer.begin()
    producer.send(kafka_topic, texts("within"))
    plain.produce(kafka_topic, texts("after"))
    assert values_of(plain.consume(kafka_topic, 3)) == ["before", "within", "after"]
    assert (stable_offset(kafka_broker, kafka_topic), log_end(kafka_broker, kafka_topic)) == (1, 3)
    expected = ["before", "within", "after"] if is_commit else ["before", "after"]
    # The JVM does one thing after the other for its drivers: it cannot wait here and write as well.
    reader = open_driver("confluent" if client == "java" else client, _COMMITTED)
    assert values_of(reader.consume(kafka_topic, 1)) == ["before"]
    with ThreadPoolExecutor() as threads:
        reading = threads.submit(reader.consume, kafka_topic, len(expected))
        with pytest.raises(TimeoutError):
            reading.result(0.3)
        producer.commit() if is_commit else producer.abort()
        assert values_of(reading.result()) == expected
    until(lambda: stable_offset(kafka_broker, kafka_topic) == log_end(kafka_broker, kafka_topic) == 4)


@pytest.mark.needs("confluent_kafka")
def test_oldest_open_transaction_holds_the_stable_offset(
    kafka_broker: Broker, kafka_topic: str, open_transactor: OpenTransactor
) -> None:
    first, second = (open_transactor("confluent", id=f"{kafka_topic}-{number}") for number in range(2))
    for producer in (first, second):
        producer.begin()
        producer.send(kafka_topic, texts("x"))
    assert stable_offset(kafka_broker, kafka_topic) == 0
    second.commit()
    assert stable_offset(kafka_broker, kafka_topic) == 0
    write(second, kafka_topic, "y")
    assert stable_offset(kafka_broker, kafka_topic) == 0
    second.begin()
    second.send(kafka_topic, texts("z"))
    first.abort()
    until(lambda: stable_offset(kafka_broker, kafka_topic) == 5)  # where the last one of the second begins
    second.commit()
    until(lambda: stable_offset(kafka_broker, kafka_topic) == log_end(kafka_broker, kafka_topic) == 8)


@pytest.mark.needs("confluent_kafka")
def test_offsets_of_times_end_at_the_stable_offset(
    kafka_broker: Broker, kafka_topic: str, open_transactor: OpenTransactor, open_driver: OpenDriver
) -> None:
    times = [now_ms() - 60_000 + 1000 * number for number in range(3)]
    open_driver("confluent").produce(kafka_topic, [Message(b"k", b"before", timestamp=times[0])])
    producer = open_transactor("confluent")
    producer.begin()
    producer.send(kafka_topic, [Message(b"k", b"within", timestamp=time) for time in times[1:]])
    all_of, committed = open_driver("confluent"), open_driver("confluent", _COMMITTED)
    assert [all_of.offset_for_time(kafka_topic, 0, time) for time in times] == [0, 1, 2]
    assert [committed.offset_for_time(kafka_topic, 0, time) for time in times] == [0, None, None]
    with RawClient(kafka_broker.port) as client:
        assert list_offset(client, kafka_topic, EARLIEST, isolation=READ_COMMITTED).offset == 0
        assert list_offset(client, kafka_topic, MAX_TIMESTAMP, isolation=READ_COMMITTED).offset == -1
        producer.commit()
        until(lambda: stable_offset(kafka_broker, kafka_topic) == 4)
        newest = list_offset(client, kafka_topic, MAX_TIMESTAMP, isolation=READ_COMMITTED)
        assert newest.offset == 3  # the marker's
    assert [committed.offset_for_time(kafka_topic, 0, time) for time in times] == [0, 1, 2]


@pytest.mark.needs("confluent_kafka")
def test_fetch_of_committed_records_names_the_aborted_transactions(
    kafka_broker: Broker, kafka_topic: str, open_transactor: OpenTransactor
) -> None:
    producer = open_transactor("confluent")
    write(producer, kafka_topic, "committed")
    for number in range(2):
        producer.begin()
        producer.send(kafka_topic, texts(f"aborted {number}"))
        producer.abort()
    producer.begin()
    producer.send(kafka_topic, texts("open"))
    with RawClient(kafka_broker.port) as client:
        until(lambda: stable_offset(kafka_broker, kafka_topic) == 6)
        found = fetch(client, kafka_topic, 0, isolation=READ_COMMITTED)
        assert (found.last_stable_offset, found.high_watermark) == (6, 7)
        assert [each.first_offset for each in found.aborted_transactions] == [2, 4]
        assert len({each.producer_id for each in found.aborted_transactions}) == 1
        later = fetch(client, kafka_topic, 4, isolation=READ_COMMITTED)
        assert [each.first_offset for each in later.aborted_transactions] == [4]
        at_the_end = fetch(client, kafka_topic, 6, isolation=READ_COMMITTED)
        assert not at_the_end.records
        assert values_in(fetch(client, kafka_topic, 6).records) == [b"open"]
    producer.abort()
