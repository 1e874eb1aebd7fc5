"""Promises of the protocol that no client library shows, over bare sockets."""

import struct
import time
from collections.abc import Iterator

import pytest
from kio.schema.errors import ErrorCode
from tests.integration.clients.conftest import OTHER_BROKER
from tests.integration.clients.messages import now_ms
from tests.integration.clients.raw import RawClient, encode, frame
from tests.integration.clients.requests import (
    EARLIEST,
    FETCH_BY_NAME,
    LATEST,
    MAX_TIMESTAMP,
    PRODUCE_BY_NAME,
    batch,
    end_offset,
    fetch,
    fetch_all,
    fetch_fields,
    list_offset,
    produce,
    produce_fields,
    values_in,
    whole_batches,
)
from tests.patience import NEVER_MS, PATIENCE

from barnabas.records.batch import iter_headers
from barnabas.testing import Broker

ours_only = pytest.mark.skipif(OTHER_BROKER is not None, reason="a documented difference to Apache Kafka")


@pytest.fixture
def client(kafka_broker: Broker) -> Iterator[RawClient]:
    with RawClient(kafka_broker.port) as connected:
        yield connected


@pytest.fixture
def other(kafka_broker: Broker) -> Iterator[RawClient]:
    with RawClient(kafka_broker.port) as connected:
        yield connected


# --- order and acknowledgement ---------------------------------------------------------------------------


def test_pipelined_requests_are_answered_in_their_order(client: RawClient, kafka_topic: str) -> None:
    slow = fetch_fields(kafka_topic, [(0, 0)], max_wait=200, min_bytes=1_000_000)
    produced = produce_fields(kafka_topic, batch(b"a"))
    sent = [
        ("fetch", FETCH_BY_NAME, client.send("fetch", FETCH_BY_NAME, **slow)),
        ("produce", PRODUCE_BY_NAME, client.send("produce", PRODUCE_BY_NAME, **produced)),
        ("metadata", 1, client.send("metadata", 1, topics=[])),
        ("fetch", FETCH_BY_NAME, client.send("fetch", FETCH_BY_NAME, **slow)),
        ("produce", PRODUCE_BY_NAME, client.send("produce", PRODUCE_BY_NAME, **produced)),
    ]
    answers = [client.receive(api, version, number) for api, version, number in sent]
    offsets = [answer.responses[0].partition_responses[0].base_offset for answer in (answers[1], answers[4])]
    assert offsets == [0, 1]


def test_many_pipelined_produces_keep_their_order(client: RawClient, kafka_topic: str) -> None:
    count = 200
    for number in range(count):
        client.send("produce", PRODUCE_BY_NAME, **produce_fields(kafka_topic, batch(b"%d" % number)))
    for number in range(count):
        (answer,) = client.receive("produce", PRODUCE_BY_NAME, number + 1).responses[0].partition_responses
        assert (answer.error_code, answer.base_offset) == (0, number)
    fetched = fetch(client, kafka_topic, 0)
    assert values_in(fetched.records) == [b"%d" % number for number in range(count)]


@pytest.mark.parametrize("acks", [1, -1])
def test_acknowledged_produce_says_where_the_batch_is(client: RawClient, kafka_topic: str, acks: int) -> None:
    answers = [produce(client, kafka_topic, batch(b"a", b"b"), acks=acks) for _ in range(2)]
    assert [answer.base_offset for answer in answers] == [0, 2]
    assert {(answer.error_code, answer.log_append_time, answer.log_start_offset) for answer in answers} == {
        (0, None, 0)
    }


def test_acks_0_is_not_answered(client: RawClient, kafka_topic: str) -> None:
    client.send("produce", PRODUCE_BY_NAME, **produce_fields(kafka_topic, batch(b"a"), acks=0))
    assert end_offset(client, kafka_topic) == 1


def test_failed_produce_with_acks_0_closes_the_connection(client: RawClient, kafka_topic: str) -> None:
    fields = produce_fields(kafka_topic, batch(b"a"), acks=0, partition=7)
    client.send("produce", PRODUCE_BY_NAME, **fields)
    assert client.is_closed_by_the_broker()


@pytest.mark.parametrize("acks", [2, -2])
def test_other_acks_are_refused(client: RawClient, kafka_topic: str, acks: int) -> None:
    answer = produce(client, kafka_topic, batch(b"a"), acks=acks)
    assert answer.error_code == ErrorCode.invalid_required_acks
    assert end_offset(client, kafka_topic) == 0


def test_one_bad_partition_does_not_spoil_the_others(client: RawClient, kafka_topic: str) -> None:
    good, bad = {"index": 0, "records": batch(b"a")}, {"index": 9, "records": batch(b"b")}
    topics = [{"name": kafka_topic, "partition_data": [bad, good]}]
    answer = client.call("produce", PRODUCE_BY_NAME, acks=1, timeout=1000, topic_data=topics)
    codes = {each.index: each.error_code for each in answer.responses[0].partition_responses}
    assert codes == {0: ErrorCode.none, 9: ErrorCode.unknown_topic_or_partition}


@ours_only
def test_produce_creates_its_topic(client: RawClient, kafka_broker: Broker) -> None:
    assert produce(client, "made-by-produce", batch(b"a")).error_code == 0
    assert "made-by-produce" in kafka_broker.topics()


# --- long poll -------------------------------------------------------------------------------------------


def test_fetch_waits_for_max_wait_when_nothing_comes(client: RawClient, kafka_topic: str) -> None:
    started = time.monotonic()
    fetched = fetch(client, kafka_topic, 0, max_wait=150)
    assert time.monotonic() - started >= 0.149
    assert (fetched.error_code, fetched.records or b"") == (0, b"")


def test_fetch_is_woken_by_a_produce(client: RawClient, other: RawClient, kafka_topic: str) -> None:
    waiting = client.send("fetch", FETCH_BY_NAME, **fetch_fields(kafka_topic, [(0, 0)], max_wait=NEVER_MS))
    produce(other, kafka_topic, batch(b"news"))
    fetched = client.receive("fetch", FETCH_BY_NAME, waiting).responses[0].partitions[0]
    assert values_in(fetched.records) == [b"news"]


def test_fetch_waits_until_min_bytes_are_there(client: RawClient, other: RawClient, kafka_topic: str) -> None:
    one = batch(b"x" * 1000)
    fields = fetch_fields(kafka_topic, [(0, 0)], max_wait=NEVER_MS, min_bytes=2 * len(one) + 1)
    waiting = client.send("fetch", FETCH_BY_NAME, **fields)
    for _ in range(3):
        produce(other, kafka_topic, one)
    fetched = client.receive("fetch", FETCH_BY_NAME, waiting).responses[0].partitions[0]
    assert len(fetched.records) == 3 * len(one)


def test_fetch_with_too_few_bytes_answers_what_there_is_after_max_wait(
    client: RawClient, kafka_topic: str
) -> None:
    produce(client, kafka_topic, batch(b"little"))
    started = time.monotonic()
    fetched = fetch(client, kafka_topic, 0, max_wait=150, min_bytes=100_000)
    assert time.monotonic() - started >= 0.149
    assert values_in(fetched.records) == [b"little"]


@pytest.mark.kafka_topic(partitions=2)
def test_error_of_one_partition_ends_the_wait(client: RawClient, kafka_topic: str) -> None:
    started = time.monotonic()
    answer = fetch_all(client, kafka_topic, [(0, 0), (1, 55)], max_wait=NEVER_MS)
    assert time.monotonic() - started < PATIENCE
    codes = [each.error_code for each in answer.responses[0].partitions]
    assert codes == [ErrorCode.none, ErrorCode.offset_out_of_range]


# --- what a fetch returns --------------------------------------------------------------------------------


def test_first_batch_is_returned_whole_when_it_exceeds_the_limits(
    client: RawClient, kafka_topic: str
) -> None:
    large, small = batch(b"x" * 50_000), batch(b"y")
    produce(client, kafka_topic, large)
    produce(client, kafka_topic, small)
    for limits in ({"max_bytes": 1}, {"partition_max_bytes": 1}, {"max_bytes": 0, "partition_max_bytes": 0}):
        fetched = fetch(client, kafka_topic, 0, **limits)
        assert values_in(fetched.records) == [b"x" * 50_000]


@pytest.mark.kafka_topic(partitions=3)
def test_only_the_first_partition_may_exceed_the_limit(client: RawClient, kafka_topic: str) -> None:
    for partition in range(3):
        produce(client, kafka_topic, batch(b"x" * 5000), partition=partition)
    answer = fetch_all(client, kafka_topic, [(1, 0), (0, 0), (2, 0)], max_bytes=1000)
    sizes = {each.partition_index: len(each.records or b"") for each in answer.responses[0].partitions}
    assert sizes[1] > 5000
    assert (sizes[0], sizes[2]) == (0, 0)


def test_batch_with_the_requested_offset_is_returned_whole(client: RawClient, kafka_topic: str) -> None:
    produce(client, kafka_topic, batch(*(b"%d" % number for number in range(10)), compression=2))
    fetched = fetch(client, kafka_topic, 7)
    assert values_in(fetched.records) == [b"%d" % number for number in range(10)]
    assert (fetched.high_watermark, fetched.last_stable_offset, fetched.log_start_offset) == (10, 10, 0)


@pytest.mark.parametrize("offset", [-1, 1, 1000])
def test_offset_outside_of_the_log(client: RawClient, kafka_topic: str, offset: int) -> None:
    assert fetch(client, kafka_topic, offset).error_code == ErrorCode.offset_out_of_range


def test_leader_epoch_of_the_future_is_unknown(client: RawClient, kafka_topic: str) -> None:
    assert fetch(client, kafka_topic, 0, leader_epoch=99).error_code == ErrorCode.unknown_leader_epoch


def test_stored_batch_is_the_sent_one_but_for_offset_and_epoch(client: RawClient, kafka_topic: str) -> None:
    sent = batch(b"a", b"b", compression=4)
    produce(client, kafka_topic, batch(b"first"))
    produce(client, kafka_topic, sent)
    stored = fetch(client, kafka_topic, 1).records
    assert struct.unpack_from(">q", stored) == (1,)
    assert (stored[8:12], stored[16:]) == (sent[8:12], sent[16:])


# --- fetch sessions (KIP-227) ----------------------------------------------------------------------------


@pytest.mark.kafka_topic(partitions=2)
def test_session_tells_only_what_changed(client: RawClient, kafka_topic: str) -> None:
    full = fetch_all(client, kafka_topic, [(0, 0), (1, 0)], session_epoch=0)
    assert full.session_id != 0
    assert len(full.responses[0].partitions) == 2

    def again(epoch: int, offsets: list[tuple[int, int]], **options: object) -> list[tuple[int, int]]:
        session = {"session_id": full.session_id, "session_epoch": epoch}
        answer = fetch_all(client, kafka_topic, offsets, **session, **options)
        assert (answer.error_code, answer.session_id) == (0, full.session_id)
        return [
            (each.partition_index, len(values_in(each.records)))
            for topic in answer.responses
            for each in topic.partitions
        ]

    assert again(1, []) == []
    produce(client, kafka_topic, batch(b"a", b"b"), partition=1)
    assert again(2, []) == [(1, 2)]
    assert again(3, [(1, 2)]) == []
    produce(client, kafka_topic, batch(b"c"), partition=0)
    assert again(4, [], forgotten=[{"topic": kafka_topic, "partitions": [0]}]) == []
    produce(client, kafka_topic, batch(b"d"), partition=1)
    assert again(5, []) == [(1, 1)]


def test_session_out_of_step_is_refused(client: RawClient, kafka_topic: str) -> None:
    session_id = fetch_all(client, kafka_topic, [(0, 0)], session_epoch=0).session_id
    answer = fetch_all(client, kafka_topic, [], session_id=session_id, session_epoch=5)
    assert answer.error_code == ErrorCode.invalid_fetch_session_epoch
    answer = fetch_all(client, kafka_topic, [], session_id=session_id ^ 0x55555, session_epoch=1)
    assert answer.error_code == ErrorCode.fetch_session_id_not_found


def test_session_ends_when_the_client_says_so(client: RawClient, kafka_topic: str) -> None:
    session_id = fetch_all(client, kafka_topic, [(0, 0)], session_epoch=0).session_id
    closing = fetch_all(client, kafka_topic, [(0, 0)], session_id=session_id, session_epoch=-1)
    assert (closing.error_code, closing.session_id) == (0, 0)
    answer = fetch_all(client, kafka_topic, [], session_id=session_id, session_epoch=1)
    assert answer.error_code == ErrorCode.fetch_session_id_not_found


# --- offsets ---------------------------------------------------------------------------------------------


def test_offsets_by_time(client: RawClient, kafka_topic: str) -> None:
    produce(client, kafka_topic, batch(b"a", b"b", b"c", timestamp=1_000_000))
    produce(client, kafka_topic, batch(b"late", timestamp=5_000_000))
    produce(client, kafka_topic, batch(b"early again", timestamp=2_000_000))
    found = {
        requested: (answer.offset, answer.timestamp)
        for requested in (EARLIEST, LATEST, MAX_TIMESTAMP, 0, 1_000_001, 1_000_003, 5_000_000, 5_000_001)
        if (answer := list_offset(client, kafka_topic, requested)).error_code == 0
    }
    assert found == {
        EARLIEST: (0, -1),
        LATEST: (5, -1),
        MAX_TIMESTAMP: (3, 5_000_000),
        0: (0, 1_000_000),
        1_000_001: (1, 1_000_001),
        1_000_003: (3, 5_000_000),
        5_000_000: (3, 5_000_000),
        5_000_001: (-1, -1),
    }


def test_max_timestamp_of_an_empty_partition(client: RawClient, kafka_topic: str) -> None:
    answer = list_offset(client, kafka_topic, MAX_TIMESTAMP)
    assert (answer.error_code, answer.offset, answer.timestamp) == (0, -1, -1)


# --- idempotent producers --------------------------------------------------------------------------------


@pytest.fixture
def producer_id(client: RawClient) -> int:
    answer = client.call(
        "init_producer_id", 4, transactional_id=None, transaction_timeout=0, producer_id=-1, producer_epoch=-1
    )
    assert (answer.error_code, answer.producer_epoch) == (0, 0)
    found: int = answer.producer_id
    return found


def _numbered(producer: int, sequence: int, *values: bytes, epoch: int = 0) -> bytes:
    return batch(*values, producer_id=producer, producer_epoch=epoch, base_sequence=sequence)


def test_duplicates_of_the_last_five_batches_get_their_first_offset(
    client: RawClient, kafka_topic: str, producer_id: int
) -> None:
    sent = [_numbered(producer_id, 2 * number, b"a", b"b") for number in range(6)]
    first = [produce(client, kafka_topic, each).base_offset for each in sent]
    assert first == [0, 2, 4, 6, 8, 10]
    again = [produce(client, kafka_topic, each) for each in sent[1:]]
    assert [(each.error_code, each.base_offset) for each in again] == [(0, offset) for offset in first[1:]]
    oldest = produce(client, kafka_topic, sent[0])
    assert oldest.error_code == ErrorCode.out_of_order_sequence_number
    assert end_offset(client, kafka_topic) == 12


def test_gap_in_the_sequence_is_refused(client: RawClient, kafka_topic: str, producer_id: int) -> None:
    assert produce(client, kafka_topic, _numbered(producer_id, 0, b"a")).error_code == 0
    answer = produce(client, kafka_topic, _numbered(producer_id, 2, b"c"))
    assert answer.error_code == ErrorCode.out_of_order_sequence_number
    assert end_offset(client, kafka_topic) == 1


def test_old_epoch_of_a_producer_is_fenced(client: RawClient, kafka_topic: str, producer_id: int) -> None:
    assert produce(client, kafka_topic, _numbered(producer_id, 0, b"a", epoch=1)).error_code == 0
    answer = produce(client, kafka_topic, _numbered(producer_id, 1, b"b", epoch=0))
    assert answer.error_code == ErrorCode.invalid_producer_epoch
    assert end_offset(client, kafka_topic) == 1


def test_duplicate_is_known_after_a_restart(
    kafka_broker: Broker, kafka_topic: str, client: RawClient, producer_id: int
) -> None:
    sent = _numbered(producer_id, 0, b"a")
    produce(client, kafka_topic, batch(b"before"))
    assert produce(client, kafka_topic, sent).base_offset == 1
    kafka_broker.restart()
    with RawClient(kafka_broker.port) as anew:
        answer = produce(anew, kafka_topic, sent)
        assert (answer.error_code, answer.base_offset) == (0, 1)
        assert end_offset(anew, kafka_topic) == 2


def test_every_producer_gets_another_id(client: RawClient) -> None:
    wanted = {"transactional_id": None, "transaction_timeout": 0, "producer_id": -1, "producer_epoch": -1}
    ids = [client.call("init_producer_id", 4, **wanted).producer_id for _ in range(20)]
    assert len(set(ids)) == 20


def test_request_arrives_byte_by_byte(client: RawClient, kafka_topic: str) -> None:
    for byte in frame(encode("metadata", 1, 42, topics=[{"name": kafka_topic}])):
        client.send_bytes(bytes([byte]))
    assert client.receive("metadata", 1, 42).topics[0].name == kafka_topic


# --- what the topic asks for -----------------------------------------------------------------------------


@pytest.mark.kafka_topic(config={"compression.type": "gzip"})
@pytest.mark.parametrize("codec", range(5))
def test_topic_with_a_codec_stores_only_that(client: RawClient, kafka_topic: str, codec: int) -> None:
    values = [b"%d" % number * 50 for number in range(20)]
    produce(client, kafka_topic, batch(*values, compression=codec))
    stored = fetch(client, kafka_topic, 0).records
    ((_, header),) = iter_headers(stored)
    assert (header.compression, header.record_count) == (1, 20)
    assert values_in(stored) == values


@pytest.mark.kafka_topic(config={"compression.type": "uncompressed"})
def test_topic_can_ask_for_no_codec(client: RawClient, kafka_topic: str) -> None:
    produce(client, kafka_topic, batch(b"a", b"b", compression=3))
    ((_, header),) = iter_headers(fetch(client, kafka_topic, 0).records)
    assert header.compression == 0


@pytest.mark.kafka_topic(config={"message.timestamp.type": "LogAppendTime"})
def test_log_append_time_is_returned_to_producer_and_reader(client: RawClient, kafka_topic: str) -> None:
    before = now_ms()
    answer = produce(client, kafka_topic, batch(b"a", b"b", timestamp=1000, compression=2))
    appended = int(answer.log_append_time.timestamp() * 1000)
    assert before <= appended <= now_ms()
    ((_, header),) = iter_headers(fetch(client, kafka_topic, 0).records)
    assert (header.timestamp_type, header.max_timestamp) == (1, appended)
    assert list_offset(client, kafka_topic, appended).offset == 0


@pytest.mark.kafka_topic(config={"min.insync.replicas": 2})
@pytest.mark.parametrize("acks", [1, -1])
def test_no_more_replicas_are_wanted_than_the_topic_has(
    client: RawClient, kafka_topic: str, acks: int
) -> None:
    assert produce(client, kafka_topic, batch(b"a"), acks=acks).error_code == 0


@pytest.mark.kafka_topic(config={"segment.bytes": 1 << 20})
def test_whole_log_of_several_segments_is_read_in_small_bites(client: RawClient, kafka_topic: str) -> None:
    values = [b"%d" % number * 2000 for number in range(600)]
    for value in values:
        client.send("produce", PRODUCE_BY_NAME, **produce_fields(kafka_topic, batch(value)))
    for _ in values:
        client.receive("produce", PRODUCE_BY_NAME)
    offset, received = 0, list[bytes | None]()
    while offset < len(values):
        records = fetch(client, kafka_topic, offset, partition_max_bytes=50_000).records
        assert records
        whole = whole_batches(records)
        received += values_in(whole)
        offset += sum(header.record_count for _, header in iter_headers(whole))
    assert received == values
