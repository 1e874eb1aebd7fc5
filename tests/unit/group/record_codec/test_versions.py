"""Versions that are read but not written, and the bytes that are written, byte by byte."""

from struct import pack
from uuid import UUID

import pytest

from barnabas.base.errors import CorruptMessage
from barnabas.group.record_codec import canonical_key, decode_record, encode_record
from barnabas.group.records import (
    ClassicGroupMetadata,
    ClassicGroupValue,
    ClassicMemberValue,
    ClassicProtocols,
    CommittedOffset,
    ConsumerGroupCurrentMemberAssignment,
    ConsumerGroupMemberMetadata,
    ConsumerGroupMetadata,
    ConsumerGroupTargetAssignmentMember,
    ConsumerGroupValue,
    ConsumerMemberValue,
    CurrentAssignmentValue,
    OffsetCommit,
)

TOPIC_ID = UUID("19fd5cea-9d5e-43ee-85aa-8f57e34c1049")
OFFSET_KEY = b"\x00\x01\x00\x02me\x00\x05topic\x00\x00\x00\x07"


def commit_of(value: CommittedOffset) -> OffsetCommit:
    return OffsetCommit("me", "topic", 7, value)


@pytest.mark.parametrize(
    ("value", "committed"),
    [
        (pack(">hqh4sq", 0, 42, 4, b"meta", 99), CommittedOffset(42, -1, "meta", 99)),
        (pack(">hqh4sqq", 1, 42, 4, b"meta", 99, 111), CommittedOffset(42, -1, "meta", 99, 111)),
        (pack(">hqh4sq", 2, 42, 4, b"meta", 99), CommittedOffset(42, -1, "meta", 99)),
        (pack(">hqih4sq", 3, 42, 5, 4, b"meta", 99), CommittedOffset(42, 5, "meta", 99)),
        (pack(">hqib4sqb", 4, 42, 5, 5, b"meta", 99, 0), CommittedOffset(42, 5, "meta", 99)),
        (
            pack(">hqibqbbb", 4, 42, 5, 1, 99, 1, 0, 16) + TOPIC_ID.bytes,
            CommittedOffset(42, 5, "", 99, -1, TOPIC_ID),
        ),
    ],
)
def test_every_version_of_an_offset_commit_is_read(value: bytes, committed: CommittedOffset) -> None:
    assert decode_record(OFFSET_KEY, value) == commit_of(committed)


def test_an_offset_commit_is_written_in_version_4() -> None:
    assert encode_record(commit_of(CommittedOffset(42, 5, "", 99))) == (
        OFFSET_KEY,
        pack(">hqibqb", 4, 42, 5, 1, 99, 0),
    )
    assert encode_record(commit_of(CommittedOffset(42, 5, "meta", 99, -1, TOPIC_ID))) == (
        OFFSET_KEY,
        pack(">hqib4sqbbb", 4, 42, 5, 5, b"meta", 99, 1, 0, 16) + TOPIC_ID.bytes,
    )


def test_a_commit_that_expires_is_written_in_version_1_which_has_no_leader_epoch() -> None:
    committed = CommittedOffset(42, 5, "", 99, 111, TOPIC_ID)
    key, value = encode_record(commit_of(committed))
    assert value == pack(">hqhqq", 1, 42, 0, 99, 111)
    assert decode_record(key, value) == commit_of(CommittedOffset(42, -1, "", 99, 111))


def test_a_zero_topic_id_is_not_written_whichever_object_it_is() -> None:
    written = encode_record(commit_of(CommittedOffset(42, 5, "", 99, -1, UUID(int=0))))
    assert written == encode_record(commit_of(CommittedOffset(42, 5, "", 99)))


def test_a_commit_of_kafka_0_8_is_a_commit_with_the_key_of_today() -> None:
    legacy_key = b"\x00\x00" + OFFSET_KEY[2:]
    assert decode_record(legacy_key, pack(">hqhq", 0, 42, 0, 99)) == commit_of(
        CommittedOffset(42, -1, "", 99)
    )
    assert canonical_key(legacy_key) == OFFSET_KEY
    assert canonical_key(OFFSET_KEY) == OFFSET_KEY
    assert canonical_key(b"\x01\x00other") == b"\x01\x00other"


def test_unknown_tags_are_skipped() -> None:
    tags = b"\x03" + b"\x00\x10" + TOPIC_ID.bytes + b"\x05\x03new" + b"\x80\x01\x00"
    value = pack(">hqibq", 4, 42, 5, 1, 99) + tags
    assert decode_record(OFFSET_KEY, value) == commit_of(CommittedOffset(42, 5, "", 99, -1, TOPIC_ID))
    group = decode_record(b"\x00\x03\x00\x01g", pack(">hi", 0, 3) + b"\x01\x07\x02ab")
    assert group == ConsumerGroupMetadata("g", ConsumerGroupValue(3, 0))


def test_a_null_where_there_must_be_a_string_is_corrupt() -> None:
    with pytest.raises(CorruptMessage):
        decode_record(OFFSET_KEY, pack(">hqibqb", 4, 42, 5, 0, 99, 0))
    with pytest.raises(CorruptMessage):
        decode_record(OFFSET_KEY, pack(">hqihq", 3, 42, 5, -1, 99))


def text(value: str) -> bytes:
    return pack(">h", len(value)) + value.encode()


def compact(value: str) -> bytes:
    return pack(">b", len(value) + 1) + value.encode()


@pytest.mark.parametrize("version", [0, 1, 2, 3])
def test_every_version_of_a_classic_group_is_read(version: int) -> None:
    value = pack(">h", version) + text("consumer") + pack(">i", 4) + text("range") + text("m1")
    value += (pack(">q", 77) if version >= 2 else b"") + pack(">i", 1) + text("m1")
    value += (text("static") if version >= 3 else b"") + text("client") + text("/host")
    value += (pack(">i", 300) if version >= 1 else b"") + pack(">i", 60) + pack(">i2si1s", 2, b"su", 1, b"a")
    member = ClassicMemberValue(
        "m1",
        "static" if version >= 3 else None,
        "client",
        "/host",
        300 if version >= 1 else 60,
        60,
        b"su",
        b"a",
    )
    timestamp_ms = 77 if version >= 2 else -1
    assert decode_record(b"\x00\x02" + text("g"), value) == ClassicGroupMetadata(
        "g", ClassicGroupValue("consumer", 4, "range", "m1", timestamp_ms, (member,))
    )


def test_the_flexible_version_of_a_classic_group_is_read() -> None:
    value = pack(">h", 4) + compact("consumer") + pack(">i", 4) + compact("range") + b"\x00" + pack(">q", 77)
    value += b"\x02" + compact("m1") + b"\x00" + compact("client") + compact("/host")
    value += pack(">ii", 300, 60) + b"\x03su" + b"\x02a" + b"\x01\x09\x01x" + b"\x00"
    member = ClassicMemberValue("m1", None, "client", "/host", 300, 60, b"su", b"a")
    assert decode_record(b"\x00\x02" + text("g"), value) == ClassicGroupMetadata(
        "g", ClassicGroupValue("consumer", 4, "range", None, 77, (member,))
    )


def member_record(classic: ClassicProtocols | None) -> ConsumerGroupMemberMetadata:
    value = ConsumerMemberValue(None, None, "c", "/h", ("t",), None, 300, None, classic)
    return ConsumerGroupMemberMetadata("g", "m", value)


def test_the_classic_part_of_a_member_is_a_tag_that_says_null() -> None:
    start = b"\x00\x00" + b"\x00\x00" + compact("c") + compact("/h") + b"\x02" + compact("t") + b"\x00"
    start += pack(">i", 300) + b"\x00"
    protocols = ClassicProtocols(45, (("range", b"xy"),))
    present = b"\x01" + pack(">i", 45) + b"\x02" + compact("range") + b"\x03xy" + b"\x00" + b"\x00"
    for classic, tags in (
        (None, b"\x01\x00\x01\x00"),
        (ClassicProtocols(0, ()), b"\x00"),
        (protocols, b"\x01\x00" + pack(">b", len(present)) + present),
    ):
        record = member_record(classic)
        assert encode_record(record)[1] == start + tags
        assert decode_record(*encode_record(record)) == record


@pytest.mark.parametrize(
    ("tags", "epochs"),
    [
        (b"\x00", {3: 8, 1: 8}),
        (b"\x01\x00\x01\x00", {3: 8, 1: 8}),
        (b"\x01\x00\x05\x02" + pack(">i", 6), {3: 8, 1: 8}),
        (b"\x01\x00\x09\x03" + pack(">ii", 6, 7), {3: 6, 1: 7}),
    ],
    ids=["absent", "null", "too few", "there"],
)
def test_partitions_without_epochs_have_the_members(tags: bytes, epochs: dict[int, int]) -> None:
    value = pack(">hiib", 0, 8, 7, 0) + b"\x02" + TOPIC_ID.bytes + b"\x03" + pack(">ii", 3, 1) + tags
    record = decode_record(b"\x00\x08" + text("g") + text("m"), value + b"\x01" + b"\x00")
    assert record == ConsumerGroupCurrentMemberAssignment(
        "g", "m", CurrentAssignmentValue(8, 7, 0, {TOPIC_ID: epochs}, {})
    )


def test_partitions_of_a_static_member_that_left_have_no_negative_epoch() -> None:
    value = pack(">hiib", 0, -2, 7, 0) + b"\x02" + TOPIC_ID.bytes + b"\x02" + pack(">i", 3) + b"\x00"
    record = decode_record(b"\x00\x08" + text("g") + text("m"), value + b"\x01" + b"\x00")
    assert isinstance(record, ConsumerGroupCurrentMemberAssignment)
    assert record.value is not None
    assert record.value.assigned == {TOPIC_ID: {3: 0}}


def test_sets_are_written_in_ascending_order() -> None:
    record = ConsumerGroupTargetAssignmentMember("g", "m", {TOPIC_ID: frozenset({70000, 2, 9, 1})})
    value = encode_record(record)[1]
    assert value == b"\x00\x00\x02" + TOPIC_ID.bytes + b"\x05" + pack(">4i", 1, 2, 9, 70000) + b"\x00\x00"
