"""One producer for a transactional id: the newest. Earlier ones write nothing more to the log."""

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


@every_transactor
def test_zombie_cannot_commit_what_it_has_sent(
    kafka_broker: Broker,
    kafka_topic: str,
    open_transactor: OpenTransactor,
    open_driver: OpenDriver,
    client: str,
) -> None:
    zombie = open_transactor(client)
    write(zombie, kafka_topic, "first")
    zombie.begin()
    zombie.send(kafka_topic, texts("of the zombie"))
    successor = open_transactor(client)  # its transaction is aborted before this returns
    until(lambda: stable_offset(kafka_broker, kafka_topic) == 4)
    with pytest.raises(ProducerFenced):
        zombie.commit()
    write(successor, kafka_topic, "of the successor")
    reader = open_driver(client, _COMMITTED)
    assert values_of(reader.consume(kafka_topic, 2)) == ["first", "of the successor"]


# With Apache Kafka not kafka-python: it asks for a new epoch then, with the old one, and that ends the
# transaction of the successor there.
@some_members("confluent", "kafka-python", "aiokafka", "java")
def test_zombie_cannot_send(
    kafka_broker: Broker,
    kafka_topic: str,
    open_transactor: OpenTransactor,
    open_driver: OpenDriver,
    client: str,
) -> None:
    zombie = open_transactor(client)
    zombie.begin()
    zombie.send(kafka_topic, texts("of the zombie"))
    successor = open_transactor(client)
    successor.begin()
    successor.send(kafka_topic, texts("of the successor"))
    end = log_end(kafka_broker, kafka_topic)
    with pytest.raises(TransactionFailed):
        zombie.send(kafka_topic, texts("again of the zombie"))
    with pytest.raises(ProducerFenced):
        zombie.abort()
    assert log_end(kafka_broker, kafka_topic) == end
    successor.commit()
    assert values_of(open_driver(client, _COMMITTED).consume(kafka_topic, 1)) == ["of the successor"]


@every_transactor
def test_idle_zombie_cannot_write(kafka_topic: str, open_transactor: OpenTransactor, client: str) -> None:
    zombie = open_transactor(client)
    open_transactor(client)
    with pytest.raises(ProducerFenced):  # when it sends, or at the latest when it commits
        write(zombie, kafka_topic, "of the zombie")


@every_transactor
def test_zombie_cannot_move_offsets(
    kafka_broker: Broker, kafka_topic: str, group: str, open_transactor: OpenTransactor, client: str
) -> None:
    partition = Partition(kafka_topic, 0)
    zombie = open_transactor(client)
    zombie.begin()
    zombie.send_offsets({partition: Committed(1)}, group)
    successor = open_transactor(client)
    with pytest.raises(ProducerFenced):
        zombie.commit()
    successor.begin()
    successor.send_offsets({partition: Committed(7)}, group)
    successor.commit()
    with RawClient(kafka_broker.port) as raw:
        until(lambda: committed_offset(raw, group, kafka_topic) == 7)


@some_members("confluent", "aiokafka")
def test_killed_producer_is_taken_over_at_once(
    kafka_broker: Broker,
    kafka_topic: str,
    transactional_id: str,
    open_transactor: OpenTransactor,
    open_driver: OpenDriver,
    client: str,
) -> None:
    settings = TransactionSettings(transactional_id)
    send_and_die(client, kafka_broker.bootstrap_servers, settings, kafka_topic, ["lost 1", "lost 2"])
    assert (stable_offset(kafka_broker, kafka_topic), log_end(kafka_broker, kafka_topic)) == (0, 2)
    assert described(kafka_broker, transactional_id).transaction_state == "Ongoing"
    producer = open_transactor(client)
    write(producer, kafka_topic, "mine")
    assert values_of(open_driver(client, _COMMITTED).consume(kafka_topic, 1)) == ["mine"]
    assert values_of(open_driver(client).consume(kafka_topic, 2)) == ["lost 1", "lost 2"]


@pytest.mark.needs("confluent_kafka", "java", "javac", "maven")
def test_clients_of_both_versions_fence_each_other(
    kafka_topic: str, open_transactor: OpenTransactor, open_driver: OpenDriver
) -> None:
    producers = [open_transactor("confluent")]
    for name in ("java", "confluent", "java"):
        producers[-1].begin()
        producers[-1].send(kafka_topic, texts("left open"))
        producers.append(open_transactor(name))
    for zombie in producers[:-1]:
        with pytest.raises(ProducerFenced):
            zombie.commit()
    write(producers[-1], kafka_topic, "done")
    assert values_of(open_driver("java", _COMMITTED).consume(kafka_topic, 1)) == ["done"]
