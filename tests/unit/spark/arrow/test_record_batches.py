from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from aiokafka.record.default_records import DefaultRecordBatch as AioBatch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.strategies.records import CODECS, record_lists
from tests.unit.spark.arrow.samples import SHAPES, TIME, bulks, headers_column, many_records, records_of

from barnabas.records.batch import HEADER_SIZE, crc_is_valid, parse_header
from barnabas.records.builder import build_batch
from barnabas.records.record import Record, decode_records
from barnabas.spark.arrow.record_batches import EncodedBatch, RowColumns, encode
from barnabas.spark.arrow.row_schema import HEADERS_TYPE

BYTE_TYPES = (pa.binary(), pa.large_binary(), pa.binary_view())
TEXT_TYPES = (pa.string(), pa.large_string(), pa.string_view())


def _columns(records: list[Record], kind: pa.DataType = BYTE_TYPES[0]) -> RowColumns:
    return RowColumns(
        pa.array([record.key for record in records], kind),
        pa.array([record.value for record in records], kind),
        headers_column(records),
        np.array([record.timestamp for record in records], np.int64),
    )


def _bytes(batch: EncodedBatch) -> bytes:
    return batch.head + bytes(batch.body)


def _numbered(batches: list[EncodedBatch]) -> bytes:
    """The batches with the offsets that a broker would give them."""
    parts, offset = [], 0
    for batch in batches:
        parts.append(offset.to_bytes(8, "big") + _bytes(batch)[8:])
        offset += batch.count
    return b"".join(parts)


@given(record_lists() | bulks.filter(len), st.sampled_from(BYTE_TYPES))
@settings(max_examples=60)
def test_bytes_equal_those_of_the_record_codec(records: list[Record], kind: pa.DataType) -> None:
    (batch,) = encode(
        _columns(records, kind), producer_id=5, producer_epoch=6, base_sequence=7, is_transactional=True,
        batch_bytes=1 << 30,
    )  # fmt: skip
    expected = build_batch(records, producer_id=5, producer_epoch=6, base_sequence=7, transactional=True)
    assert _bytes(batch) == expected
    assert (batch.count, batch.base_sequence, batch.size) == (len(records), 7, len(expected))


@given(st.sampled_from(CODECS), record_lists() | bulks, st.integers(80, 20_000))
@settings(max_examples=60)
def test_what_is_encoded_is_decoded_again(codec: int, records: list[Record], batch_bytes: int) -> None:
    batches = encode(_columns(records), codec=codec, batch_bytes=batch_bytes)
    for batch in batches:
        header = parse_header(_bytes(batch))
        assert crc_is_valid(_bytes(batch), 0, header)
        assert (header.compression, header.record_count) == (codec, batch.count)
        assert header.last_offset == batch.count - 1
        assert batch.count == 1 or codec or batch.size <= batch_bytes
    assert records_of(_numbered(batches)) == records


@given(st.sampled_from(CODECS), record_lists())
@settings(max_examples=40)
def test_aiokafka_reads_what_is_encoded(codec: int, records: list[Record]) -> None:
    (batch,) = encode(_columns(records), codec=codec)
    theirs: Any = AioBatch(_bytes(batch))
    assert theirs.validate_crc()
    read = [Record(each.offset, each.timestamp, each.key, each.value, tuple(each.headers)) for each in theirs]
    assert read == records


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=20))
def test_times_of_any_size_and_order_are_written(times: list[int]) -> None:
    records = [Record(number, time, None, b"v") for number, time in enumerate(times)]
    batches = encode(_columns(records))
    read = [record.timestamp for batch in batches for record in decode_records(_bytes(batch))]
    # A span of more than 63 bits wraps around, as in Java.
    assert [time % 2**64 for time in read] == [time % 2**64 for time in times]
    assert parse_header(_bytes(batches[0])).max_timestamp == max(times)


@pytest.mark.parametrize("kind", TEXT_TYPES)
def test_text_is_written_as_utf_8(kind: pa.DataType) -> None:
    texts = ["a", "", None, "é€😀" * 40]
    columns = RowColumns(pa.array(texts, kind), pa.array(texts, kind), None, TIME)
    (batch,) = encode(columns)
    expected = [None if text is None else text.encode() for text in texts]
    assert [record.key for record in decode_records(_bytes(batch))] == expected
    assert [record.value for record in decode_records(_bytes(batch))] == expected


@pytest.mark.parametrize("kind", BYTE_TYPES)
@given(st.integers(0, 40), st.integers(1, 40))
@settings(max_examples=20)
def test_sliced_columns_are_written_from_where_they_begin(kind: pa.DataType, start: int, length: int) -> None:
    records = many_records(SHAPES[-1], 6, 80)
    whole = _columns(records, kind)
    part = RowColumns(
        whole.key.slice(start, length),  # type: ignore[union-attr]  # pyarrow has no types: None is left over
        whole.value.slice(start, length),
        whole.headers.slice(start, length),  # type: ignore[union-attr]  # likewise
        whole.timestamp_ms[start : start + length],  # type: ignore[index]  # an array here
    )
    (batch,) = encode(part)
    assert [each[1:] for each in decode_records(_bytes(batch))] == [
        each[1:] for each in records[start : start + length]
    ]


def test_without_keys_and_headers_and_with_one_time_for_all() -> None:
    values = pa.array([b"a", None, b""], pa.binary())
    (batch,) = encode(RowColumns(None, values, None, 55))
    assert decode_records(_bytes(batch)) == [
        Record(0, 55, None, b"a"),
        Record(1, 55, None, None),
        Record(2, 55, None, b""),
    ]


def test_columns_of_nulls_alone_are_written() -> None:
    (batch,) = encode(RowColumns(pa.nulls(2), pa.nulls(2), pa.nulls(2, HEADERS_TYPE), 1))
    assert decode_records(_bytes(batch)) == [Record(0, 1, None, None), Record(1, 1, None, None)]


def test_no_rows_are_no_batches() -> None:
    assert encode(RowColumns(None, pa.array([], pa.binary()), None, 1)) == []


def test_null_lists_over_bytes_that_are_not_theirs_have_no_headers() -> None:
    pairs = pa.array([{"key": "a", "value": b"1"}, {"key": "b", "value": None}], HEADERS_TYPE.value_type)
    lists = pa.ListArray.from_arrays(
        pa.array([0, 1, 2], pa.int32()), pairs, mask=pa.array([True, False]), type=HEADERS_TYPE
    )
    (batch,) = encode(RowColumns(None, pa.array([b"x", b"y"]), lists, 1))
    assert [record.headers for record in decode_records(_bytes(batch))] == [(), (("b", None),)]


@pytest.mark.parametrize("pair", [None, {"key": None, "value": b"x"}])
def test_headers_without_a_key_are_refused(pair: object) -> None:
    headers = pa.array([[pair]], HEADERS_TYPE)
    with pytest.raises(ValueError, match="a header has no key"):
        encode(RowColumns(None, pa.array([b"x"]), headers, 1))


def test_columns_that_hold_no_bytes_are_refused() -> None:
    with pytest.raises(TypeError, match="not int64"):
        encode(RowColumns(None, pa.array([1, 2]), None, 1))


def test_columns_of_different_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match="different lengths"):
        encode(RowColumns(pa.array([b"k"]), pa.array([b"x", b"y"]), None, 1))


def test_sequences_go_on_over_batches_and_wrap_around() -> None:
    values = pa.array([b"x" * 100] * 10)
    batches = encode(
        RowColumns(None, values, None, 1),
        producer_id=1, producer_epoch=0, base_sequence=2**31 - 3, batch_bytes=HEADER_SIZE + 250,
    )  # fmt: skip
    assert [batch.count for batch in batches] == [2] * 5
    assert [batch.base_sequence for batch in batches] == [2**31 - 3, 2**31 - 1, 1, 3, 5]
    assert [parse_header(batch.head).base_sequence for batch in batches] == [2**31 - 3, 2**31 - 1, 1, 3, 5]


def test_a_row_longer_than_a_batch_has_one_to_itself() -> None:
    values = pa.array([b"a", b"b" * 5000, b"c", b"d"])
    batches = encode(RowColumns(None, values, None, 1), batch_bytes=1000)
    assert [batch.count for batch in batches] == [1, 1, 2]
