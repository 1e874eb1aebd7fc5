"""A broker that stops, or dies, in the middle of transactions."""

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.fakes.advanced_broker import AdvancedBroker
from tests.integration.clients.clients import members_with
from tests.integration.clients.drivers import Driver
from tests.integration.clients.drivers.group_client import Committed, Partition
from tests.integration.clients.drivers.member import until
from tests.integration.clients.drivers.transaction_client import ProducerFenced, TransactionalProducer
from tests.integration.clients.group_requests import committed_offset, wait_for_coordinator
from tests.integration.clients.messages import Settings
from tests.integration.clients.raw import RawClient
from tests.integration.clients.transactions import (
    described,
    log_end,
    stable_offset,
    texts,
    values_of,
    write,
)

from barnabas.records.batch import iter_headers
from barnabas.testing import Broker

OpenDriver = Callable[..., Driver]
OpenTransactor = Callable[..., TransactionalProducer]
_COMMITTED = Settings(reads_committed=True)
both_ends = pytest.mark.parametrize("is_kill", [False, True], ids=["stop", "kill"])
_STATE = "__transaction_state"
_TIMEOUT_MS = 600_000
"""Of a transaction: no machine is so slow that a test takes that long."""


def _restart(broker: Broker, *, is_kill: bool) -> None:
    broker.kill() if is_kill else broker.stop()
    broker.start()


def _state(broker: Broker, transactional_id: str) -> str | None:
    """None while the coordinator loads."""
    found = described(broker, transactional_id)
    return None if found.error_code else str(found.transaction_state)


@members_with(
    "is_kill",
    ("confluent", True),
    ("kafka-python", True),
    ("aiokafka", False),
    ("java", False),
    ("java", True),
)
def test_transaction_goes_on_after_a_restart(
    kafka_broker: Broker,
    kafka_topic: str,
    open_transactor: OpenTransactor,
    open_driver: OpenDriver,
    client: str,
    is_kill: bool,
) -> None:
    producer = open_transactor(client)
    producer.begin()
    producer.send(kafka_topic, texts("aborted"))
    producer.abort()
    producer.begin()
    producer.send(kafka_topic, texts("before"))
    _restart(kafka_broker, is_kill=is_kill)
    assert stable_offset(kafka_broker, kafka_topic) == 2
    producer.send(kafka_topic, texts("after"))
    assert stable_offset(kafka_broker, kafka_topic) == 2
    producer.commit()
    write(producer, kafka_topic, "next")
    expected = ["before", "after", "next"]
    assert values_of(open_driver(client, _COMMITTED).consume(kafka_topic, 3)) == expected


@members_with("is_kill", ("confluent", True), ("java", False))
def test_transaction_is_aborted_after_a_restart(
    kafka_broker: Broker,
    kafka_topic: str,
    group: str,
    open_transactor: OpenTransactor,
    open_driver: OpenDriver,
    client: str,
    is_kill: bool,
) -> None:
    partition = Partition(kafka_topic, 0)
    producer = open_transactor(client)
    producer.begin()
    producer.send(kafka_topic, texts("aborted"))
    producer.send_offsets({partition: Committed(3)}, group)
    _restart(kafka_broker, is_kill=is_kill)
    producer.abort()
    producer.begin()
    producer.send(kafka_topic, texts("committed"))
    producer.send_offsets({partition: Committed(9)}, group)
    _restart(kafka_broker, is_kill=is_kill)
    producer.commit()
    assert values_of(open_driver(client, _COMMITTED).consume(kafka_topic, 1)) == ["committed"]
    with RawClient(kafka_broker.port) as raw:
        until(lambda: committed_offset(raw, group, kafka_topic) == 9)


@both_ends
@pytest.mark.needs("confluent_kafka")
def test_zombie_is_still_fenced_after_a_restart(
    kafka_broker: Broker, kafka_topic: str, open_transactor: OpenTransactor, is_kill: bool
) -> None:
    zombie = open_transactor("confluent")
    zombie.begin()
    zombie.send(kafka_topic, texts("of the zombie"))
    successor = open_transactor("confluent")
    _restart(kafka_broker, is_kill=is_kill)
    with pytest.raises(ProducerFenced):
        zombie.commit()
    write(successor, kafka_topic, "of the successor")


@both_ends
@pytest.mark.needs("confluent_kafka")
def test_timeout_runs_on_over_a_restart(
    transactional_id: str, open_transactor: OpenTransactor, is_kill: bool
) -> None:
    with AdvancedBroker() as broker:
        broker.create_topic("orders")
        producer = open_transactor("confluent", broker=broker, timeout_ms=_TIMEOUT_MS)
        producer.begin()
        producer.send("orders", texts("lost"))
        producer.abandon()
        _restart(broker, is_kill=is_kill)
        until(lambda: _state(broker, transactional_id) == "Ongoing")
        assert stable_offset(broker, "orders") == 0
        broker.clock.ahead_ms = _TIMEOUT_MS
        _restart(broker, is_kill=is_kill)
        until(lambda: _state(broker, transactional_id) == "CompleteAbort")
        assert stable_offset(broker, "orders") == log_end(broker, "orders") == 2


def _cut_last_batch(log_dir: Path, partition: str) -> None:
    """As if the broker had died before it was written."""
    (segment,) = (log_dir / partition).glob("*.log")
    stored = segment.read_bytes()
    *_, (position, _) = iter_headers(stored)
    segment.write_bytes(stored[:position])


@members_with("is_commit", ("confluent", True), ("java", False))
@pytest.mark.parametrize("lost", ["markers", "a marker", "the end"])
def test_prepared_transaction_is_completed_after_a_crash(
    kafka_broker: Broker,
    kafka_topic: str,
    group: str,
    transactional_id: str,
    open_transactor: OpenTransactor,
    open_driver: OpenDriver,
    client: str,
    is_commit: bool,
    lost: str,
) -> None:
    """Prepared is decided: what is missing of markers is written when the coordinator has loaded."""
    producer = open_transactor(client)
    producer.begin()
    producer.send(kafka_topic, texts("record"))
    producer.send_offsets({Partition(kafka_topic, 0): Committed(7)}, group)
    producer.commit() if is_commit else producer.abort()
    complete = "CompleteCommit" if is_commit else "CompleteAbort"
    until(lambda: _state(kafka_broker, transactional_id) == complete)
    kafka_broker.kill()
    cut = {"markers": [f"{kafka_topic}-0", "__consumer_offsets-0"], "a marker": [f"{kafka_topic}-0"]}
    for partition in (f"{_STATE}-0", *cut.get(lost, ())):
        _cut_last_batch(kafka_broker.log_dir, partition)
    kafka_broker.start()
    wait_for_coordinator(kafka_broker.port, group)
    until(lambda: _state(kafka_broker, transactional_id) == complete)
    until(lambda: stable_offset(kafka_broker, kafka_topic) == log_end(kafka_broker, kafka_topic))
    with RawClient(kafka_broker.port) as raw:
        until(lambda: committed_offset(raw, group, kafka_topic) == (7 if is_commit else -1))
    write(producer, kafka_topic, "next")
    expected = ["record"] * is_commit + ["next"]
    assert values_of(open_driver(client, _COMMITTED).consume(kafka_topic, len(expected))) == expected
