"""The bytes of the records of `__consumer_offsets`: Kafka's own, so that either broker reads the other's log.

    key    int16 record type, then the fields of the key (int16-prefixed strings, int32)
    value  int16 version, then the fields in that version's form; no value is a tombstone

    0  offset commit of Kafka 0.8, read only     5  consumer group member
    1  offset commit                             6  target assignment of a consumer group: its epoch
    2  classic group with its members            7  target assignment of a member
    3  consumer group                            8  current assignment of a member
    4  partition metadata, before Kafka 4.1     16  resolved regular expression

The versions that Kafka 4.3 writes are written, every older one is read. Versions from 4 on, and all consumer
group records, are flexible: compact lengths, and tagged fields at the end, of which unknown ones are skipped.
As in Kafka, bytes that follow the last field are ignored and malformed UTF-8 is replaced. An unknown type is
skipped (share and streams groups). A future version is an error: its meaning is unknown.

Everything unreadable raises `CorruptMessage`. `offset_commit` is the hot path, written by hand.
"""

from collections.abc import Callable, Iterable
from typing import Any

from barnabas.base.errors import CorruptMessage
from barnabas.group.record_codec.classic_group import decode_classic_group, encode_classic_group
from barnabas.group.record_codec.consumer_group import (
    decode_consumer_group,
    decode_partition_metadata,
    decode_regular_expression,
    decode_target_metadata,
    encode_consumer_group,
    encode_partition_metadata,
    encode_regular_expression,
    encode_target_metadata,
)
from barnabas.group.record_codec.consumer_member import (
    decode_current_assignment,
    decode_member,
    decode_target_assignment,
    encode_current_assignment,
    encode_member,
    encode_target_assignment,
)
from barnabas.group.record_codec.offset_commit import (
    decode_offset_commit,
    encode_offset_commit,
    encode_topic_commit,
)
from barnabas.group.record_codec.record_types import RecordType
from barnabas.group.records import (
    ClassicGroupMetadata,
    ConsumerGroupCurrentMemberAssignment,
    ConsumerGroupMemberMetadata,
    ConsumerGroupMetadata,
    ConsumerGroupPartitionMetadata,
    ConsumerGroupRegularExpression,
    ConsumerGroupTargetAssignmentMember,
    ConsumerGroupTargetAssignmentMetadata,
    GroupRecord,
    OffsetCommit,
    TopicCommit,
)
from barnabas.wire.message_fields import INT16, FieldReader

__all__ = ["RecordType", "canonical_key", "decode_record", "encode_record", "record_type_of"]

_LEGACY_OFFSET_COMMIT = INT16.pack(RecordType.LEGACY_OFFSET_COMMIT)
_OFFSET_COMMIT = INT16.pack(RecordType.OFFSET_COMMIT)
_OFFSET_COMMITS = (_OFFSET_COMMIT, _LEGACY_OFFSET_COMMIT)

_ENCODERS: dict[type, Callable[[Any], tuple[bytes, bytes | None]]] = {
    OffsetCommit: encode_offset_commit,
    ClassicGroupMetadata: encode_classic_group,
    ConsumerGroupMetadata: encode_consumer_group,
    ConsumerGroupPartitionMetadata: encode_partition_metadata,
    ConsumerGroupMemberMetadata: encode_member,
    ConsumerGroupTargetAssignmentMetadata: encode_target_metadata,
    ConsumerGroupTargetAssignmentMember: encode_target_assignment,
    ConsumerGroupCurrentMemberAssignment: encode_current_assignment,
    ConsumerGroupRegularExpression: encode_regular_expression,
}
_DECODERS: dict[int, Callable[[FieldReader, bytes | None], GroupRecord]] = {
    RecordType.GROUP_METADATA: decode_classic_group,
    RecordType.CONSUMER_GROUP_METADATA: decode_consumer_group,
    RecordType.CONSUMER_GROUP_PARTITION_METADATA: decode_partition_metadata,
    RecordType.CONSUMER_GROUP_MEMBER_METADATA: decode_member,
    RecordType.CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA: decode_target_metadata,
    RecordType.CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER: decode_target_assignment,
    RecordType.CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT: decode_current_assignment,
    RecordType.CONSUMER_GROUP_REGULAR_EXPRESSION: decode_regular_expression,
}


def encode_record(record: GroupRecord) -> tuple[bytes, bytes | None]:
    """Key and value of `record`. Raises `InvalidRequest` for a string that is too long for the format."""
    return _ENCODERS[type(record)](record)


def encode_records(records: Iterable[GroupRecord | TopicCommit]) -> list[tuple[bytes, bytes | None]]:
    """Keys and values of all records, in order."""
    entries: list[tuple[bytes, bytes | None]] = []
    for record in records:
        if isinstance(record, TopicCommit):
            entries += encode_topic_commit(record)
        else:
            entries.append(_ENCODERS[type(record)](record))
    return entries


def decode_record(key: bytes, value: bytes | None) -> GroupRecord | None:
    """The record of `key` and `value`. Returns None for an unknown type."""
    if key.startswith(_OFFSET_COMMITS):
        return decode_offset_commit(key, value)
    decoder = _DECODERS.get(record_type_of(key))
    return None if decoder is None else decoder(FieldReader(key, INT16.size), value)


def record_type_of(key: bytes) -> int:
    if len(key) < INT16.size:
        raise CorruptMessage(f"a key of {len(key)} bytes has no record type")
    number: int = INT16.unpack_from(key)[0]
    return number


def canonical_key(key: bytes) -> bytes:
    """The canonical form of keys with two forms: a commit of Kafka 0.8 is overwritten by newer commits."""
    return _OFFSET_COMMIT + key[INT16.size :] if key.startswith(_LEGACY_OFFSET_COMMIT) else key
