"""The records of a consumer group as a whole. Each has version 0 only, which is flexible.

3   consumer group            epoch (int32); tag 0: hash of the subscribed topics (int64, absent for 0)
4   partition metadata        not interpreted: Kafka 4.1 replaced it by that hash
6   target assignment         its epoch (int32); tag 0: when it was computed (int64, absent for 0)
16  regular expression        topics (strings), version of the metadata (int64), timestamp (int64)
"""

from barnabas.group.record_codec.record_types import RecordType
from barnabas.group.records import (
    ConsumerGroupMetadata,
    ConsumerGroupPartitionMetadata,
    ConsumerGroupRegularExpression,
    ConsumerGroupTargetAssignmentMetadata,
    ConsumerGroupValue,
    RegularExpressionValue,
    TargetMetadataValue,
)
from barnabas.wire.message_fields import (
    INT16,
    INT32,
    INT64,
    NO_TAGS,
    FieldReader,
    compact_array,
    compact_string,
    compact_text,
    encode_key,
    tagged_fields,
)

_NEWEST = 0
_VERSION = INT16.pack(_NEWEST)


def _encode_epoch(epoch: int, tagged: int) -> bytes:
    """An epoch, and the one tagged number that both records with an epoch have."""
    tags = tagged_fields([(0, INT64.pack(tagged))]) if tagged else NO_TAGS
    return _VERSION + INT32.pack(epoch) + tags


def _decode_epoch(value: bytes) -> tuple[int, int]:
    reader = FieldReader(value)
    reader.version(_NEWEST)
    epoch = reader.int32()
    tagged = reader.tags().get(0)
    return epoch, 0 if tagged is None else tagged.int64()


def encode_consumer_group(record: ConsumerGroupMetadata) -> tuple[bytes, bytes | None]:
    value = record.value
    key = encode_key(RecordType.CONSUMER_GROUP_METADATA, record.group_id)
    return key, None if value is None else _encode_epoch(value.epoch, value.metadata_hash)


def decode_consumer_group(key: FieldReader, value: bytes | None) -> ConsumerGroupMetadata:
    group_id = key.string()
    return ConsumerGroupMetadata(
        group_id, None if value is None else ConsumerGroupValue(*_decode_epoch(value))
    )


def encode_target_metadata(record: ConsumerGroupTargetAssignmentMetadata) -> tuple[bytes, bytes | None]:
    value = record.value
    key = encode_key(RecordType.CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA, record.group_id)
    if value is None:
        return key, None
    return key, _encode_epoch(value.assignment_epoch, value.assignment_timestamp_ms)


def decode_target_metadata(key: FieldReader, value: bytes | None) -> ConsumerGroupTargetAssignmentMetadata:
    group_id = key.string()
    return ConsumerGroupTargetAssignmentMetadata(
        group_id, None if value is None else TargetMetadataValue(*_decode_epoch(value))
    )


def encode_partition_metadata(record: ConsumerGroupPartitionMetadata) -> tuple[bytes, bytes | None]:
    return encode_key(RecordType.CONSUMER_GROUP_PARTITION_METADATA, record.group_id), record.value


def decode_partition_metadata(key: FieldReader, value: bytes | None) -> ConsumerGroupPartitionMetadata:
    return ConsumerGroupPartitionMetadata(key.string(), value)


def encode_regular_expression(record: ConsumerGroupRegularExpression) -> tuple[bytes, bytes | None]:
    value = record.value
    key = encode_key(RecordType.CONSUMER_GROUP_REGULAR_EXPRESSION, record.group_id, record.regular_expression)
    if value is None:
        return key, None
    topics = compact_array([compact_string(topic) for topic in sorted(value.topics)])
    return key, b"".join(
        (_VERSION, topics, INT64.pack(value.version), INT64.pack(value.timestamp_ms), NO_TAGS)
    )


def decode_regular_expression(key: FieldReader, value: bytes | None) -> ConsumerGroupRegularExpression:
    group_id, regular_expression = key.string(), key.string()
    return ConsumerGroupRegularExpression(
        group_id, regular_expression, None if value is None else _decode_resolved(FieldReader(value))
    )


def _decode_resolved(reader: FieldReader) -> RegularExpressionValue:
    reader.version(_NEWEST)
    topics = frozenset(reader.array(compact_text, flexible=True))
    resolved = RegularExpressionValue(topics, reader.int64(), reader.int64())
    reader.tags()
    return resolved
