from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.base.errors import CorruptMessage, KafkaError, UnsupportedForMessageFormat
from barnabas.records.batch import (
    HEADER,
    HEADER_SIZE,
    BatchHeader,
    compute_crc,
    crc_is_valid,
    iter_headers,
    parse_header,
)
from barnabas.records.builder import build_batch, build_plain_batch
from barnabas.records.record import Record

BATCH = build_batch(
    [Record(0, 1000, b"k", b"v"), Record(1, 1005, None, b"w")],
    base_offset=40,
    leader_epoch=7,
    producer_id=9,
    producer_epoch=3,
    base_sequence=5,
    transactional=True,
)


def _with(**changes: int) -> bytes:
    return HEADER.pack(*parse_header(BATCH)._replace(**changes)) + BATCH[HEADER_SIZE:]


def test_a_header_is_61_bytes() -> None:
    assert HEADER_SIZE == 61


def test_the_header_states_what_the_batch_was_built_of() -> None:
    header = parse_header(BATCH)
    assert header.size == len(BATCH)
    assert (header.base_offset, header.last_offset, header.next_offset) == (40, 41, 42)
    assert (header.base_timestamp, header.max_timestamp, header.timestamp_type) == (1000, 1005, 0)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (9, 3, 5)
    assert (header.partition_leader_epoch, header.record_count, header.compression) == (7, 2, 0)
    assert header.last_sequence == 6
    assert header.is_transactional
    assert header.has_producer_id
    assert not header.is_control
    assert not header.has_delete_horizon


@pytest.mark.parametrize(
    ("base", "delta", "last"),
    [(-1, 4, -1), (0, 0, 0), ((1 << 31) - 1, 0, (1 << 31) - 1), ((1 << 31) - 1, 1, 0), ((1 << 31) - 3, 5, 2)],
)
def test_sequences_wrap_after_the_largest_int(base: int, delta: int, last: int) -> None:
    header = parse_header(BATCH)._replace(base_sequence=base, last_offset_delta=delta)
    assert header.last_sequence == last


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_a_header_is_read_anywhere_in_any_buffer(kind: type) -> None:
    buffer = kind(b"###" + BATCH)
    assert parse_header(buffer, 3) == parse_header(BATCH)
    assert compute_crc(buffer, 3, len(BATCH)) == parse_header(BATCH).crc
    assert crc_is_valid(buffer, 3, parse_header(BATCH))


def test_headers_of_several_batches_come_with_their_positions() -> None:
    found = list(iter_headers(BATCH * 3))
    assert found == [(len(BATCH) * index, parse_header(BATCH)) for index in range(3)]
    assert list(iter_headers(b"")) == []


def test_a_torn_tail_is_corrupt_at_every_byte_and_ends_a_lenient_walk() -> None:
    for cut in range(1, len(BATCH)):
        torn = memoryview(BATCH + BATCH[:cut])
        with pytest.raises(CorruptMessage):
            list(iter_headers(torn))
        assert len(list(iter_headers(torn, allow_partial=True))) == 1
        assert not crc_is_valid(torn, len(BATCH), parse_header(BATCH))


@pytest.mark.parametrize("magic", [0, 1])
def test_the_old_message_formats_are_named_as_such(magic: int) -> None:
    with pytest.raises(UnsupportedForMessageFormat):
        parse_header(_with(magic=magic))


@pytest.mark.parametrize("change", [{"magic": 3}, {"magic": -1}, {"batch_length": 48}, {"batch_length": -12}])
def test_an_impossible_header_is_corrupt(change: dict[str, int]) -> None:
    with pytest.raises(CorruptMessage):
        parse_header(_with(**change))


@given(st.binary(max_size=200), st.integers(-5, 210))
def test_garbage_raises_kafka_errors_only(garbage: bytes, position: int) -> None:
    with suppress(KafkaError):
        assert isinstance(parse_header(garbage, position), BatchHeader)
    with suppress(KafkaError):
        list(iter_headers(garbage))


@given(st.integers(21, len(BATCH) - 1), st.integers(1, 255))
def test_any_changed_byte_behind_the_crc_is_noticed(position: int, flip: int) -> None:
    damaged = bytearray(BATCH)
    damaged[position] ^= flip
    assert not crc_is_valid(damaged, 0, parse_header(damaged))


@given(
    st.lists(st.tuples(st.binary(max_size=200), st.none() | st.binary(max_size=3000)), max_size=70),
    st.integers(0, 2**45),
)
def test_plain_batch_equals_the_general_one(entries: list[tuple[bytes, bytes | None]], now_ms: int) -> None:
    records = [Record(0, now_ms, key, value) for key, value in entries]
    if entries:
        assert build_plain_batch(entries, now_ms) == build_batch(records)
