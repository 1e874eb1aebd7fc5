"""The records of one member of a consumer group. Each has version 0 only, which is flexible.

    5  member              instance id, rack id (nullable strings), client id, client host, subscribed topic
                           names, subscribed regular expression (nullable), rebalance timeout (int32), server
                           assignor (nullable); tag 0: what a member with the classic protocol joined with
    7  target assignment   topics: id, partitions (int32s)
    8  current assignment  member epoch, previous one (int32), state (int8), topics assigned, and pending
                           revocation: id, partitions; tag 0: the epoch each partition was assigned at

Topics are written in the order of their mapping, partitions of a set in ascending order. The classic part of
a member is a structure that may be null, and null is not its default: a member of the consumer protocol has
one byte for it. If the tag is absent, the member has an empty classic part, as in Kafka.
"""

from collections.abc import Mapping
from uuid import UUID

from barnabas.group.record_codec.record_types import RecordType
from barnabas.group.records import (
    Assignment,
    ClassicProtocols,
    ConsumerGroupCurrentMemberAssignment,
    ConsumerGroupMemberMetadata,
    ConsumerGroupTargetAssignmentMember,
    ConsumerMemberValue,
    CurrentAssignmentValue,
    EpochedAssignment,
)
from barnabas.wire.message_fields import (
    INT8,
    INT16,
    INT32,
    NO_TAGS,
    FieldReader,
    compact_array,
    compact_bytes,
    compact_int32s,
    compact_string,
    compact_text,
    encode_key,
    tagged_fields,
)

_NEWEST = 0
_VERSION = INT16.pack(_NEWEST)
_NOTHING_CLASSIC = ClassicProtocols(0, ())
_NULL = b"\x00"
_PRESENT = b"\x01"


def encode_member(record: ConsumerGroupMemberMetadata) -> tuple[bytes, bytes | None]:
    value = record.value
    key = encode_key(RecordType.CONSUMER_GROUP_MEMBER_METADATA, record.group_id, record.member_id)
    if value is None:
        return key, None
    return key, b"".join(
        (
            _VERSION,
            compact_string(value.instance_id),
            compact_string(value.rack_id),
            compact_string(value.client_id),
            compact_string(value.client_host),
            compact_array([compact_string(topic) for topic in value.subscribed_topic_names]),
            compact_string(value.subscribed_topic_regex),
            INT32.pack(value.rebalance_timeout_ms),
            compact_string(value.server_assignor),
            NO_TAGS if value.classic == _NOTHING_CLASSIC else tagged_fields([(0, _classic(value.classic))]),
        )
    )


def _classic(classic: ClassicProtocols | None) -> bytes:
    if classic is None:
        return _NULL
    protocols = [
        compact_string(name) + compact_bytes(metadata) + NO_TAGS for name, metadata in classic.protocols
    ]
    return _PRESENT + INT32.pack(classic.session_timeout_ms) + compact_array(protocols) + NO_TAGS


def decode_member(key: FieldReader, value: bytes | None) -> ConsumerGroupMemberMetadata:
    group_id, member_id = key.string(), key.string()
    return ConsumerGroupMemberMetadata(
        group_id, member_id, None if value is None else _decode_member(FieldReader(value))
    )


def _decode_member(reader: FieldReader) -> ConsumerMemberValue:
    reader.version(_NEWEST)
    instance_id = reader.nullable_string(flexible=True)
    rack_id = reader.nullable_string(flexible=True)
    client_id, client_host = compact_text(reader), compact_text(reader)
    names = tuple(reader.array(compact_text, flexible=True))
    regex = reader.nullable_string(flexible=True)
    rebalance_timeout_ms = reader.int32()
    assignor = reader.nullable_string(flexible=True)
    tagged = reader.tags().get(0)
    classic = _NOTHING_CLASSIC if tagged is None else _decode_classic(tagged)
    return ConsumerMemberValue(
        instance_id, rack_id, client_id, client_host, names, regex, rebalance_timeout_ms, assignor, classic
    )


def _decode_classic(reader: FieldReader) -> ClassicProtocols | None:
    if reader.unsigned_varint() == 0:
        return None
    session_timeout_ms = reader.int32()
    protocols = tuple(reader.array(_decode_protocol, flexible=True))
    reader.tags()
    return ClassicProtocols(session_timeout_ms, protocols)


def _decode_protocol(reader: FieldReader) -> tuple[str, bytes]:
    protocol = compact_text(reader), reader.bytes_field(flexible=True)
    reader.tags()
    return protocol


def encode_target_assignment(record: ConsumerGroupTargetAssignmentMember) -> tuple[bytes, bytes | None]:
    value = record.value
    key = encode_key(RecordType.CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER, record.group_id, record.member_id)
    if value is None:
        return key, None
    topics = [
        topic_id.bytes + compact_int32s(sorted(partitions)) + NO_TAGS
        for topic_id, partitions in value.items()
    ]
    return key, _VERSION + compact_array(topics) + NO_TAGS


def decode_target_assignment(key: FieldReader, value: bytes | None) -> ConsumerGroupTargetAssignmentMember:
    group_id, member_id = key.string(), key.string()
    return ConsumerGroupTargetAssignmentMember(
        group_id, member_id, None if value is None else _decode_target(FieldReader(value))
    )


def _decode_target(reader: FieldReader) -> Assignment:
    reader.version(_NEWEST)
    topics = dict(reader.array(_decode_topic, flexible=True))
    reader.tags()
    return topics


def _decode_topic(reader: FieldReader) -> tuple[UUID, frozenset[int]]:
    topic_id = reader.uuid()
    partitions = frozenset(reader.array(FieldReader.int32, flexible=True))
    reader.tags()
    return topic_id, partitions


def encode_current_assignment(record: ConsumerGroupCurrentMemberAssignment) -> tuple[bytes, bytes | None]:
    value = record.value
    key = encode_key(RecordType.CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT, record.group_id, record.member_id)
    if value is None:
        return key, None
    return key, b"".join(
        (
            _VERSION,
            INT32.pack(value.member_epoch),
            INT32.pack(value.previous_member_epoch),
            INT8.pack(value.state),
            _epoched_topics(value.assigned),
            _epoched_topics(value.pending_revocation),
            NO_TAGS,
        )
    )


def _epoched_topics(assignment: EpochedAssignment) -> bytes:
    return compact_array(
        [topic_id.bytes + _epoched_partitions(epochs) for topic_id, epochs in assignment.items()]
    )


def _epoched_partitions(epochs: Mapping[int, int]) -> bytes:
    if not epochs:
        return compact_int32s(()) + NO_TAGS
    return compact_int32s(list(epochs)) + tagged_fields([(0, compact_int32s(list(epochs.values())))])


def decode_current_assignment(key: FieldReader, value: bytes | None) -> ConsumerGroupCurrentMemberAssignment:
    group_id, member_id = key.string(), key.string()
    return ConsumerGroupCurrentMemberAssignment(
        group_id, member_id, None if value is None else _decode_current(FieldReader(value))
    )


def _decode_current(reader: FieldReader) -> CurrentAssignmentValue:
    reader.version(_NEWEST)
    member_epoch, previous_epoch, state = reader.int32(), reader.int32(), reader.int8()
    # A static member that has left temporarily has a negative epoch. Its partitions were assigned before.
    default_epoch = max(member_epoch, 0)
    assigned, revoked = (
        dict(reader.array(lambda topic: _decode_epoched_topic(topic, default_epoch), flexible=True))
        for _ in range(2)
    )
    reader.tags()
    return CurrentAssignmentValue(member_epoch, previous_epoch, state, assigned, revoked)


def _decode_epoched_topic(reader: FieldReader, default_epoch: int) -> tuple[UUID, Mapping[int, int]]:
    """Before Kafka 4.3 partitions had no epochs of their own: they get the member's epoch."""
    topic_id = reader.uuid()
    partitions = reader.array(FieldReader.int32, flexible=True)
    tagged = reader.tags().get(0)
    epochs = [] if tagged is None else _nullable_int32s(tagged)
    if len(epochs) != len(partitions):
        return topic_id, dict.fromkeys(partitions, default_epoch)
    return topic_id, dict(zip(partitions, epochs, strict=True))


def _nullable_int32s(reader: FieldReader) -> list[int]:
    return reader.int32s(max(reader.unsigned_varint() - 1, 0))
