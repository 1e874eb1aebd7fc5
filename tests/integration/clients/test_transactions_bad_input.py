"""Transactional requests that are wrong: Kafka's error code, and nothing has changed."""

from collections.abc import Iterator

import pytest
from kio.schema.errors import ErrorCode
from tests.integration.clients.raw import RawClient
from tests.integration.clients.requests import end_offset
from tests.integration.clients.transaction_requests import (
    END_WITHOUT_BUMP,
    Producer,
    add,
    add_offsets,
    add_several,
    codes_of,
    described,
    end,
    init,
    listed,
    new_transactional_id,
    patiently,
    produce_in,
    start,
    transaction_of,
    wait_for_state,
    wait_for_values,
    write_markers,
)

from barnabas.testing import Broker


@pytest.fixture
def client(kafka_broker: Broker) -> Iterator[RawClient]:
    with RawClient(kafka_broker.port) as connected:
        yield connected


@pytest.fixture
def name(request: pytest.FixtureRequest, kafka_broker: Broker) -> str:
    return new_transactional_id(request.node.name, kafka_broker.port)


# --- what is wrong: InitProducerId -------------------------------------------------------------------------


@pytest.mark.parametrize("timeout", [0, -1, 900_001])
def test_a_timeout_out_of_bounds_is_refused(client: RawClient, name: str, timeout: int) -> None:
    answer = init(client, name, timeout=timeout)
    assert (answer.error_code, answer.producer_id, answer.producer_epoch) == (
        ErrorCode.invalid_transaction_timeout,
        -1,
        -1,
    )
    assert described(client, name).error_code == ErrorCode.transactional_id_not_found


def test_an_empty_transactional_id_is_refused(client: RawClient, name: str, kafka_topic: str) -> None:
    nameless = Producer("", 1, 0)
    assert init(client, "").error_code == ErrorCode.invalid_request
    assert add(client, nameless, {kafka_topic: [0]}) == {(kafka_topic, 0): ErrorCode.invalid_request}
    assert add_offsets(client, nameless, "group") == ErrorCode.invalid_request
    assert end(client, nameless).error_code == ErrorCode.invalid_request
    assert described(client, "").error_code == ErrorCode.invalid_request


def test_half_a_producer_is_refused(client: RawClient, name: str) -> None:
    assert init(client, name, producer_id=4).error_code == ErrorCode.invalid_request
    assert init(client, name, producer_epoch=4).error_code == ErrorCode.invalid_request


@pytest.mark.parametrize(("version", "code"), [(3, "invalid_producer_epoch"), (4, "producer_fenced")])
def test_a_producer_that_was_replaced_cannot_raise_its_epoch(
    client: RawClient, name: str, version: int, code: str
) -> None:
    old = start(client, name)
    start(client, name)
    start(client, name)
    answer = init(client, name, producer_id=old.id, producer_epoch=old.epoch, version=version)
    assert answer.error_code == ErrorCode[code]
    assert described(client, name).producer_epoch == old.epoch + 2


def test_another_producer_id_is_fenced(client: RawClient, name: str) -> None:
    old = start(client, name)
    answer = init(client, name, producer_id=old.id + 1, producer_epoch=old.epoch)
    assert answer.error_code == ErrorCode.producer_fenced


def test_a_new_producer_aborts_what_the_old_one_left_open(
    client: RawClient, kafka_topic: str, name: str
) -> None:
    old = start(client, name)
    assert produce_in(client, old, kafka_topic, b"left").error_code == ErrorCode.none
    assert init(client, name).error_code == ErrorCode.concurrent_transactions
    new = start(client, name)
    assert (new.id, new.epoch > old.epoch) == (old.id, True)
    wait_for_values(client, kafka_topic, [])
    assert end(client, old).error_code == ErrorCode.producer_fenced
    assert produce_in(client, old, kafka_topic, b"late", sequence=1).error_code in (
        ErrorCode.invalid_producer_epoch,
        ErrorCode.producer_fenced,
    )


# --- what is wrong: AddPartitionsToTxn and AddOffsetsToTxn -------------------------------------------------


@pytest.mark.kafka_topic(partitions=2)
def test_a_partition_that_does_not_exist_spoils_the_others(
    client: RawClient, kafka_topic: str, name: str
) -> None:
    producer = start(client, name)
    missing = f"{kafka_topic}-missing"
    assert add(client, producer, {kafka_topic: [1, 7], missing: [0]}) == {
        (kafka_topic, 1): ErrorCode.operation_not_attempted,
        (kafka_topic, 7): ErrorCode.unknown_topic_or_partition,
        (missing, 0): ErrorCode.unknown_topic_or_partition,
    }
    assert described(client, name).transaction_state == "Empty"


@pytest.mark.parametrize("topic", ["__consumer_offsets", "__transaction_state"])
def test_internal_topics_are_not_for_clients(
    client: RawClient, kafka_topic: str, name: str, group: str, topic: str
) -> None:
    producer = start(client, name)
    assert add(client, producer, {kafka_topic: [0], topic: [0]}) == {
        (kafka_topic, 0): ErrorCode.operation_not_attempted,
        (topic, 0): ErrorCode.topic_authorization_failed,
    }
    assert described(client, name).transaction_state == "Empty"


def test_an_unused_id_has_no_transaction(client: RawClient, kafka_topic: str, name: str, group: str) -> None:
    producer = Producer(name, 0, 0)
    assert add(client, producer, {kafka_topic: [0]}) == {
        (kafka_topic, 0): ErrorCode.invalid_producer_id_mapping
    }
    assert add_offsets(client, producer, group) == ErrorCode.invalid_producer_id_mapping
    assert end(client, producer).error_code == ErrorCode.invalid_producer_id_mapping
    verified = add_several(client, transaction_of(producer, {kafka_topic: [0]}, verify_only=True))
    assert codes_of(verified.results_by_transaction[0].topic_results) == {
        (kafka_topic, 0): ErrorCode.invalid_producer_id_mapping
    }
    state = described(client, name)
    assert (state.error_code, state.transactional_id) == (ErrorCode.transactional_id_not_found, name)


@pytest.mark.parametrize("add_epochs", [-1, 1])
def test_another_epoch_is_fenced(
    client: RawClient, kafka_topic: str, name: str, group: str, add_epochs: int
) -> None:
    start(client, name)
    producer = start(client, name)
    other = producer._replace(epoch=producer.epoch + add_epochs)
    assert add(client, other, {kafka_topic: [0]}, 1) == {(kafka_topic, 0): ErrorCode.invalid_producer_epoch}
    assert add(client, other, {kafka_topic: [0]}, 2) == {(kafka_topic, 0): ErrorCode.producer_fenced}
    assert add_offsets(client, other, group, 1) == ErrorCode.invalid_producer_epoch
    assert add_offsets(client, other, group, 2) == ErrorCode.producer_fenced
    assert end(client, other, version=1).error_code == ErrorCode.invalid_producer_epoch
    assert end(client, other, version=2).error_code == ErrorCode.producer_fenced
    assert end(client, other, version=5).error_code == ErrorCode.producer_fenced
    assert described(client, name).transaction_state == "Empty"


def test_another_producer_id_is_no_mapping(
    client: RawClient, kafka_topic: str, name: str, group: str
) -> None:
    producer = start(client, name)
    other = producer._replace(id=producer.id + 1)
    assert add(client, other, {kafka_topic: [0]}) == {(kafka_topic, 0): ErrorCode.invalid_producer_id_mapping}
    assert add_offsets(client, other, group) == ErrorCode.invalid_producer_id_mapping
    for version in (END_WITHOUT_BUMP, 5):
        assert end(client, other, version=version).error_code == ErrorCode.invalid_producer_id_mapping


# --- what is wrong: EndTxn ---------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [END_WITHOUT_BUMP, 5])
def test_a_transaction_without_partitions_cannot_be_committed(
    client: RawClient, name: str, version: int
) -> None:
    producer = start(client, name)
    assert end(client, producer, version=version).error_code == ErrorCode.invalid_txn_state
    assert described(client, name).transaction_state == "Empty"


def test_an_abort_without_partitions_needs_the_newest_version(client: RawClient, name: str) -> None:
    producer = start(client, name)
    old = end(client, producer, commit=False, version=END_WITHOUT_BUMP)
    assert old.error_code == ErrorCode.invalid_txn_state
    new = end(client, producer, commit=False)
    assert (new.error_code, new.producer_epoch) == (ErrorCode.none, producer.epoch + 1)
    wait_for_state(client, producer, "CompleteAbort")


@pytest.mark.parametrize("commit", [True, False])
def test_an_end_that_is_repeated_is_answered_again(
    client: RawClient, kafka_topic: str, name: str, commit: bool
) -> None:
    producer = start(client, name)
    assert produce_in(client, producer, kafka_topic, b"once").error_code == ErrorCode.none
    first = end(client, producer, commit=commit)
    again = patiently(lambda: end(client, producer, commit=commit))
    assert (again.error_code, again.producer_id, again.producer_epoch) == (
        ErrorCode.none,
        first.producer_id,
        first.producer_epoch,
    )
    other = end(client, producer, commit=not commit)
    assert other.error_code == ErrorCode.invalid_txn_state
    wait_for_values(client, kafka_topic, [b"once"] if commit else [])
    assert end_offset(client, kafka_topic) == 2


# --- what is wrong: WriteTxnMarkers ------------------------------------------------------------------------


def test_markers_for_partitions_that_do_not_exist(client: RawClient, kafka_topic: str, name: str) -> None:
    producer = start(client, name)
    missing = f"{kafka_topic}-missing"
    assert write_markers(client, producer, {missing: [0], kafka_topic: [0, 9]}) == {
        (missing, 0): ErrorCode.unknown_topic_or_partition,
        (kafka_topic, 9): ErrorCode.unknown_topic_or_partition,
        (kafka_topic, 0): ErrorCode.none,
    }


def test_no_markers_are_nothing_to_do(client: RawClient) -> None:
    assert client.call("write_txn_markers", 2, markers=[]).markers == ()


@pytest.mark.parametrize(("producer_id", "epoch"), [(-1, 0), (5, -1), (-1, -1)])
def test_a_marker_of_no_producer_is_refused(
    client: RawClient, kafka_topic: str, producer_id: int, epoch: int
) -> None:
    assert write_markers(client, Producer("", producer_id, epoch), {kafka_topic: [0]}) == {
        (kafka_topic, 0): ErrorCode.unknown_server_error
    }
    assert end_offset(client, kafka_topic) == 0


def test_a_marker_of_an_older_epoch_is_refused(client: RawClient, kafka_topic: str, name: str) -> None:
    start(client, name)
    producer = start(client, name)
    assert produce_in(client, producer, kafka_topic, b"a").error_code == ErrorCode.none
    old = producer._replace(epoch=producer.epoch - 1)
    refused = {(kafka_topic, 0): ErrorCode.invalid_producer_epoch}
    assert write_markers(client, old, {kafka_topic: [0]}) == refused
    # From transaction version 2 on a marker has a higher epoch than the records it ends (KIP-890).
    assert write_markers(client, producer, {kafka_topic: [0]}, transaction_version=2) == refused
    assert end_offset(client, kafka_topic) == 1


def test_a_marker_of_an_older_coordinator_is_refused(client: RawClient, kafka_topic: str, name: str) -> None:
    producer = start(client, name)
    markers = {kafka_topic: [0]}
    assert set(write_markers(client, producer, markers, coordinator_epoch=7).values()) == {ErrorCode.none}
    assert write_markers(client, producer, markers, coordinator_epoch=6) == {
        (kafka_topic, 0): ErrorCode.transaction_coordinator_fenced
    }
    assert end_offset(client, kafka_topic) == 1


def test_offsets_are_ended_by_the_group_coordinator(client: RawClient, name: str, group: str) -> None:
    producer = start(client, name)
    assert write_markers(client, producer, {"__consumer_offsets": [0]}) == {
        ("__consumer_offsets", 0): ErrorCode.none
    }


# --- what is wrong: ListTransactions -----------------------------------------------------------------------


def test_states_that_do_not_exist_are_listed(client: RawClient, name: str) -> None:
    start(client, name)
    answer = listed(client, states=["Ongoing", "Asleep", "empty"])
    assert answer.error_code == ErrorCode.none
    assert sorted(answer.unknown_state_filters) == ["Asleep", "empty"]
    assert name not in {each.transactional_id for each in answer.transaction_states}


def test_a_pattern_that_is_none_is_refused(client: RawClient, name: str) -> None:
    answer = listed(client, pattern="([")
    assert answer.error_code == ErrorCode.invalid_regular_expression
    assert answer.transaction_states == ()
