import random
import warnings
from typing import Any

import pyarrow as pa
import pytest
from aiokafka.record.default_records import DefaultRecordBatch as AioBatch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.strategies.records import CODECS, record_lists
from tests.unit.spark.arrow.samples import COLUMNS, SHAPES, TIME, Shape, bulks, many_records, records_of

from barnabas.base.errors import KafkaError
from barnabas.records.batch import HEADER_SIZE, LOG_APPEND_TIME, parse_header
from barnabas.records.builder import assemble, build_batch
from barnabas.records.compression import GZIP, NONE
from barnabas.records.record import Record, decode_records
from barnabas.spark.arrow.batch_scan import scan
from barnabas.spark.arrow.columns import decode
from barnabas.spark.arrow.corrupt_records import CorruptRecords, MalformedTimestamp
from barnabas.spark.arrow.row_schema import ROW_SCHEMA, projected

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # kafka-python reads its schemas in an old way
    from kafka.record.default_records import DefaultRecordBatch as PyBatch

WITH_KAFKA_PYTHON = (NONE, GZIP)  # its other codecs want libraries of their own
MOST_MS = (2**63 - 1) // 1000


@given(st.lists(st.tuples(st.sampled_from(CODECS), record_lists(min_size=0) | bulks), max_size=4))
@settings(max_examples=60)
def test_batches_of_any_codec_give_the_records_that_the_record_codec_reads(
    batches: list[tuple[int, list[Record]]],
) -> None:
    fetched = b""
    expected: list[Record] = []
    position = 7
    for codec, records in batches:
        batch = build_batch(records, base_offset=position, compression=codec)
        fetched += batch
        expected += decode_records(batch)
        position = parse_header(batch).next_offset
    assert records_of(fetched) == expected
    assert records_of(memoryview(bytearray(fetched))) == expected
    assert scan(fetched, start_offset=0).next_offset == (position if batches else 0)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("size", [33, 200, 3000])
def test_every_shape_of_records_is_read_in_small_and_large_batches(shape: Shape, size: int) -> None:
    records = many_records(shape, 5, 3000)
    parts = [records[at : at + size] for at in range(0, len(records), size)]
    fetched = b"".join(build_batch(part, base_offset=part[0].offset) for part in parts)
    assert records_of(fetched) == records


@given(st.sampled_from(CODECS), record_lists())
@settings(max_examples=40)
def test_aiokafka_reads_the_same(codec: int, records: list[Record]) -> None:
    batch = build_batch(records, base_offset=5, compression=codec)
    assert records_of(batch) == _read_by(AioBatch(batch))


@given(st.sampled_from(WITH_KAFKA_PYTHON), record_lists())
@settings(max_examples=40)
def test_kafka_python_reads_the_same(codec: int, records: list[Record]) -> None:
    batch = build_batch(records, base_offset=5, compression=codec)
    assert records_of(batch) == _read_by(PyBatch(batch))


@given(st.lists(st.integers(-MOST_MS, MOST_MS), min_size=1, max_size=20))
def test_times_of_any_size_and_order_are_kept(times: list[int]) -> None:
    records = [Record(number, time, b"k", b"v") for number, time in enumerate(times)]
    assert records_of(build_batch(records)) == records


def test_a_time_that_does_not_fit_microseconds_is_named() -> None:
    batch = build_batch([Record(0, TIME, None, b"v"), Record(1, MOST_MS + 1, None, b"v")], base_offset=40)
    with pytest.raises(MalformedTimestamp, match=f"topic-3 at offset 41: the timestamp {MOST_MS + 1} ms"):
        records_of(batch)
    rows = decode(scan(batch, start_offset=0), "topic", 3, ("value",))
    assert rows["value"].to_pylist() == [b"v", b"v"]


def test_records_of_log_append_time_have_the_time_of_their_batch() -> None:
    records = many_records(SHAPES[1], 1, 50)
    own = build_batch(records)
    stamped = build_batch(records, base_offset=50, timestamp_type=LOG_APPEND_TIME, log_append_time=77)
    rows = decode(scan(own + stamped, start_offset=0), "t", 0, ("timestampType", "timestamp"))
    assert rows["timestampType"].to_pylist() == [0] * 50 + [1] * 50
    times = [time // 1000 for time in rows["timestamp"].cast(pa.int64()).to_pylist()]
    assert times == [record.timestamp for record in records] + [77] * 50


def test_offsets_that_compaction_removed_stay_gaps() -> None:
    records = [
        record._replace(offset=100 + 7 * at) for at, record in enumerate(many_records(SHAPES[1], 2, 60))
    ]
    batch = build_batch(records, base_offset=90, keep_offsets=True, last_offset=999)
    assert records_of(batch) == records
    assert records_of(batch, start=108, stop=200) == [each for each in records if 108 <= each.offset < 200]


@given(st.integers(0, 130), st.integers(0, 130), st.sampled_from(CODECS))
@settings(max_examples=40)
def test_a_range_may_begin_and_end_inside_batches(start: int, stop: int, codec: int) -> None:
    records = many_records(SHAPES[-1], 3, 120)
    fetched = b"".join(
        build_batch(records[at : at + 40], base_offset=at, compression=codec) for at in (0, 40, 80)
    )
    assert records_of(fetched, start=start, stop=stop) == records[start : max(start, stop)]


def test_records_of_deltas_wider_than_eight_bytes_are_read() -> None:
    records = [Record(0, 0, None, None), Record(1, -MOST_MS, b"", b""), Record(2, MOST_MS, b"k", b"v" * 300)]
    batch = build_batch(records, delete_horizon=MOST_MS)
    assert records_of(batch) == records


@pytest.mark.parametrize("count", [1, 32, 33, 500, 20_000])
def test_a_record_may_have_very_many_headers(count: int) -> None:
    headers = tuple((f"h{number}", None if number % 3 else b"%d" % number) for number in range(count))
    records = [
        Record(0, TIME, None, None, headers),
        Record(1, TIME, b"k", b"v"),
        Record(2, TIME, None, b"", headers),
    ]
    assert records_of(build_batch(records)) == records


def test_a_header_key_that_is_no_utf_8_is_mended_as_java_does() -> None:
    batch = build_batch([Record(0, TIME, None, b"v", (("abc", b"1"),))])
    broken = _with_payload(batch, batch[HEADER_SIZE:].replace(b"abc", b"a\xffc"))
    assert records_of(broken)[0].headers == (("a�c", b"1"),)


def test_only_requested_columns_come_in_their_order() -> None:
    records = many_records(SHAPES[5], 4, 90)
    scanned = scan(build_batch(records, base_offset=10), start_offset=0)
    whole = decode(scanned, "t", 1, COLUMNS)
    for columns in (("value",), ("key",), ("headers",), ("offset", "key"), ("timestampType",), COLUMNS[::-1]):
        rows = decode(scanned, "t", 1, columns)
        assert rows.schema.equals(projected(columns))
        assert rows.equals(whole.select(columns))
    assert decode(scanned, "t", 1).schema.equals(ROW_SCHEMA)
    assert decode(scanned, "t", 1, ()).num_rows == 90


@pytest.mark.parametrize("columns", [("nothing",), ("key", "Key"), ("key", "key")])
def test_columns_that_no_row_has_are_refused(columns: tuple[str, ...]) -> None:
    with pytest.raises(ValueError):
        projected(columns)


def test_nothing_gives_no_rows() -> None:
    assert records_of(b"") == []
    assert records_of(build_batch([], base_offset=3)) == []


@given(st.sampled_from(SHAPES), st.integers(0, 1 << 32), st.sampled_from((1, 3, 50, 600)))
@settings(max_examples=150)
def test_damage_that_a_checksum_does_not_show_is_found_or_harmless(
    shape: Shape, seed: int, count: int
) -> None:
    chance = random.Random(seed)
    batch = build_batch(many_records(shape, seed, count), base_offset=9)
    payload = bytearray(batch[HEADER_SIZE:])
    for _ in range(chance.randrange(1, 4)):
        payload[chance.randrange(min(len(payload), 40))] = chance.randrange(256)
    damaged = _with_payload(batch, bytes(payload))
    try:
        ours = records_of(damaged)
    except (CorruptRecords, MalformedTimestamp):
        ours = None
    try:
        theirs = decode_records(damaged)
    except KafkaError:
        return
    if all(9 <= record.offset < 9 + count and abs(record.timestamp) <= MOST_MS for record in theirs):
        assert ours == theirs


@pytest.mark.parametrize("count", [-1, 0, 1, 3, 10, 2**31 - 1])
@pytest.mark.parametrize("codec", CODECS)
def test_a_count_that_is_not_that_of_the_records_is_corrupt(count: int, codec: int) -> None:
    batch = build_batch([Record(0, TIME, b"k", b"v"), Record(1, TIME, b"k", b"v")], compression=codec)
    header = parse_header(batch)._replace(record_count=count)
    with pytest.raises(CorruptRecords, match="topic-3 at offset 0"):
        records_of(assemble(header, batch[HEADER_SIZE:]))


@pytest.mark.parametrize(
    "body",
    [
        b"\x00\x00\x00\x01\x01",  # ends before its headers
        b"\x00\x00\x00\x7f\x01\x00",  # a key of -64 bytes, which is null as everywhere
        b"\x00\x00\x00\x10abc\x01\x00",  # a key longer than the record
        b"\x00\x00\x00\x01\xfe\xff\xff\xff\x0f\x00",  # a value of 2 GiB
        b"\x00\x00\x00\x01\x01\xfe\xff\xff\xff\x0f",  # as many headers
        b"\x00\x00\x00\x01\x01\x01",  # -1 headers
        b"\x00\x00\x00\x01\x01\x02\x01\x01",  # a header without a key
        b"\x00\x00\x00\x01\x01\x02\x02a\x10",  # a header value longer than the record
        b"\x00\x00\x00\x01\x01\x00\x00",  # a byte left over
        b"\x00" + b"\xff" * 12,  # a time that does not end
        b"\x00\x00\x02\x01\x01\x00",  # an offset beyond the batch
        b"\x00\x00\x01\x01\x01\x00",  # an offset before it
    ],
)
def test_lengths_that_lie_are_corrupt_and_never_read_beyond(body: bytes) -> None:
    batch = build_batch([Record(0, TIME, b"k", b"v")], base_offset=12)
    record = bytes([len(body) * 2]) + body
    if body[3] == 0x7F:
        assert records_of(_with_payload(batch, record))[0].key is None
        return
    with pytest.raises(CorruptRecords, match="topic-3 at offset 12"):
        records_of(_with_payload(batch, record))


def _with_payload(batch: bytes, payload: bytes) -> bytes:
    return assemble(parse_header(batch), payload)


def _read_by(batch: Any) -> list[Record]:
    return [
        Record(record.offset, record.timestamp, record.key, record.value, tuple(map(tuple, record.headers)))
        for record in batch
    ]
