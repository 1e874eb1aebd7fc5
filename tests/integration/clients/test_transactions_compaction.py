"""Compacted topics that are written in transactions."""

from collections.abc import Callable

import pytest
from tests.integration.clients.clients import some_members
from tests.integration.clients.drivers import Driver
from tests.integration.clients.drivers.member import until
from tests.integration.clients.drivers.transaction_client import TransactionalProducer
from tests.integration.clients.messages import Message, Settings
from tests.integration.clients.raw import RawClient
from tests.integration.clients.requests import fetch
from tests.integration.clients.transactions import stable_offset, texts, values_of

from barnabas.records.batch import iter_headers
from barnabas.records.record import decode_records
from barnabas.testing import Broker

OpenDriver = Callable[..., Driver]
OpenTransactor = Callable[..., TransactionalProducer]
_COMMITTED = Settings(reads_committed=True)
_COMPACTED = {
    "cleanup.policy": "compact",
    "min.cleanable.dirty.ratio": 0.001,
    "segment.bytes": 1_048_576,
    "segment.ms": 1,  # the next append begins a segment, and the one before can be cleaned
    "delete.retention.ms": 0,
}


def _values(broker: Broker, topic: str) -> list[str]:
    """Of all records in the log, committed or not; without markers."""
    with RawClient(broker.port) as client:
        stored, offset, end = b"", 0, stable_offset(broker, topic)
        while offset < end:
            records = fetch(client, topic, offset).records
            if not records:
                break
            stored += records
            offset = max(header.next_offset for _, header in iter_headers(records))
    values = []
    for position, header in iter_headers(stored):
        if not header.is_control:
            batch = stored[position : position + header.size]
            values += [(record.value or b"").decode() for record in decode_records(batch)]
    return values


@some_members("confluent", "java")
@pytest.mark.kafka_topic(config=_COMPACTED)
def test_cleaner_drops_aborted_records_and_keeps_the_last_committed_ones(
    kafka_broker: Broker,
    kafka_topic: str,
    open_transactor: OpenTransactor,
    open_driver: OpenDriver,
    client: str,
) -> None:
    producer = open_transactor(client)
    for number in range(4):
        is_commit = number % 2 == 0
        producer.begin()
        word = "committed" if is_commit else "aborted"
        producer.send(kafka_topic, [Message(key.encode(), f"{word} {key}{number}".encode()) for key in "abc"])
        producer.send(kafka_topic, texts(f"{word} only here", key=word.encode()))
        producer.commit() if is_commit else producer.abort()
    producer.begin()
    producer.send(kafka_topic, texts("last", key=b"last"))
    producer.commit()
    expected = ["committed a2", "committed b2", "committed c2", "committed only here", "last"]

    def is_clean() -> bool:
        """Each look begins another segment; nothing is cleaned that came after the look before."""
        plain.produce(kafka_topic, texts("x", key=b"roll"))
        found[:] = [value for value in _values(kafka_broker, kafka_topic) if value != "x"]
        return found == expected

    found: list[str] = []
    plain = open_driver(client)
    until(is_clean)
    reader = open_driver(client, _COMMITTED)
    assert values_of(reader.consume(kafka_topic, 5)) == expected
