"""Transactional requests over bare sockets: every version of each."""

import re
import time
from collections.abc import Iterator
from typing import Any

import pytest
from kio.schema.errors import ErrorCode
from tests.integration.clients.raw import RawClient
from tests.integration.clients.requests import end_offset, list_offset
from tests.integration.clients.transaction_requests import (
    COMMITTED,
    END_WITHOUT_BUMP,
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


@pytest.mark.parametrize("version", range(6))
def test_a_transactional_id_keeps_its_producer_and_gets_a_higher_epoch(
    client: RawClient, name: str, version: int
) -> None:
    first = patiently(lambda: init(client, name, version=version))
    second = patiently(lambda: init(client, name, version=version))
    assert (first.error_code, first.producer_epoch) == (ErrorCode.none, 0)
    assert (second.error_code, second.producer_id) == (ErrorCode.none, first.producer_id)
    assert second.producer_epoch == 1


@pytest.mark.parametrize("version", range(4))
@pytest.mark.kafka_topic(partitions=2)
def test_partitions_are_added(client: RawClient, kafka_topic: str, name: str, version: int) -> None:
    producer = start(client, name)
    codes = add(client, producer, {kafka_topic: [0, 1]}, version)
    assert codes == {(kafka_topic, 0): ErrorCode.none, (kafka_topic, 1): ErrorCode.none}
    state = described(client, name)
    assert (state.error_code, state.transaction_state) == (ErrorCode.none, "Ongoing")
    assert (state.producer_id, state.producer_epoch) == (producer.id, producer.epoch)
    assert [(each.topic, sorted(each.partitions)) for each in state.topics] == [(kafka_topic, [0, 1])]
    assert abs(state.transaction_start_time.timestamp() - time.time()) < 60


@pytest.mark.parametrize("version", [4, 5])
@pytest.mark.kafka_topic(partitions=2)
def test_several_transactions_are_added_and_verified_at_once(
    client: RawClient, kafka_topic: str, name: str, version: int
) -> None:
    ours, other = start(client, name), start(client, f"{name}-other")
    assert set(add(client, other, {kafka_topic: [0]}).values()) == {ErrorCode.none}
    answer = add_several(
        client,
        transaction_of(ours, {kafka_topic: [0]}),
        transaction_of(other, {kafka_topic: [0, 1]}, verify_only=True),
        version=version,
    )
    assert answer.error_code == ErrorCode.none
    codes = {each.transactional_id: codes_of(each.topic_results) for each in answer.results_by_transaction}
    assert codes == {
        ours.name: {(kafka_topic, 0): ErrorCode.none},
        other.name: {
            (kafka_topic, 0): ErrorCode.none,
            (kafka_topic, 1): ErrorCode.transaction_abortable,
        },
    }
    assert [topic.partitions for topic in described(client, other.name).topics] == [(0,)]


@pytest.mark.parametrize("version", range(5))
def test_offsets_are_added(client: RawClient, name: str, group: str, version: int) -> None:
    producer = start(client, name)
    assert add_offsets(client, producer, group, version) == ErrorCode.none
    assert [topic.topic for topic in described(client, name).topics] == ["__consumer_offsets"]


@pytest.mark.parametrize("version", range(6))
@pytest.mark.parametrize("commit", [True, False])
def test_a_transaction_ends(
    client: RawClient, kafka_topic: str, name: str, version: int, commit: bool
) -> None:
    producer = start(client, name)
    assert set(add(client, producer, {kafka_topic: [0]}).values()) == {ErrorCode.none}
    assert produce_in(client, producer, kafka_topic, b"a", b"b", version=11).error_code == ErrorCode.none
    answer = end(client, producer, commit=commit, version=version)
    assert answer.error_code == ErrorCode.none
    if version >= 5:
        assert (answer.producer_id, answer.producer_epoch) == (producer.id, producer.epoch + 1)
    wait_for_values(client, kafka_topic, [b"a", b"b"] if commit else [])
    assert end_offset(client, kafka_topic) == 3
    wait_for_state(client, producer, "CompleteCommit" if commit else "CompleteAbort")


@pytest.mark.parametrize("version", [1, 2])
def test_a_marker_ends_a_transaction_that_hangs(
    client: RawClient, kafka_topic: str, name: str, version: int
) -> None:
    producer = start(client, name)
    assert produce_in(client, producer, kafka_topic, b"a").error_code == ErrorCode.none
    assert list_offset(client, kafka_topic, isolation=COMMITTED).offset == 0
    assert write_markers(client, producer, {kafka_topic: [0]}, version=version) == {
        (kafka_topic, 0): ErrorCode.none
    }
    assert list_offset(client, kafka_topic, isolation=COMMITTED).offset == 2
    assert described(client, name).transaction_state == "Ongoing"


@pytest.mark.parametrize("version", range(3))
def test_transactions_are_listed(client: RawClient, kafka_topic: str, name: str, version: int) -> None:
    ours, other = start(client, name), start(client, f"{name}-other")
    add(client, ours, {kafka_topic: [0]})

    def found(**filters: Any) -> dict[str, tuple[int, str]]:
        answer = listed(client, version=version, **filters)
        assert answer.error_code == ErrorCode.none
        assert list(answer.unknown_state_filters) == []
        return {
            each.transactional_id: (each.producer_id, each.transaction_state)
            for each in answer.transaction_states
            if each.transactional_id.startswith(name)
        }

    both = {ours.name: (ours.id, "Ongoing"), other.name: (other.id, "Empty")}
    assert found() == both
    assert found(states=["Ongoing"]) == {ours.name: both[ours.name]}
    assert found(producer_ids=[other.id]) == {other.name: both[other.name]}
    if version >= 1:
        assert found(longer_than_ms=3_600_000, producer_ids=[ours.id]) == {}
    if version >= 2:
        assert found(pattern=f"{re.escape(name)}-o.*") == {other.name: both[other.name]}
        assert found(pattern=f"{re.escape(name)}-o") == {}


def test_the_features_of_the_broker_name_the_transaction_version(client: RawClient) -> None:
    answer = client.call("api_versions", 4, client_software_name="raw", client_software_version="1")
    finalized = {each.name: each.max_version_level for each in answer.finalized_features}
    supported = {each.name: (each.min_version, each.max_version) for each in answer.supported_features}
    assert finalized["transaction.version"] == 2
    assert supported["transaction.version"] == (0, 2)


def test_a_zombie_that_asks_for_a_new_epoch_leaves_its_successor_alone(
    client: RawClient, kafka_topic: str, name: str
) -> None:
    """Apache Kafka aborts the transaction of the successor, and tells the zombie only when it asks again."""
    zombie = start(client, name)
    successor = start(client, name)
    assert produce_in(client, successor, kafka_topic, b"value").error_code == 0
    for _ in range(2):
        refused = init(client, name, producer_id=zombie.id, producer_epoch=zombie.epoch)
        assert refused.error_code == ErrorCode.producer_fenced
    assert described(client, name).transaction_state == "Ongoing"
    assert end(client, successor).error_code == ErrorCode.none
    wait_for_values(client, kafka_topic, [b"value"])


@pytest.mark.parametrize("commit", [True, False])
def test_a_zombie_of_version_2_is_not_taken_for_its_successor_of_version_1(
    client: RawClient, kafka_topic: str, name: str, commit: bool
) -> None:
    """Apache Kafka takes its EndTxn for a repeated one: its epoch is the one before."""
    zombie = start(client, name)
    successor = start(client, name)
    assert set(add(client, successor, {kafka_topic: [0]}).values()) == {ErrorCode.none}
    ended = end(client, successor, commit=commit, version=END_WITHOUT_BUMP)
    assert ended.error_code == ErrorCode.none
    wait_for_state(client, successor, "CompleteCommit" if commit else "CompleteAbort")
    assert end(client, zombie, commit=commit).error_code == ErrorCode.producer_fenced
    repeated = end(client, successor, commit=commit, version=END_WITHOUT_BUMP)
    assert repeated.error_code == ErrorCode.none
