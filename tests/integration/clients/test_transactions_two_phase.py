"""Two-phase commit for outside coordinators (KIP-939): what is prepared stays until it is decided.

The outside coordinator has the producer id and epoch of the prepared transaction in its own log; a process
that takes over gets the same two, and ends the transaction as its own log says. Apache Kafka 4.3 keeps no
transaction yet: these tests have a broker of their own.
"""

from collections.abc import Callable, Iterator
from datetime import timedelta

import pytest
from kio.schema.errors import ErrorCode
from tests.integration.clients.conftest import QUICK_TRANSACTIONS
from tests.integration.clients.drivers import Driver
from tests.integration.clients.drivers.java import JavaMachine
from tests.integration.clients.drivers.transaction_client import ProducerFenced, TransactionSettings
from tests.integration.clients.drivers.transaction_java import JavaTransactions
from tests.integration.clients.group_requests import committed_offset, wait_for_coordinator
from tests.integration.clients.messages import Settings
from tests.integration.clients.raw import RawClient
from tests.integration.clients.requests import list_offset
from tests.integration.clients.transaction_offsets import commit_in
from tests.integration.clients.transaction_requests import (
    COMMITTED,
    INIT_TWO_PHASE,
    Producer,
    described,
    end,
    init,
    keep,
    new_transactional_id,
    patiently,
    produce_in,
    start,
    start_two_phase,
    wait_for_state,
    wait_for_transaction_coordinator,
    wait_for_values,
)
from tests.integration.clients.transactions import texts, values_of, write

from barnabas.testing import Broker

_NO_TIMEOUT = timedelta(milliseconds=2**31 - 1)
_OPEN: dict[str, object] = {**QUICK_TRANSACTIONS, "transaction.two.phase.commit.enable": "true"}
either_end = pytest.mark.parametrize("commit", [True, False], ids=["commit", "abort"])


@pytest.fixture(scope="module")
def two_phase_broker() -> Iterator[Broker]:
    with Broker(process=True, config=_OPEN) as broker:
        yield broker


@pytest.fixture
def broker(two_phase_broker: Broker) -> Broker:
    return two_phase_broker.start()


@pytest.fixture
def client(broker: Broker) -> Iterator[RawClient]:
    with RawClient(broker.port) as connected:
        yield connected


@pytest.fixture
def name(request: pytest.FixtureRequest, broker: Broker) -> str:
    """A transactional id, and a topic of the same name."""
    name = new_transactional_id(request.node.name, broker.port)
    broker.create_topic(name)
    return name


def _restart(broker: Broker, name: str) -> None:
    broker.kill()
    broker.start()
    wait_for_transaction_coordinator(broker.port, name)


def _stable_offset(client: RawClient, topic: str) -> int:
    offset: int = list_offset(client, topic, isolation=COMMITTED).offset
    return offset


@either_end
def test_prepared_transaction_outlives_its_producer_and_the_broker(
    broker: Broker, name: str, commit: bool
) -> None:
    wait_for_coordinator(broker.port, name)
    with RawClient(broker.port) as client:
        first = start_two_phase(client, name)
        assert produce_in(client, first, name, b"one", b"two").error_code == 0
        assert set(commit_in(client, first, name, {(name, 0): 7}).values()) == {ErrorCode.none}
    _restart(broker, name)
    with RawClient(broker.port) as client:
        kept = keep(client, name)
        assert kept.error_code == 0
        assert (kept.ongoing_txn_producer_id, kept.ongoing_txn_producer_epoch) == (first.id, first.epoch)
        second = Producer(name, kept.producer_id, kept.producer_epoch)
    _restart(broker, name)
    with RawClient(broker.port) as client:
        assert described(client, name).transaction_state == "Ongoing"
        assert _stable_offset(client, name) == 0
        ended = patiently(lambda: end(client, second, commit=commit))
        assert ended.error_code == 0
        wait_for_values(client, name, [b"one", b"two"] if commit else [])
        wait_for_state(client, second, "CompleteCommit" if commit else "CompleteAbort")
        wait_for_coordinator(broker.port, name)
        assert committed_offset(client, name, name) == (7 if commit else -1)
        third = Producer(name, ended.producer_id, ended.producer_epoch)
        assert produce_in(client, third, name, b"next").error_code == 0
        assert end(client, third).error_code == 0


@either_end
def test_end_that_is_repeated_over_a_restart_gets_the_same_answer(
    broker: Broker, name: str, commit: bool
) -> None:
    with RawClient(broker.port) as client:
        produce_in(client, start_two_phase(client, name), name, b"value")
        kept = keep(client, name)
        second = Producer(name, kept.producer_id, kept.producer_epoch)
        first_answer = end(client, second, commit=commit)
        assert first_answer.error_code == 0
    _restart(broker, name)
    with RawClient(broker.port) as client:
        assert patiently(lambda: end(client, second, commit=commit)) == first_answer
        other = patiently(lambda: end(client, second, commit=not commit))
        assert other.error_code == ErrorCode.invalid_txn_state


def test_only_who_has_taken_over_ends_it(client: RawClient, name: str) -> None:
    first = start_two_phase(client, name)
    produce_in(client, first, name, b"value")
    answers = [keep(client, name) for _ in range(2)]
    assert {each.ongoing_txn_producer_epoch for each in answers} == {first.epoch}
    second, third = (Producer(name, each.producer_id, each.producer_epoch) for each in answers)
    for zombie in (first, second):
        assert end(client, zombie).error_code == ErrorCode.producer_fenced
    assert described(client, name).transaction_state == "Ongoing"
    assert end(client, third).error_code == 0
    wait_for_values(client, name, [b"value"])


def test_kept_transaction_takes_no_more_records(client: RawClient, name: str) -> None:
    produce_in(client, start_two_phase(client, name), name, b"value")
    kept = keep(client, name)
    second = Producer(name, kept.producer_id, kept.producer_epoch)
    assert produce_in(client, second, name, b"more").error_code == ErrorCode.invalid_txn_state
    assert end(client, second).error_code == 0
    wait_for_values(client, name, [b"value"])


def test_without_a_transaction_there_is_nothing_to_keep(client: RawClient, name: str) -> None:
    answers = [keep(client, name) for _ in range(2)]
    for epoch, kept in enumerate(answers):
        assert (kept.error_code, kept.producer_epoch) == (ErrorCode.none, epoch)
        assert (kept.ongoing_txn_producer_id, kept.ongoing_txn_producer_epoch) == (-1, -1)
    kept = answers[-1]
    producer = Producer(name, kept.producer_id, kept.producer_epoch)
    assert produce_in(client, producer, name, b"value").error_code == 0
    assert end(client, producer).error_code == 0
    wait_for_values(client, name, [b"value"])


@pytest.mark.parametrize(
    "options", [{"version": INIT_TWO_PHASE, "two_phase": True}, {"version": INIT_TWO_PHASE}, {"version": 5}]
)
def test_who_does_not_keep_aborts(client: RawClient, name: str, options: dict[str, object]) -> None:
    first = start_two_phase(client, name)
    produce_in(client, first, name, b"value")
    assert init(client, name, **options).error_code == ErrorCode.concurrent_transactions
    second = start(client, name, **options)
    assert second.epoch > first.epoch
    wait_for_values(client, name, [])
    assert end(client, first).error_code == ErrorCode.producer_fenced


def test_no_timeout_ends_it(broker: Broker, client: RawClient, name: str) -> None:
    first = start_two_phase(client, name, timeout=50)
    other = new_transactional_id("with-a-timeout", broker.port)
    for producer in (first, start(client, other, version=INIT_TWO_PHASE, timeout=2000)):
        assert produce_in(client, producer, name, b"value").error_code == 0
    wait_for_state(client, Producer(other, 0, 0), "CompleteAbort")
    found = described(client, name)
    assert (found.transaction_state, found.transaction_timeout) == ("Ongoing", _NO_TIMEOUT)
    assert end(client, first).error_code == 0


def test_what_is_not_a_producer_of_two_phases_keeps_its_timeout(client: RawClient, name: str) -> None:
    """Keeping does not need two phases: then the outside coordinator has as long as the timeout is."""
    first = start(client, name, version=INIT_TWO_PHASE, timeout=4000)
    produce_in(client, first, name, b"value")
    kept = patiently(lambda: init(client, name, version=INIT_TWO_PHASE, keep=True))
    assert (kept.ongoing_txn_producer_id, kept.ongoing_txn_producer_epoch) == (first.id, first.epoch)
    wait_for_state(client, first, "CompleteAbort")
    wait_for_values(client, name, [])


# --- Java's client ------------------------------------------------------------------------------------------


@pytest.fixture
def open_java(
    java_machine: JavaMachine, broker: Broker, name: str
) -> Iterator[Callable[[], JavaTransactions]]:
    """A producer of Java's client, not initialised; abandoned after the test."""
    producers: list[JavaTransactions] = []

    def new() -> JavaTransactions:
        settings = TransactionSettings(name, is_two_phase=True)
        producers.append(JavaTransactions(java_machine, broker.bootstrap_servers, settings))
        return producers[-1]

    yield new
    for producer in producers:
        producer.abandon()


@pytest.mark.needs("java", "javac", "maven")
@either_end
def test_java_client_ends_what_another_one_has_prepared(
    broker: Broker,
    name: str,
    open_java: Callable[[], JavaTransactions],
    open_driver: Callable[..., Driver],
    commit: bool,
) -> None:
    first = open_java()
    assert first.init_two_phase(keep=False) == "-1:-1"
    first.begin()
    first.send(name, texts("one", "two"))
    prepared = first.prepare()
    first.abandon()
    _restart(broker, name)
    second = open_java()
    assert second.init_two_phase(keep=True) == prepared
    second.commit() if commit else second.abort()
    write(second, name, "three")
    expected = ["one", "two", "three"] if commit else ["three"]
    reader = open_driver("java", Settings(reads_committed=True), broker)
    assert values_of(reader.consume(name, len(expected))) == expected


@pytest.mark.needs("java", "javac", "maven")
def test_java_client_that_does_not_keep_aborts(
    broker: Broker, name: str, open_java: Callable[[], JavaTransactions]
) -> None:
    first = open_java()
    first.init_two_phase(keep=False)
    first.begin()
    first.send(name, texts("one"))
    first.prepare()
    second = open_java()
    assert second.init_two_phase(keep=False) == "-1:-1"
    with pytest.raises(ProducerFenced):
        first.commit()
    write(second, name, "two")


# --- brokers that do not allow it ---------------------------------------------------------------------------


def test_two_phase_commit_must_be_allowed(request: pytest.FixtureRequest) -> None:
    with Broker(process=True, config={"unstable.api.versions.enable": "true"}) as broker:
        name = new_transactional_id(request.node.name, broker.port)
        with RawClient(broker.port) as client:
            refused = init(client, name, version=INIT_TWO_PHASE, two_phase=True)
            assert refused.error_code == ErrorCode.transactional_id_authorization_failed
            refused = init(client, name, version=INIT_TWO_PHASE, keep=True)
            assert refused.error_code == ErrorCode.unsupported_version
            assert init(client, name, version=INIT_TWO_PHASE).error_code == 0


def test_version_6_is_closed_by_default(kafka_broker: Broker) -> None:
    with RawClient(kafka_broker.port) as client:
        fields = {"transactional_id": "closed", "transaction_timeout": 1000}
        client.send("init_producer_id", INIT_TWO_PHASE, **fields)
        assert client.is_closed_by_the_broker()
