"""Transactions that are committed and aborted, and what is seen of them."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from tests.integration.clients.clients import (
    every_transactor,
    members_with,
    readers_of_transactions,
    transactors_with,
)
from tests.integration.clients.drivers import Driver
from tests.integration.clients.drivers.member import until
from tests.integration.clients.drivers.transaction_client import TransactionalProducer
from tests.integration.clients.messages import Message, Settings, now_ms
from tests.integration.clients.transactions import (
    described,
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


def _is_settled(broker: Broker, topic: str, partition: int = 0) -> bool:
    """No transaction is open: the markers are written."""
    return stable_offset(broker, topic, partition) == log_end(broker, topic, partition)


@readers_of_transactions
def test_committed_records_are_read_and_aborted_ones_only_by_those_who_want_all(
    kafka_broker: Broker,
    kafka_topic: str,
    open_transactor: OpenTransactor,
    open_driver: OpenDriver,
    writer: str,
    reader: str,
) -> None:
    producer, plain = open_transactor(writer), open_driver(writer)
    producer.begin()
    producer.send(kafka_topic, texts("aborted 1", "aborted 2"))
    producer.abort()
    plain.produce(kafka_topic, texts("plain 1"))
    write(producer, kafka_topic, "committed 1", "committed 2")
    producer.begin()
    producer.send(kafka_topic, texts("aborted 3"))
    plain.produce(kafka_topic, texts("plain 2"))  # between the records of an open transaction
    producer.send(kafka_topic, texts("aborted 4"))
    producer.abort()
    write(producer, kafka_topic, "committed 3")
    until(lambda: _is_settled(kafka_broker, kafka_topic))
    everything = ["aborted 1", "aborted 2", "plain 1", "committed 1", "committed 2"]
    everything += ["aborted 3", "plain 2", "aborted 4", "committed 3"]
    committed = [value for value in everything if not value.startswith("aborted")]
    assert log_end(kafka_broker, kafka_topic) == len(everything) + 4  # and a marker for each transaction
    assert values_of(open_driver(reader).consume(kafka_topic, len(everything))) == everything
    assert values_of(open_driver(reader, _COMMITTED).consume(kafka_topic, len(committed))) == committed


@members_with(
    "is_commit",
    ("confluent", True),
    ("kafka-python", False),
    ("aiokafka", True),
    ("java", True),
    ("java", False),
)
@pytest.mark.kafka_topic(partitions=3)
def test_partitions_of_several_topics_end_together(
    kafka_broker: Broker,
    kafka_topic: str,
    open_transactor: OpenTransactor,
    open_driver: OpenDriver,
    client: str,
    is_commit: bool,
) -> None:
    other = f"{kafka_topic}-other"
    kafka_broker.create_topic(other, partitions=2)
    topic_partitions = [(kafka_topic, number) for number in range(3)] + [
        (other, number) for number in range(2)
    ]
    producer = open_transactor(client)
    producer.begin()
    for topic, partition in topic_partitions:
        producer.send(topic, texts(f"{topic} {partition}", partition=partition))
    assert [stable_offset(kafka_broker, *topic_partition) for topic_partition in topic_partitions] == [0] * 5
    producer.commit() if is_commit else producer.abort()
    producer.begin()
    for topic, partition in topic_partitions:
        producer.send(topic, texts("last", partition=partition))
    producer.commit()
    reader = open_driver(client, _COMMITTED)
    for topic, partition in topic_partitions:
        expected = [f"{topic} {partition}", "last"] if is_commit else ["last"]
        assert values_of(reader.consume(topic, len(expected), partition=partition)) == expected


@every_transactor
def test_transactions_without_records_leave_nothing(
    kafka_broker: Broker,
    kafka_topic: str,
    open_transactor: OpenTransactor,
    open_driver: OpenDriver,
    client: str,
) -> None:
    producer = open_transactor(client)
    for _ in range(2):
        producer.begin()
        producer.commit()
        producer.begin()
        producer.abort()
    assert log_end(kafka_broker, kafka_topic) == 0
    write(producer, kafka_topic, "first")
    producer.begin()
    producer.commit()
    until(lambda: _is_settled(kafka_broker, kafka_topic))
    assert log_end(kafka_broker, kafka_topic) == 2
    assert values_of(open_driver(client, _COMMITTED).consume(kafka_topic, 1)) == ["first"]


@every_transactor
def test_many_transactions_follow_each_other(
    kafka_broker: Broker,
    kafka_topic: str,
    open_transactor: OpenTransactor,
    open_driver: OpenDriver,
    client: str,
) -> None:
    """At once: the markers of one are still being written when the next begins."""
    producer = open_transactor(client)
    for number in range(30):
        producer.begin()
        producer.send(kafka_topic, texts(f"{number} a", f"{number} b"))
        producer.abort() if number % 3 == 1 else producer.commit()
    expected = [f"{number} {name}" for number in range(30) if number % 3 != 1 for name in "ab"]
    assert values_of(open_driver(client, _COMMITTED).consume(kafka_topic, 40)) == expected
    until(lambda: _is_settled(kafka_broker, kafka_topic))
    assert log_end(kafka_broker, kafka_topic) == 90


@every_transactor
def test_epoch_grows_with_each_transaction_of_version_two(
    kafka_broker: Broker,
    kafka_topic: str,
    transactional_id: str,
    open_transactor: OpenTransactor,
    client: str,
) -> None:
    """KIP-890; and so this tells which version the client has chosen."""
    producer = open_transactor(client)
    for number in range(3):
        write(producer, kafka_topic, str(number))
    until(lambda: described(kafka_broker, transactional_id).transaction_state == "CompleteCommit")
    # librdkafka 2.16 and the Python clients know the first version only.
    assert described(kafka_broker, transactional_id).producer_epoch == (3 if client == "java" else 0)


@transactors_with("is_commit", True, False, False, True)
def test_large_transaction(
    kafka_broker: Broker,
    kafka_topic: str,
    open_transactor: OpenTransactor,
    open_driver: OpenDriver,
    client: str,
    is_commit: bool,
) -> None:
    producer = open_transactor(client)
    producer.begin()
    producer.send(kafka_topic, texts(*(f"{number:>100}" for number in range(10_000))))
    assert stable_offset(kafka_broker, kafka_topic) == 0
    producer.commit() if is_commit else producer.abort()
    write(producer, kafka_topic, "last")
    until(lambda: _is_settled(kafka_broker, kafka_topic))
    assert log_end(kafka_broker, kafka_topic) == 10_003
    expected = [f"{number:>100}" for number in range(10_000)] * is_commit + ["last"]
    # The library under test writes; one that is quick reads.
    reader = open_driver("confluent" if client != "java" else "java", _COMMITTED)
    assert values_of(reader.consume(kafka_topic, len(expected))) == expected


@every_transactor
def test_two_producers_share_a_partition(
    kafka_topic: str, open_transactor: OpenTransactor, open_driver: OpenDriver, client: str
) -> None:
    first, second = (
        open_transactor(client, id=f"{kafka_topic}-1"),
        open_transactor(client, id=f"{kafka_topic}-2"),
    )
    for producer in (first, second):
        producer.begin()
    for number in range(3):
        first.send(kafka_topic, texts(f"first {number}"))
        second.send(kafka_topic, texts(f"second {number}"))
    second.abort()
    write(second, kafka_topic, "second again")
    first.commit()
    expected = ["first 0", "first 1", "first 2", "second again"]
    assert values_of(open_driver(client, _COMMITTED).consume(kafka_topic, 4)) == expected


@transactors_with("codec", "gzip", "snappy", "lz4", "zstd")
def test_compressed_transactions(
    kafka_topic: str, open_transactor: OpenTransactor, open_driver: OpenDriver, client: str, codec: str
) -> None:
    producer = open_transactor(client, codec=codec)
    producer.begin()
    producer.send(kafka_topic, texts("aborted " * 50, "aborted " * 50))
    producer.abort()
    producer.begin()
    sent = Message(b"k", b"committed " * 50, (("name", b"value"),), now_ms())
    producer.send(kafka_topic, [sent])
    producer.commit()
    assert open_driver(client, _COMMITTED).consume(kafka_topic, 1) == [replace(sent, offset=3)]
