"""kafka-transactions, `barnabas transaction`: at our broker and at Apache Kafka's."""

import json
import uuid
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from benchmarks.processes import BrokerProcess
from confluent_kafka import KafkaException, Producer
from kio.schema.errors import ErrorCode
from tests.integration.clients.messages import now_ms
from tests.integration.clients.raw import RawClient
from tests.integration.clients.requests import PRODUCE_BY_NAME, batch, produce_fields
from tests.integration.clients.transaction_requests import (
    Producer as Identity,
)
from tests.integration.clients.transaction_requests import (
    described,
    end,
    keep,
    new_transactional_id,
    produce_in,
    start_two_phase,
    wait_for_values,
)
from tests.integration.tools.programs import Ran, run_inside
from tests.integration.tools.waiting import until

from barnabas.testing import Broker


def _transactions(broker: Broker | BrokerProcess, *words: str) -> Ran:
    return run_inside("kafka-transactions", "--bootstrap-server", broker.bootstrap_servers, *words)


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.split("\t")[:-1]]


# --- our broker --------------------------------------------------------------------------------------


def test_idempotent_producer_is_described(barnabas_broker: Broker) -> None:
    topic = f"producers-{uuid.uuid4().hex}"
    barnabas_broker.create_topic(topic)
    producer = Producer({"bootstrap.servers": barnabas_broker.bootstrap_servers, "enable.idempotence": True})
    for number in range(3):
        producer.produce(topic, str(number))
    producer.flush()
    ran = _transactions(barnabas_broker, "describe-producers", "--topic", topic, "--partition", "0")
    assert (ran.code, ran.stderr) == (0, "")
    head, row = map(_cells, ran.lines)
    found = dict(zip(head, row, strict=True))
    assert found["ProducerEpoch"] == "0"
    assert found["LatestCoordinatorEpoch"] == "-1"
    assert found["LastSequence"] == "2"
    assert found["CurrentTransactionStartOffset"] == "None"
    words = ("transaction", "producers", topic, "0", "--json", "-b", barnabas_broker.bootstrap_servers)
    (value,) = json.loads(run_inside("barnabas", *words).stdout)
    assert str(value["producer_id"]) == found["ProducerId"]
    assert value["last_sequence"] == 2


def test_transactions_are_listed(barnabas_broker: Broker) -> None:
    ran = _transactions(barnabas_broker, "list")
    assert (ran.stderr, ran.code) == ("", 0)
    assert _cells(ran.lines[0]) == ["TransactionalId", "Coordinator", "ProducerId", "TransactionState"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("describe-producers", "--topic", "absent", "--partition", "0"),
            (
                "Failed to describe producers for partition absent-0 on leader: Failed to fetch metadata for "
                "partition absent-0 because metadata for topic `absent` could not be found\n"
            ),
        ),
        (
            ("describe-producers", "--topic", "absent", "--partition", "0", "--broker-id", "9"),
            (
                "Failed to describe producers for partition absent-0 on broker 9: The cluster has no broker "
                "9 (it has 1)\n"
            ),
        ),
    ],
)
def test_failures_are_one_line(barnabas_broker: Broker, words: tuple[str, ...], message: str) -> None:
    ran = _transactions(barnabas_broker, *words)
    assert (ran.code, ran.stdout, ran.stderr) == (1, "", message)


def test_unreachable_broker_is_reported_in_one_line() -> None:
    ran = run_inside("kafka-transactions", "--bootstrap-server", "127.0.0.1:1", "list")
    assert (ran.code, ran.stdout) == (1, "")
    assert ran.stderr.startswith("Failed to list transactions: No broker answers (127.0.0.1:1: connection")
    assert ran.stderr.count("\n") == 1


# --- both brokers ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Open:
    """A hanging transaction."""

    id: str
    topic: str
    producer: Producer


@pytest.fixture(
    params=[
        "barnabas_broker",
        pytest.param("apache_broker", marks=[pytest.mark.maven, pytest.mark.needs("javac", "apache-kafka")]),
    ]
)
def either_broker(request: pytest.FixtureRequest) -> Broker | BrokerProcess:
    broker: Broker | BrokerProcess = request.getfixturevalue(request.param)
    return broker


@pytest.fixture
def opened(either_broker: Broker | BrokerProcess) -> Iterator[_Open]:
    name = f"t-{uuid.uuid4().hex}"
    bootstrap = ("--bootstrap-server", either_broker.bootstrap_servers)
    run_inside("kafka-topics", *bootstrap, "--create", "--topic", name)
    producer = Producer(
        {
            "bootstrap.servers": either_broker.bootstrap_servers,
            "transactional.id": name,
            "logger": _Silent(),
        }
    )
    producer.init_transactions(30.0)
    producer.begin_transaction()
    producer.produce(name, b"x")
    producer.flush()
    yield _Open(name, name, producer)
    run_inside("kafka-transactions", *bootstrap, "forceTerminateTransaction", "--transactionalId", name)
    run_inside("kafka-topics", *bootstrap, "--delete", "--topic", name)


class _Silent:
    """librdkafka's log is no part of the test."""

    def log(self, *arguments: object) -> None:
        pass


def test_open_transaction_is_listed_and_described(
    either_broker: Broker | BrokerProcess, opened: _Open
) -> None:
    ran = _transactions(either_broker, "list", "--transactional-id-pattern", opened.id)
    assert ran.code == 0
    (row,) = map(_cells, ran.lines[1:])
    producer_id = row[2]
    assert row == [opened.id, "1", producer_id, "Ongoing"]
    ran = _transactions(either_broker, "describe", "--transactional-id", opened.id)
    head, row = map(_cells, ran.lines)
    found = dict(zip(head, row, strict=True))
    assert found["ProducerId"] == producer_id
    assert found["TransactionState"] == "Ongoing"
    assert found["TransactionTimeoutMs"] == "60000"
    assert 0 <= int(found["TransactionDurationMs"]) < 60_000
    assert found["TopicPartitions"] == f"{opened.topic}-0"
    ran = _transactions(either_broker, "describe-producers", "--topic", opened.topic, "--partition", "0")
    assert _cells(ran.lines[1])[-1] == "0"


def test_open_transaction_of_a_known_producer_does_not_hang(
    either_broker: Broker | BrokerProcess, opened: _Open
) -> None:
    words = ("find-hanging", "--topic", opened.topic, "--max-transaction-timeout", "0")
    ran = _transactions(either_broker, *words)
    assert (ran.code, len(ran.lines)) == (0, 1)


def test_marker_ends_what_a_partition_waits_for(either_broker: Broker | BrokerProcess, opened: _Open) -> None:
    partition = ("--topic", opened.topic, "--partition", "0")
    ran = _transactions(either_broker, "abort", *partition, "--start-offset", "0")
    assert (ran.code, ran.stdout, ran.stderr) == (0, "", "")
    ran = _transactions(either_broker, "describe-producers", *partition)
    assert _cells(ran.lines[1])[-1] == "None"
    ran = _transactions(either_broker, "abort", *partition, "--start-offset", "0")
    assert ran.code == 1
    assert ran.stderr == (
        f"Could not find any open transactions starting at offset 0 on partition {opened.topic}-0\n"
    )


def test_forced_end_fences_the_producer(either_broker: Broker | BrokerProcess, opened: _Open) -> None:
    ran = _transactions(either_broker, "forceTerminateTransaction", "--transactionalId", opened.id)
    assert (ran.code, ran.stdout, ran.stderr) == (0, "", "")
    with pytest.raises(KafkaException):
        opened.producer.commit_transaction(10.0)
    ran = _transactions(either_broker, "describe", "--transactional-id", opened.id)
    assert _cells(ran.lines[1])[5:] == ["30000", "None", "None", ""]


def test_transactions_for_people(either_broker: Broker | BrokerProcess, opened: _Open) -> None:
    where = ("-b", either_broker.bootstrap_servers)
    words = ("list", "--state", "Ongoing", "--id-pattern", opened.id, "--json")
    (value,) = json.loads(run_inside("barnabas", "transaction", *words, *where).stdout)
    assert (value["transactional_id"], value["state"]) == (opened.id, "Ongoing")
    (value,) = json.loads(
        run_inside("barnabas", "transaction", "describe", opened.id, "--json", *where).stdout
    )
    assert value["partitions"] == [f"{opened.topic}-0"]
    ran = run_inside("barnabas", "transaction", "abort", "--id", opened.id, "--yes", *where)
    assert (ran.code, ran.stdout) == (0, f"Aborted the transaction of {opened.id}\n")
    ran = until(
        lambda: run_inside("barnabas", "transaction", *words, *where), lambda ran: ran.stdout == "[]\n"
    )
    assert ran.stdout == "[]\n"


# --- of two phases -----------------------------------------------------------------------------------


def test_prepared_transaction_of_a_dead_engine_is_ended() -> None:
    """It has no timeout (KIP-939): an operator has to end it."""
    with Broker(process=True, config={"transaction.two.phase.commit.enable": True}) as broker:
        name = new_transactional_id("prepared", broker.port)
        broker.create_topic(name)
        with RawClient(broker.port) as client:
            producer = start_two_phase(client, name)
            assert produce_in(client, producer, name, b"value").error_code == 0
            kept = keep(client, name)
            assert kept.error_code == 0
            assert described(client, name).transaction_state == "Ongoing"
            assert "2147483647" in _transactions(broker, "describe", "--transactional-id", name).stdout
            ran = _transactions(broker, "forceTerminateTransaction", "--transactionalId", name)
            assert (ran.code, ran.stdout, ran.stderr) == (0, "", "")
            assert described(client, name).transaction_state == "Empty"
            wait_for_values(client, name, [])
            engine = Identity(name, kept.producer_id, kept.producer_epoch)
            assert end(client, engine).error_code == ErrorCode.producer_fenced


# --- one that hangs ----------------------------------------------------------------------------------


def test_transaction_that_no_coordinator_knows_is_found_and_ended() -> None:
    """As producers could leave them behind before partitions were verified (KIP-890)."""
    with Broker(process=True, config={"transaction.partition.verification.enable": False}) as broker:
        broker.create_topic("hung")
        with RawClient(broker.port) as client:
            records = batch(
                b"x",
                timestamp=now_ms() - 3 * 60_000,
                producer_id=4711,
                producer_epoch=0,
                base_sequence=0,
                transactional=True,
            )
            fields = produce_fields("hung", records) | {"transactional_id": "unknown"}
            answer = client.call("produce", PRODUCE_BY_NAME, **fields)
            assert answer.responses[0].partition_responses[0].error_code == 0
        search = ("find-hanging", "--topic", "hung", "--max-transaction-timeout", "1")
        head, row = map(_cells, _transactions(broker, *search).lines)
        found = dict(zip(head, row, strict=True))
        assert (found["Topic"], found["Partition"], found["StartOffset"]) == ("hung", "0", "0")
        assert found["ProducerId"] == "4711"
        partition = ("--topic", "hung", "--partition", "0", "--start-offset", "0")
        ran = _transactions(broker, "abort", *partition)
        assert (ran.code, ran.stdout, ran.stderr) == (0, "", "")
        assert len(_transactions(broker, *search).lines) == 1
