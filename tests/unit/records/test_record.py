import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies.records import CODECS, record_lists

from barnabas.base.errors import CorruptMessage, InvalidRecord, KafkaError
from barnabas.records.batch import HEADER_SIZE, LOG_APPEND_TIME, crc_is_valid, parse_header
from barnabas.records.builder import assemble, build_batch
from barnabas.records.compression import NONE
from barnabas.records.control import build_end_marker, read_usual_marker
from barnabas.records.record import (
    Record,
    decode_records,
    iter_record_keys,
    record_offsets_and_timestamps,
)

READERS = (decode_records, record_offsets_and_timestamps, lambda batch: list(iter_record_keys(batch)))
SAMPLE = [
    Record(0, 1000, None, None, (("h", None), ("h", b"x"), ("é", b""))),
    Record(1, 900, b"", b"", ()),
    Record(2, 1_700_000_000_000, b"key", b"v" * 300, ()),
]


@given(st.sampled_from(CODECS), record_lists(min_size=0), st.integers(0, 1 << 60))
def test_every_codec_gives_back_the_records(codec: int, records: list[Record], base_offset: int) -> None:
    batch = build_batch(records, base_offset=base_offset, compression=codec)
    header = parse_header(batch)
    expected = [record._replace(offset=base_offset + record.offset) for record in records]
    assert crc_is_valid(batch, 0, header)
    assert header.compression == codec
    assert header.record_count == len(records)
    assert header.max_timestamp == max((record.timestamp for record in records), default=-1)
    assert decode_records(batch) == expected
    assert decode_records(memoryview(bytearray(batch))) == expected
    assert list(iter_record_keys(batch)) == [(record.offset, record.key) for record in expected]
    assert record_offsets_and_timestamps(batch) == [(record.offset, record.timestamp) for record in expected]


def test_records_of_log_append_time_all_have_the_time_of_the_batch() -> None:
    batch = build_batch(SAMPLE, timestamp_type=LOG_APPEND_TIME, log_append_time=77)
    assert parse_header(batch).timestamp_type == LOG_APPEND_TIME
    assert [record.timestamp for record in decode_records(batch)] == [77, 77, 77]
    assert record_offsets_and_timestamps(batch) == [(0, 77), (1, 77), (2, 77)]


def test_offsets_with_gaps_are_kept_on_request() -> None:
    records = [SAMPLE[0]._replace(offset=110), SAMPLE[1]._replace(offset=117)]
    batch = build_batch(records, base_offset=100, keep_offsets=True, last_offset=119)
    assert decode_records(batch) == records
    assert parse_header(batch).last_offset == 119
    assert parse_header(build_batch(records, base_offset=100, keep_offsets=True)).last_offset == 117


def test_a_delete_horizon_replaces_the_base_timestamp() -> None:
    batch = build_batch(SAMPLE, delete_horizon=5_000)
    header = parse_header(batch)
    assert (header.has_delete_horizon, header.base_timestamp) == (True, 5_000)
    assert decode_records(batch) == SAMPLE


@pytest.mark.parametrize(("commit", "kind"), [(True, 1), (False, 0)])
def test_an_end_of_transaction_marker_is_a_control_batch(commit: bool, kind: int) -> None:
    batch = build_end_marker(4, 2, commit, 6, 88, base_offset=30)
    header = parse_header(batch)
    assert header.is_control
    assert header.is_transactional
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (4, 2, -1)
    assert decode_records(batch) == [Record(30, 88, struct.pack(">hh", 0, kind), struct.pack(">hi", 0, 6))]


@pytest.mark.parametrize("commit", [True, False])
def test_a_marker_is_read_by_offsets_as_by_its_records(commit: bool) -> None:
    batch = build_end_marker(4, 2, commit, 6, 88, base_offset=30)
    assert read_usual_marker(batch) == read_usual_marker(memoryview(batch)) == (commit, 6, 88)
    for position in range(len(batch) * 8):
        changed = bytearray(batch)
        changed[position // 8] ^= 1 << position % 8
        found = read_usual_marker(changed)
        if found is not None:
            (record,) = decode_records(changed)
            key, value = struct.unpack(">hh", record.key or b""), struct.unpack(">hi", record.value or b"")
            assert found == (key[1] == 1, value[1], record.timestamp)


def test_only_a_marker_of_the_usual_shape_is_read_by_offsets() -> None:
    batch = build_end_marker(4, 2, True, 6, 88)
    other_kind = [Record(0, 88, struct.pack(">hh", 0, 2), struct.pack(">hi", 0, 6))]
    wider = [Record(0, 88, struct.pack(">hhh", 0, 1, 0), struct.pack(">hi", 0, 6))]
    for other in (
        batch[:-1],
        batch + b"\x00",
        build_batch(other_kind, producer_id=4, transactional=True, control=True),
        build_batch(wider, producer_id=4, transactional=True, control=True),
        build_batch(SAMPLE, producer_id=4, transactional=True),
    ):
        assert read_usual_marker(other) is None


@pytest.mark.parametrize("codec", CODECS)
def test_a_batch_cut_at_any_byte_is_a_kafka_error(codec: int) -> None:
    batch = build_batch(SAMPLE, compression=codec)
    for cut in range(len(batch)):
        for read in READERS:
            with pytest.raises(CorruptMessage):
                read(batch[:cut])


def test_records_cut_at_any_byte_under_a_true_header_are_invalid() -> None:
    batch = build_batch(SAMPLE)
    payload = batch[HEADER_SIZE:]
    for cut in range(len(payload)):
        torn = assemble(parse_header(batch), payload[:cut])
        for read in READERS:
            with pytest.raises(InvalidRecord):
                read(torn)


@given(st.binary(max_size=120), st.integers(-(1 << 31), (1 << 31) - 1), st.sampled_from(CODECS))
def test_garbage_records_are_kafka_errors(garbage: bytes, count: int, codec: int) -> None:
    header = parse_header(build_batch(SAMPLE, compression=codec))._replace(record_count=count)
    for read in READERS:
        try:
            read(assemble(header, garbage))
        except KafkaError:
            continue


@given(st.data())
def test_a_changed_byte_gives_records_or_a_kafka_error(draw: st.DataObject) -> None:
    payload = bytearray(build_batch(SAMPLE)[HEADER_SIZE:])
    payload[draw.draw(st.integers(0, len(payload) - 1))] = draw.draw(st.integers(0, 255))
    for read in READERS:
        try:
            read(assemble(parse_header(build_batch(SAMPLE)), payload))
        except KafkaError:
            continue


@pytest.mark.parametrize("count", [2, 4, -1, (1 << 31) - 1])
def test_a_wrong_count_is_an_invalid_record(count: int) -> None:
    batch = build_batch(SAMPLE)
    header = parse_header(batch)._replace(record_count=count)
    with pytest.raises(InvalidRecord):
        decode_records(assemble(header, batch[HEADER_SIZE:]))


@pytest.mark.parametrize(
    "body",
    [
        "0000000101feffffff0f",  # two thousand million headers
        "000000010103",  # minus two headers
        "00000001010201",  # a header without key
        "000000feffffff0f0100",  # a key longer than memory
        "0000000101000000",  # bytes after the headers
        "",
    ],
)
def test_an_impossible_record_is_invalid(body: str) -> None:
    raw = bytes.fromhex(body)
    header = parse_header(build_batch([Record(0, 0, None, None)], compression=NONE))
    with pytest.raises(InvalidRecord):
        decode_records(assemble(header, bytes([len(raw) * 2]) + raw))


def test_malformed_utf8_in_a_header_is_replaced() -> None:
    header = parse_header(build_batch([Record(0, 0, None, None)]))
    body = bytes.fromhex("0000000101" + "02" + "02ff" + "01")
    (record,) = decode_records(assemble(header, bytes([len(body) * 2]) + body))
    assert record.headers == (("\ufffd", None),)
