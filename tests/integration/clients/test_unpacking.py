"""Batches that have to be unpacked: bounded in size, away from the event loop, and still in order."""

import os
import time
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from kio.schema.errors import ErrorCode
from tests.integration.clients.messages import now_ms
from tests.integration.clients.raw import RawClient
from tests.integration.clients.requests import (
    batch,
    end_offset,
    fetch,
    list_offset,
    produce,
    produce_fields,
)
from tests.integration.clients.transaction_requests import (
    end,
    new_transactional_id,
    produce_in,
    start,
    wait_for_transaction_coordinator,
    wait_for_values,
)
from tests.patience import PATIENCE

from barnabas.records.batch import MAGIC_V2, TIMESTAMP_TYPE_MASK, BatchHeader, iter_headers, parse_header
from barnabas.records.builder import assemble, build_batch
from barnabas.records.compression import CODEC_NAMES, GZIP, LZ4, SNAPPY, ZSTD, compress
from barnabas.records.record import Record, decode_records
from barnabas.testing import Broker

HOUR = 3_600_000
_VERSION = 9
_HOLD_LIMIT = 0.3
"""Seconds of CPU time. The first request of an API loads its schema, which may take a third of this."""
_COMPACT = {"cleanup.policy": "compact"}
_ZSTD_TOPIC = {"compression.type": "zstd"}
_APPEND_TIME = {"message.timestamp.type": "LogAppendTime", "compression.type": "uncompressed"}
_TINY = bytes([12, 0, 0, 0, 1, 1, 0])
"""The smallest record."""


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker(process=True) as started:
        yield started


@pytest.fixture
def client(broker: Broker) -> Iterator[RawClient]:
    with RawClient(broker.port) as connected:
        yield connected


@pytest.fixture
def topic(broker: Broker, request: pytest.FixtureRequest) -> str:
    name = f"t{abs(hash(request.node.nodeid))}"
    broker.create_topic(name, 1, getattr(request, "param", {}))
    return name


def large(first: int = 0, *, count: int = 3000, **options: Any) -> bytes:
    """More records than are looked at at once, with values that tell their order."""
    now = now_ms()
    records = [Record(i, now, b"k%d" % (first + i), b"v" * 90) for i in range(count)]
    return build_batch(records, **options)


def bomb(codec: int, unpacked: int, timestamp: int) -> bytes:
    """A few bytes of the smallest records, which unpack to many."""
    count = unpacked // len(_TINY)
    header = BatchHeader(0, 0, -1, MAGIC_V2, 0, codec, count - 1, timestamp, timestamp, -1, -1, -1, count)
    return assemble(header, compress(codec, _TINY * count))


def assert_no_long_hold(broker: Broker) -> None:
    """Of the requests at hand; the first ones of other tests load a coordinator, which takes longer."""
    holds = broker.loop_holds()
    found = {name: holds[name] for name in ("Produce", "ListOffsets") if name in holds}
    assert all(worst < _HOLD_LIMIT for _, worst in found.values()), found


def keys_of(client: RawClient, topic: str) -> list[bytes | None]:
    """The keys of all records, in the order of their offsets."""
    found: list[bytes | None] = []
    offset, end = 0, end_offset(client, topic)
    while offset < end:
        data = fetch(client, topic, offset).records
        for position, header in iter_headers(data, allow_partial=True):
            found += [each.key for each in decode_records(data[position : position + header.size])]
            offset = header.next_offset
    return found


def pipelined(
    client: RawClient, topic: str, batches: Sequence[bytes], acks: int = -1
) -> list[tuple[int, int]]:
    """Send all requests before the first answer is read: (error, base offset) of each."""
    ids = [client.send("produce", _VERSION, **produce_fields(topic, each, acks=acks)) for each in batches]
    answers = [client.receive("produce", _VERSION, each) for each in ids] if acks else []
    found = [answer.responses[0].partition_responses[0] for answer in answers]
    return [(each.error_code, each.base_offset) for each in found]


@pytest.mark.parametrize(
    "topic", [{"cleanup.policy": "compact"}, {"compression.type": "zstd"}], indirect=True
)
def test_requests_of_a_connection_stay_in_order(client: RawClient, topic: str) -> None:
    sent = [large(0), batch(b"x", key=b"a"), large(3000, compression=LZ4), batch(b"x", key=b"b")]
    assert pipelined(client, topic, sent) == [(0, 0), (0, 3000), (0, 3001), (0, 6001)]
    expected = [b"k%d" % i for i in range(3000)] + [b"a"] + [b"k%d" % i for i in range(3000, 6000)] + [b"b"]
    assert keys_of(client, topic) == expected


@pytest.mark.parametrize("topic", [_COMPACT], indirect=True)
def test_batch_without_acknowledgement_is_stored_although_its_client_has_disconnected(
    broker: Broker, client: RawClient, topic: str
) -> None:
    # More batches than are unpacked at a time: the last ones are not begun when their clients disconnect.
    for number in range(8):
        with RawClient(broker.port) as short:
            pipelined(short, topic, [large(3000 * number)], acks=0)
    deadline = time.monotonic() + PATIENCE
    while end_offset(client, topic) < 8 * 3000:
        assert time.monotonic() < deadline, "batches of clients that disconnected were dropped"


@pytest.mark.parametrize("topic", [_COMPACT], indirect=True)
def test_an_idempotent_producer_goes_on_behind_a_large_batch(client: RawClient, topic: str) -> None:
    producer = {"producer_id": 7000, "producer_epoch": 0}
    sent = [
        large(0, base_sequence=0, **producer),
        batch(b"x", key=b"a", base_sequence=3000, **producer),
        large(0, base_sequence=0, **producer),
    ]
    assert pipelined(client, topic, sent) == [(0, 0), (0, 3000), (0, 0)]
    assert end_offset(client, topic) == 3001


@pytest.mark.parametrize("topic", [_ZSTD_TOPIC], indirect=True)
def test_a_large_batch_of_a_transaction_is_verified_and_stored(
    broker: Broker, client: RawClient, topic: str
) -> None:
    transactional_id = new_transactional_id("large", broker.port)
    wait_for_transaction_coordinator(broker.port, transactional_id)
    producer = start(client, transactional_id)
    values = [b"v" * 90] * 3000
    assert produce_in(client, producer, topic, *values).error_code == 0
    assert produce_in(client, producer, topic, *values, sequence=3000).base_offset == 3000
    assert list_offset(client, topic, isolation=1).offset == 0
    assert end(client, producer).error_code == 0
    wait_for_values(client, topic, values * 2)


@pytest.mark.parametrize("topic", [_COMPACT], indirect=True)
def test_a_large_batch_without_acknowledgement_is_stored(client: RawClient, topic: str) -> None:
    pipelined(client, topic, [large(0)], acks=0)
    assert pipelined(client, topic, [batch(b"x", key=b"a")]) == [(0, 3000)]


@pytest.mark.parametrize("topic", [_COMPACT], indirect=True)
def test_one_large_batch_that_is_refused_does_not_spoil_the_next(client: RawClient, topic: str) -> None:
    keyless = build_batch([Record(i, now_ms(), None, b"v" * 90) for i in range(3000)])
    refused, stored = pipelined(client, topic, [keyless, large(0)])
    assert refused == (ErrorCode.invalid_record, -1)
    assert stored == (0, 0)


@pytest.mark.parametrize("codec", [GZIP, SNAPPY, LZ4, ZSTD], ids=CODEC_NAMES[1:])
@pytest.mark.parametrize("topic", [_APPEND_TIME], indirect=True, ids=["append time"])
def test_append_times_ascend_with_offsets(client: RawClient, topic: str, codec: int) -> None:
    sent = [large(0, compression=codec), batch(b"x"), large(0, compression=codec), batch(b"x")]
    pipelined(client, topic, sent)
    data = fetch(client, topic, 0).records
    headers = [header for _, header in iter_headers(data)]
    times = [header.max_timestamp for header in headers]
    assert len(times) == 4
    assert times == sorted(times)
    assert all(header.attributes & TIMESTAMP_TYPE_MASK for header in headers)


@pytest.mark.parametrize("codec", [GZIP, SNAPPY, LZ4, ZSTD], ids=CODEC_NAMES[1:])
def test_a_batch_beyond_the_limit_is_refused(client: RawClient, topic: str, codec: int) -> None:
    data = bomb(codec, 20_000_000 if codec == SNAPPY else 40_000_000, now_ms() + 2 * HOUR)
    answer = produce(client, topic, data)
    expected = ErrorCode.invalid_record if codec == SNAPPY else ErrorCode.message_too_large
    assert answer.error_code == expected
    assert end_offset(client, topic) == 0


def numbered(count: int, timestamp: int) -> bytes:
    """The smallest records with the offsets they must have, compressed."""
    parts = []
    for number in range(count):
        delta = bytes([number << 1]) if number < 64 else _varint(number << 1)
        parts.append(bytes([10 + 2 * len(delta), 0, 0]) + delta + b"\x01\x01\x00")
    header = BatchHeader(0, 0, -1, MAGIC_V2, 0, ZSTD, count - 1, timestamp, timestamp, -1, -1, -1, count)
    return assemble(header, compress(ZSTD, b"".join(parts)))


def _varint(raw: int) -> bytes:
    out = bytearray()
    while raw > 0x7F:
        out.append(raw & 0x7F | 0x80)
        raw >>= 7
    return bytes(out) + bytes([raw])


def test_no_batch_holds_the_event_loop(broker: Broker, client: RawClient, topic: str) -> None:
    future, now = now_ms() + 2 * HOUR, now_ms()
    assert produce(client, topic, numbered(300_000, future)).error_code == ErrorCode.invalid_timestamp
    for codec in (GZIP, LZ4, ZSTD):
        assert produce(client, topic, bomb(codec, 25_000_000, future)).error_code != 0
    broker.create_topic(f"{topic}-compact", 1, {"cleanup.policy": "compact"})
    huge = build_batch([Record(0, now, b"k", bytes(25_000_000))], compression=ZSTD)
    assert produce(client, f"{topic}-compact", huge).error_code == 0
    assert produce(client, topic, numbered(300_000, now)).error_code == 0
    assert produce(client, topic, huge).error_code == 0
    assert list_offset(client, topic, now + 1).offset == -1
    assert list_offset(client, topic, now).offset == 0
    assert_no_long_hold(broker)


def test_lookups_by_time_over_many_large_batches_do_not_hold_the_event_loop(
    broker: Broker, client: RawClient, topic: str
) -> None:
    now = now_ms()
    values = [os.urandom(80) for _ in range(5000)]
    broker.create_topic(f"{topic}-many", 80)
    sent = build_batch([Record(i, now - 5000 + i, b"k", value) for i, value in enumerate(values)])
    for partition in range(80):
        produce(client, f"{topic}-many", sent, partition=partition)
    wanted = [{"partition_index": partition, "timestamp": now - 1} for partition in range(80)]
    topics = [{"name": f"{topic}-many", "partitions": wanted}]
    answer = client.call("list_offsets", 7, replica_id=-1, isolation_level=0, topics=topics)
    assert [each.offset for each in answer.topics[0].partitions] == [4999] * 80
    assert_no_long_hold(broker)


def test_the_largest_timestamp_is_found_behind_a_false_claim(client: RawClient, topic: str) -> None:
    now = now_ms()
    true = build_batch([Record(0, now - 10, b"k", b"v")])
    false = assemble(parse_header(true)._replace(max_timestamp=now + HOUR // 2), true[61:])
    for each in (batch(b"1", timestamp=now - 3), false, batch(b"2", timestamp=now), false):
        assert produce(client, topic, each).error_code == 0
    found = list_offset(client, topic, -3)
    assert (found.error_code, found.offset, found.timestamp) == (0, 2, now)
