import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.group.record_codec.any_record import any_record, committed_offsets, int32s, texts

from barnabas.base.errors import CorruptMessage, InvalidRequest
from barnabas.group.record_codec import decode_record, encode_record, encode_records
from barnabas.group.records import (
    ClassicGroupMetadata,
    CommittedOffset,
    ConsumerGroupPartitionMetadata,
    ConsumerGroupRegularExpression,
    GroupRecord,
    OffsetCommit,
    RegularExpressionValue,
    TopicCommit,
)


@given(any_record)
def test_what_was_written_is_read(record: GroupRecord) -> None:
    assert decode_record(*encode_record(record)) == record


@given(any_record)
def test_a_tombstone_has_the_key_of_the_record(record: GroupRecord) -> None:
    key, _ = encode_record(record)
    tombstone = decode_record(key, None)
    assert tombstone is not None
    assert tombstone.value is None
    assert encode_record(tombstone) == (key, None)


@given(any_record, st.data())
def test_a_value_that_is_cut_is_corrupt(record: GroupRecord, data: st.DataObject) -> None:
    key, value = encode_record(record)
    if value and not isinstance(record, ConsumerGroupPartitionMetadata):
        cut = data.draw(st.integers(0, len(value) - 1))
        with pytest.raises(CorruptMessage):
            decode_record(key, value[:cut])


@given(any_record, st.data())
def test_a_key_that_is_cut_is_corrupt(record: GroupRecord, data: st.DataObject) -> None:
    key, value = encode_record(record)
    cut = data.draw(st.integers(0, len(key) - 1))
    with pytest.raises(CorruptMessage):
        decode_record(key[:cut], value)


@given(any_record)
def test_bytes_behind_the_last_field_are_ignored(record: GroupRecord) -> None:
    key, value = encode_record(record)
    if value is not None and not isinstance(record, ConsumerGroupPartitionMetadata):
        assert decode_record(key + b"more", value + b"more") == record


@given(
    st.integers(0, 17).map(lambda number: number.to_bytes(2, "big")),
    st.binary(max_size=60),
    st.integers(0, 5).map(lambda number: number.to_bytes(2, "big")),
    st.binary(max_size=120),
)
def test_nonsense_is_read_or_corrupt(kind: bytes, key: bytes, version: bytes, value: bytes) -> None:
    with contextlib.suppress(CorruptMessage):
        decode_record(kind + key, version + value)


@given(any_record, st.data())
def test_a_changed_byte_is_read_or_corrupt(record: GroupRecord, data: st.DataObject) -> None:
    key, value = encode_record(record)
    changed = bytearray(value or b"")
    if changed:
        changed[data.draw(st.integers(0, min(len(changed), 200) - 1))] ^= data.draw(st.integers(1, 255))
        with contextlib.suppress(CorruptMessage):
            decode_record(key, bytes(changed))


@pytest.mark.parametrize("kind", [9, 10, 15, 17, 23, 257, -1])
def test_an_unknown_type_is_no_record(kind: int) -> None:
    key = kind.to_bytes(2, "big", signed=True) + b"\x00\x05group"
    assert decode_record(key, b"\x00\x00whatever") is None
    assert decode_record(key, None) is None


@pytest.mark.parametrize("kind", [1, 2, 3, 5, 6, 7, 8, 16])
@pytest.mark.parametrize("version", [-1, 5, 32767])
def test_a_version_that_is_not_known_is_corrupt(kind: int, version: int) -> None:
    key = kind.to_bytes(2, "big") + b"\x00\x01a" * 2 + b"\x00\x00\x00\x00"
    with pytest.raises(CorruptMessage, match="version"):
        decode_record(key, version.to_bytes(2, "big", signed=True) + bytes(60))


def test_an_array_that_claims_too_much_is_corrupt() -> None:
    key, _ = encode_record(ClassicGroupMetadata("group", None))
    header = b"\x00\x03" + b"\x00\x00" + bytes(4) + b"\xff\xff\xff\xff" + bytes(8)
    assert decode_record(key, header + bytes(4)) is not None
    with pytest.raises(CorruptMessage, match="claims"):
        decode_record(key, header + b"\x7f\xff\xff\xff" + bytes(100))


def test_malformed_utf8_is_replaced_as_java_does() -> None:
    record = decode_record(b"\x00\x02\x00\x02a\xff", None)
    assert record == ClassicGroupMetadata("a\ufffd", None)


@pytest.mark.parametrize("length", [126, 127, 16382, 16383, 32767])
def test_strings_have_up_to_32767_bytes(length: int) -> None:
    text = "x" * length
    for record in (
        OffsetCommit(text, text, 1, CommittedOffset(1, 1, text, 1)),
        ConsumerGroupRegularExpression(text, text, RegularExpressionValue(frozenset([text]), 1, 1)),
    ):
        assert decode_record(*encode_record(record)) == record


def test_a_string_that_is_too_long_is_refused() -> None:
    committed = CommittedOffset(1, 1, "x" * 32768, 1)
    with pytest.raises(InvalidRequest):
        encode_record(OffsetCommit("group", "topic", 0, committed))
    with pytest.raises(InvalidRequest):
        encode_record(ClassicGroupMetadata("ü" * 16384, None))


@given(texts, texts, st.lists(st.tuples(int32s, committed_offsets), min_size=1, max_size=5), st.booleans())
def test_a_commit_of_a_topic_is_written_as_that_of_each_partition(
    group_id: str, topic: str, offsets: list[tuple[int, CommittedOffset]], expires: bool
) -> None:
    first = offsets[0][1]._replace(expire_timestamp_ms=7 if expires else -1)
    same = [(number, CommittedOffset(*value[:3], *first[3:])) for number, value in offsets]
    record = TopicCommit(group_id, topic, same)
    assert encode_records([record]) == [encode_record(each) for each in record.each()]
