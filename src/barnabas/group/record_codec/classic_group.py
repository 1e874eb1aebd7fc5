"""GroupMetadata: a classic group and its members. Version 3 is written, as in Kafka. Version 4 is flexible.

value  protocol type (string), generation (int32), protocol and leader (nullable strings),
       time of the last change of state (int64, from version 2), members:
       member id, group instance id (nullable, from version 3), client id, client host (strings),
       rebalance timeout (int32, from version 1), session timeout (int32), subscription, assignment (bytes)
"""

from barnabas.group.record_codec.record_types import RecordType
from barnabas.group.records import ClassicGroupMetadata, ClassicGroupValue, ClassicMemberValue
from barnabas.wire.message_fields import (
    INT16,
    INT32,
    INT64,
    FieldReader,
    classic_bytes,
    classic_string,
    encode_key,
)

_WRITTEN_VERSION = 3
_FIRST_FLEXIBLE = 4
_NEWEST = 4
_NO_TIMESTAMP = -1


def encode_classic_group(record: ClassicGroupMetadata) -> tuple[bytes, bytes | None]:
    value = record.value
    key = encode_key(RecordType.GROUP_METADATA, record.group_id)
    return key, None if value is None else _encode_value(value)


def _encode_value(value: ClassicGroupValue) -> bytes:
    parts = [
        INT16.pack(_WRITTEN_VERSION),
        classic_string(value.protocol_type),
        INT32.pack(value.generation),
        classic_string(value.protocol),
        classic_string(value.leader),
        INT64.pack(value.current_state_timestamp_ms),
        INT32.pack(len(value.members)),
    ]
    for member in value.members:
        parts += (
            classic_string(member.member_id),
            classic_string(member.group_instance_id),
            classic_string(member.client_id),
            classic_string(member.client_host),
            INT32.pack(member.rebalance_timeout_ms),
            INT32.pack(member.session_timeout_ms),
            classic_bytes(member.subscription),
            classic_bytes(member.assignment),
        )
    return b"".join(parts)


def decode_classic_group(key: FieldReader, value: bytes | None) -> ClassicGroupMetadata:
    group_id = key.string()
    return ClassicGroupMetadata(group_id, None if value is None else _decode_value(FieldReader(value)))


def _decode_value(reader: FieldReader) -> ClassicGroupValue:
    version = reader.version(_NEWEST)
    flexible = version >= _FIRST_FLEXIBLE
    protocol_type = reader.string(flexible=flexible)
    generation = reader.int32()
    protocol = reader.nullable_string(flexible=flexible)
    leader = reader.nullable_string(flexible=flexible)
    timestamp_ms = reader.int64() if version >= 2 else _NO_TIMESTAMP
    members = tuple(reader.array(lambda element: _decode_member(element, version), flexible=flexible))
    if flexible:
        reader.tags()
    return ClassicGroupValue(protocol_type, generation, protocol, leader, timestamp_ms, members)


def _decode_member(reader: FieldReader, version: int) -> ClassicMemberValue:
    flexible = version >= _FIRST_FLEXIBLE
    member_id = reader.string(flexible=flexible)
    group_instance_id = reader.nullable_string(flexible=flexible) if version >= 3 else None
    client_id = reader.string(flexible=flexible)
    client_host = reader.string(flexible=flexible)
    rebalance_timeout_ms = reader.int32() if version >= 1 else None
    session_timeout_ms = reader.int32()
    member = ClassicMemberValue(
        member_id,
        group_instance_id,
        client_id,
        client_host,
        # Without a rebalance timeout, the session timeout is both.
        session_timeout_ms if rebalance_timeout_ms is None else rebalance_timeout_ms,
        session_timeout_ms,
        reader.bytes_field(flexible=flexible),
        reader.bytes_field(flexible=flexible),
    )
    if flexible:
        reader.tags()
    return member
