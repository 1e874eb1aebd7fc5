"""Transactions that no producer ends in time: the broker aborts them."""

import time
from collections.abc import Callable

import pytest
from tests.integration.clients.clients import every_transactor, some_members
from tests.integration.clients.drivers import Driver
from tests.integration.clients.drivers.group_client import Committed, Partition
from tests.integration.clients.drivers.member import until
from tests.integration.clients.drivers.transaction_child import send_and_die
from tests.integration.clients.drivers.transaction_client import (
    ProducerFenced,
    TransactionalProducer,
    TransactionFailed,
    TransactionSettings,
)
from tests.integration.clients.group_requests import committed_offset
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

from barnabas.testing import Broker

OpenDriver = Callable[..., Driver]
OpenTransactor = Callable[..., TransactionalProducer]
_COMMITTED = Settings(reads_committed=True)
_MAX_TIMEOUT_MS = 900_000
"""Of a transaction, if the broker's setting is the default."""


@some_members("kafka-python")
def test_transaction_of_a_killed_producer_is_aborted_after_its_timeout(
    kafka_broker: Broker, kafka_topic: str, transactional_id: str, open_driver: OpenDriver, client: str
) -> None:
    settings = TransactionSettings(transactional_id, timeout_ms=1500)
    begun = time.monotonic()
    send_and_die(client, kafka_broker.bootstrap_servers, settings, kafka_topic, ["lost"])
    open_driver(client).produce(kafka_topic, texts("plain"))
    until(lambda: stable_offset(kafka_broker, kafka_topic) == 3)
    assert time.monotonic() - begun > 1.5
    until(lambda: described(kafka_broker, transactional_id).transaction_state == "CompleteAbort")
    assert values_of(open_driver(client, _COMMITTED).consume(kafka_topic, 1)) == ["plain"]


@every_transactor
def test_slow_producer_cannot_commit_but_its_successor_can(
    kafka_broker: Broker,
    kafka_topic: str,
    open_transactor: OpenTransactor,
    open_driver: OpenDriver,
    client: str,
) -> None:
    slow = open_transactor(client, timeout_ms=2500)
    slow.begin()
    slow.send(kafka_topic, texts("too late"))
    until(lambda: stable_offset(kafka_broker, kafka_topic) == log_end(kafka_broker, kafka_topic) == 2)
    with pytest.raises(TransactionFailed):
        slow.commit()
    write(open_transactor(client), kafka_topic, "in time")
    assert values_of(open_driver(client, _COMMITTED).consume(kafka_topic, 1)) == ["in time"]


@every_transactor
def test_offsets_of_a_transaction_that_ran_out_of_time_are_forgotten(
    kafka_broker: Broker,
    kafka_topic: str,
    group: str,
    transactional_id: str,
    open_transactor: OpenTransactor,
    client: str,
) -> None:
    producer = open_transactor(client, timeout_ms=2500)
    producer.begin()
    producer.send_offsets({Partition(kafka_topic, 0): Committed(5)}, group)
    producer.abandon()
    until(lambda: described(kafka_broker, transactional_id).transaction_state == "CompleteAbort")
    with RawClient(kafka_broker.port) as raw:
        assert committed_offset(raw, group, kafka_topic) == -1


@every_transactor
def test_timeout_beyond_the_limit_is_refused(open_transactor: OpenTransactor, client: str) -> None:
    open_transactor(client, timeout_ms=_MAX_TIMEOUT_MS)
    with pytest.raises(TransactionFailed) as refused:
        open_transactor(client, timeout_ms=_MAX_TIMEOUT_MS + 1)
    assert not isinstance(refused.value, ProducerFenced)
