"""What Produce answers to records of transactions: every version, and what is wrong with them."""

import os
import re
import time
from collections.abc import Iterator, Mapping

import pytest
from kio.schema.errors import ErrorCode
from tests.integration.clients.conftest import OTHER_BROKER
from tests.integration.clients.raw import RawClient
from tests.integration.clients.requests import batch, end_offset
from tests.integration.clients.transaction_requests import (
    END_WITHOUT_BUMP,
    Producer,
    add,
    end,
    patiently,
    produce_in,
    start,
    transactional_batch,
    wait_for_transaction_coordinator,
)
from tests.patience import PATIENCE

from barnabas.records.control import build_end_marker
from barnabas.testing import Broker

BEFORE_ABORTABLE, BEFORE_ADDING, ADDING = 10, 11, 12
ours_only = pytest.mark.skipif(OTHER_BROKER is not None, reason="a documented difference to Apache Kafka")


@pytest.fixture
def client(kafka_broker: Broker) -> Iterator[RawClient]:
    with RawClient(kafka_broker.port) as connected:
        yield connected


@pytest.fixture
def producer(request: pytest.FixtureRequest, kafka_broker: Broker, client: RawClient) -> Producer:
    words = re.sub(r"[^a-zA-Z0-9]+", "-", request.node.name).strip("-")
    name = f"{words[:60]}-{os.urandom(4).hex()}"
    wait_for_transaction_coordinator(kafka_broker.port, name)
    return start(client, name)


def codes(
    client: RawClient,
    topic: str,
    records: Mapping[int, bytes],
    *,
    name: str | None,
    version: int = ADDING,
) -> list[ErrorCode]:
    """The code of each partition."""
    partitions = [{"index": number, "records": each} for number, each in records.items()]
    topics = [{"name": topic, "partition_data": partitions}]
    answer = client.call(
        "produce", version, transactional_id=name, acks=-1, timeout=10_000, topic_data=topics
    )
    responses = answer.responses[0].partition_responses
    return [each.error_code for each in sorted(responses, key=lambda each: each.index)]


def wait_for_marker(client: RawClient, topic: str, offset: int) -> None:
    deadline = time.monotonic() + PATIENCE
    while end_offset(client, topic) <= offset:
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.parametrize("version", range(3, ADDING))
def test_older_clients_write_after_they_have_added_the_partition(
    client: RawClient, kafka_topic: str, producer: Producer, version: int
) -> None:
    add(client, producer, {kafka_topic: [0]})
    for sequence in range(3):
        stored = produce_in(client, producer, kafka_topic, b"v", sequence=sequence, version=version)
        assert (stored.error_code, stored.base_offset) == (0, sequence)
    assert patiently(lambda: end(client, producer, version=END_WITHOUT_BUMP)).error_code == 0
    wait_for_marker(client, kafka_topic, 3)
    unverified = produce_in(client, producer, kafka_topic, b"v", sequence=3, version=version)
    expected = ErrorCode.invalid_txn_state if version < BEFORE_ADDING else ErrorCode.transaction_abortable
    assert unverified.error_code in (expected, ErrorCode.not_enough_replicas)


def test_newest_clients_need_not_add_the_partition(
    client: RawClient, kafka_topic: str, producer: Producer
) -> None:
    for sequence in range(3):
        assert produce_in(client, producer, kafka_topic, b"v", sequence=sequence).error_code == 0
    ended = end(client, producer)
    assert ended.error_code == 0
    bumped = producer._replace(epoch=ended.producer_epoch)
    assert patiently(lambda: produce_in(client, bumped, kafka_topic, b"v")).error_code == 0
    assert end(client, bumped, commit=False).error_code == 0


@pytest.mark.parametrize(
    ("version", "code"),
    [
        (BEFORE_ABORTABLE, ErrorCode.invalid_txn_state),
        (BEFORE_ADDING, ErrorCode.transaction_abortable),
    ],
)
def test_partition_that_was_not_added_is_refused(
    client: RawClient, kafka_topic: str, producer: Producer, version: int, code: ErrorCode
) -> None:
    assert produce_in(client, producer, kafka_topic, b"v", version=version).error_code is code
    assert end_offset(client, kafka_topic) == 0


@pytest.mark.parametrize("version", [BEFORE_ABORTABLE, BEFORE_ADDING, ADDING])
def test_producer_that_was_replaced_is_refused(
    client: RawClient, kafka_topic: str, producer: Producer, version: int
) -> None:
    start(client, producer.name)
    refused = produce_in(client, producer, kafka_topic, b"v", version=version)
    assert refused.error_code is ErrorCode.invalid_producer_epoch


@pytest.mark.parametrize("version", [BEFORE_ABORTABLE, BEFORE_ADDING, ADDING])
def test_another_producer_id_is_refused(
    client: RawClient, kafka_topic: str, producer: Producer, version: int
) -> None:
    stranger = producer._replace(id=producer.id + 1000)
    refused = produce_in(client, stranger, kafka_topic, b"v", version=version)
    assert refused.error_code is ErrorCode.invalid_producer_id_mapping


@pytest.mark.parametrize("version", [BEFORE_ADDING, ADDING])
def test_unused_transactional_id_is_refused(
    client: RawClient, kafka_topic: str, producer: Producer, version: int
) -> None:
    stranger = producer._replace(name=f"{producer.name}-other")
    refused = produce_in(client, stranger, kafka_topic, b"v", version=version)
    assert refused.error_code is ErrorCode.invalid_producer_id_mapping


def test_epoch_of_an_ended_transaction_is_refused(
    client: RawClient, kafka_topic: str, producer: Producer
) -> None:
    produce_in(client, producer, kafka_topic, b"v")
    ended = end(client, producer)
    bumped = producer._replace(epoch=ended.producer_epoch)
    # When the next transaction is allowed, the marker of the last one is there.
    assert patiently(lambda: produce_in(client, bumped, kafka_topic, b"v")).error_code == 0
    late = produce_in(client, producer, kafka_topic, b"v", sequence=1)
    assert late.error_code is ErrorCode.invalid_producer_epoch


def test_first_batch_of_an_unknown_producer_begins_at_zero(
    client: RawClient, kafka_topic: str, producer: Producer
) -> None:
    refused = produce_in(client, producer, kafka_topic, b"v", sequence=5)
    assert refused.error_code is ErrorCode.out_of_order_sequence_number
    assert produce_in(client, producer, kafka_topic, b"v").error_code == 0


def test_plain_batch_in_an_open_transaction_is_refused(
    client: RawClient, kafka_topic: str, producer: Producer
) -> None:
    produce_in(client, producer, kafka_topic, b"v")
    plain = batch(b"v", producer_id=producer.id, producer_epoch=producer.epoch, base_sequence=1)
    assert codes(client, kafka_topic, {0: plain}, name=producer.name) == [ErrorCode.invalid_txn_state]


@pytest.mark.parametrize("version", [3, 9, ADDING])
def test_transactional_records_without_an_id_refuse_the_whole_request(
    client: RawClient, kafka_topic: str, producer: Producer, version: int
) -> None:
    records = {0: batch(b"plain"), 1: transactional_batch(producer, b"v")}
    refused = codes(client, kafka_topic, records, name=None, version=version)
    assert refused == [ErrorCode.transactional_id_authorization_failed] * 2
    assert end_offset(client, kafka_topic) == 0


def test_two_producers_in_one_request_refuse_the_whole_request(
    client: RawClient, kafka_broker: Broker, producer: Producer
) -> None:
    topic = f"two-{os.urandom(4).hex()}"
    kafka_broker.create_topic(topic, partitions=2)
    other = producer._replace(epoch=producer.epoch + 1)
    records = {0: transactional_batch(producer, b"v"), 1: transactional_batch(other, b"v")}
    assert codes(client, topic, records, name=producer.name) == [ErrorCode.invalid_producer_id_mapping] * 2


def test_markers_are_not_a_clients_to_write(client: RawClient, kafka_topic: str, producer: Producer) -> None:
    produce_in(client, producer, kafka_topic, b"v")
    marker = build_end_marker(producer.id, producer.epoch, True, 0, 1_700_000_000_000)
    assert codes(client, kafka_topic, {0: marker}, name=producer.name) == [ErrorCode.invalid_record]
    assert end_offset(client, kafka_topic) == 1


@ours_only
def test_transactional_batch_without_a_producer_is_refused(
    client: RawClient, kafka_topic: str, producer: Producer
) -> None:
    unknown = transactional_batch(producer._replace(id=-1, epoch=-1), b"v", sequence=-1)
    assert codes(client, kafka_topic, {0: unknown}, name=producer.name) == [ErrorCode.invalid_record]


def test_repeated_batch_is_stored_once(client: RawClient, kafka_topic: str, producer: Producer) -> None:
    first = produce_in(client, producer, kafka_topic, b"v")
    again = produce_in(client, producer, kafka_topic, b"v")
    assert (first.base_offset, again.base_offset, again.error_code) == (0, 0, 0)
    assert end_offset(client, kafka_topic) == 1
