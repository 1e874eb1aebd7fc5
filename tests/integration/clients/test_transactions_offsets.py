"""Consume, transform, produce: offsets that are committed with the output, or not at all."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.integration.clients.clients import every_transactor, some_members
from tests.integration.clients.drivers import Driver
from tests.integration.clients.drivers.group_client import Committed, Partition
from tests.integration.clients.drivers.member import Member, until
from tests.integration.clients.drivers.transaction_client import TransactionalProducer, TransactionFailed
from tests.integration.clients.group_records import fill
from tests.integration.clients.group_requests import committed_offset, fetch_offsets
from tests.integration.clients.messages import Settings
from tests.integration.clients.raw import RawClient
from tests.integration.clients.transactions import stable_offset, texts, values_of, write
from tests.patience import PROGRAM_PATIENCE

from barnabas.testing import Broker

OpenDriver = Callable[..., Driver]
OpenMember = Callable[..., Member]
OpenTransactor = Callable[..., TransactionalProducer]
_COMMITTED = Settings(reads_committed=True)
_ROOT = Path(__file__).parents[3]
_CRASHED = 9
_UNSTABLE_OFFSET_COMMIT = 88


def _offset(broker: Broker, group: str, topic: str) -> int:
    with RawClient(broker.port) as client:
        return committed_offset(client, group, topic)


def _stable_code(broker: Broker, group: str, topic: str) -> int:
    """The error of an OffsetFetch that wants nothing pending."""
    with RawClient(broker.port) as client:
        found = fetch_offsets(client, group, {topic: [0]}, stable=True)
    code: int = found.topics[0].partitions[0].error_code
    return code


@every_transactor
def test_output_and_offsets_are_committed_together(
    kafka_broker: Broker,
    kafka_topic: str,
    group: str,
    open_member: OpenMember,
    open_transactor: OpenTransactor,
    open_driver: OpenDriver,
    client: str,
) -> None:
    output = f"{kafka_topic}-output"
    kafka_broker.create_topic(output)
    fill(kafka_broker, kafka_topic, partitions=1, each=5)
    partition = Partition(kafka_topic, 0)
    member, producer = open_member(client, kafka_topic), open_transactor(client)
    until(lambda: len(member.received) == 5, member)
    membership = member.do(lambda each: each.membership())
    producer.begin()
    producer.send(output, texts(*(f"aborted {value.decode()}" for value in member.values)))
    producer.send_offsets({partition: Committed(5)}, membership)
    assert _offset(kafka_broker, group, kafka_topic) == -1
    assert _stable_code(kafka_broker, group, kafka_topic) == _UNSTABLE_OFFSET_COMMIT
    producer.abort()
    until(lambda: _stable_code(kafka_broker, group, kafka_topic) == 0)
    assert _offset(kafka_broker, group, kafka_topic) == -1
    producer.begin()
    producer.send(output, texts(*(f"seen {value.decode()}" for value in member.values)))
    producer.send_offsets({partition: Committed(3)}, membership)
    producer.send_offsets({partition: Committed(5, "all of them")}, membership)  # the last one counts
    assert stable_offset(kafka_broker, output) == 6
    producer.commit()
    until(lambda: _stable_code(kafka_broker, group, kafka_topic) == 0)
    assert _offset(kafka_broker, group, kafka_topic) == 5
    assert member.do(lambda each: each.committed([partition]))[partition] == (
        Committed(5) if client == "aiokafka" else Committed(5, "all of them")
    )
    expected = [f"seen 0:{number}" for number in range(5)]
    assert values_of(open_driver(client, _COMMITTED).consume(output, 5)) == expected


@every_transactor
def test_transaction_of_offsets_alone(
    kafka_broker: Broker, kafka_topic: str, group: str, open_transactor: OpenTransactor, client: str
) -> None:
    partition = Partition(kafka_topic, 0)
    producer = open_transactor(client)
    for offset, is_commit in ((4, True), (8, False), (6, True)):
        producer.begin()
        producer.send_offsets({partition: Committed(offset)}, group)
        producer.commit() if is_commit else producer.abort()
    until(lambda: _stable_code(kafka_broker, group, kafka_topic) == 0)
    assert _offset(kafka_broker, group, kafka_topic) == 6


@some_members("confluent", "kafka-python", "java", "confluent-new", "java-new")
def test_offsets_of_a_member_that_left_are_refused(
    kafka_broker: Broker,
    kafka_topic: str,
    group: str,
    open_member: OpenMember,
    open_transactor: OpenTransactor,
    client: str,
) -> None:
    """KIP-447: the producer's id is another one for each process, so it is the group that fences."""
    fill(kafka_broker, kafka_topic, partitions=1, each=2)
    member, producer = open_member(client, kafka_topic), open_transactor(client.removesuffix("-new"))
    until(lambda: len(member.received) == 2, member)
    membership = member.do(lambda each: each.membership())
    member.close()
    successor = open_member(client, kafka_topic)
    until(lambda: successor.owned, successor)
    producer.begin()
    with pytest.raises(TransactionFailed):
        producer.send_offsets({Partition(kafka_topic, 0): Committed(2)}, membership)
    producer.abort()
    assert _offset(kafka_broker, group, kafka_topic) == -1
    write(producer, kafka_topic, "goes on")


@pytest.mark.needs("confluent_kafka")
@pytest.mark.parametrize("protocol", ["classic", "consumer"])
@pytest.mark.kafka_topic(partitions=2)
def test_crashes_in_the_loop_lose_and_repeat_nothing(
    kafka_broker: Broker, kafka_topic: str, group: str, open_driver: OpenDriver, protocol: str
) -> None:
    """`drivers/transformer.py` crashes where it hurts; the next one, of the same id, goes on."""
    output = f"{kafka_topic}-output"
    kafka_broker.create_topic(output)
    sent = fill(kafka_broker, kafka_topic, partitions=2, each=10)
    words = [kafka_broker.bootstrap_servers, group, kafka_topic, output, protocol]
    command = [sys.executable, "-m", "tests.integration.clients.drivers.transformer", *words]
    for crash, code in (("5:sent", _CRASHED), ("5:offsets", _CRASHED), ("never", 0)):
        done = subprocess.run([*command, crash], cwd=_ROOT, timeout=PROGRAM_PATIENCE, check=False)
        assert done.returncode == code
    received = open_driver("confluent", _COMMITTED).consume(output, len(sent))
    assert sorted(values_of(received)) == sorted(value.decode() for value in sent)
    until(lambda: _offset(kafka_broker, group, kafka_topic) == 10)
