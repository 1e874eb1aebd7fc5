"""Decoders of keys and values: text, numbers, or the records of Kafka's internal topics.

A decoder turns a record into a `Decoded`; the caller formats it. For a record of an internal topic that
cannot be decoded the error is shown instead of the key, as in Kafka, and the dump goes on.
"""

import uuid
from collections.abc import Callable, Mapping
from struct import Struct, error
from typing import NamedTuple, Protocol

from barnabas.base.errors import CorruptMessage
from barnabas.cli.dump import Unreadable
from barnabas.cli.dump.message import read_message, to_json
from barnabas.cli.dump.schema import Json, RecordSchema, Schema
from barnabas.records.record import Record
from barnabas.wire.message_fields import FieldReader

DELETED = "<DELETE>"
_FRAME_VERSION = 1


class Decoded(NamedTuple):
    key: Json
    value: Json
    """None if there is nothing to show."""
    is_deletion: bool = False


class Decoder(Protocol):
    def decode(self, record: Record) -> Decoded: ...


def text_of(value: Json) -> str:
    """The text of Kafka's dump."""
    if isinstance(value, str):
        return value
    if isinstance(value, bytes):
        return value.hex()
    return to_json(value)


# --- keys and values of users ---------------------------------------------------------------------------


def utf8(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


def _number(form: str, *, exact: bool) -> Callable[[bytes], Json]:
    struct = Struct(form)

    def decode(raw: bytes) -> Json:
        if exact and len(raw) != struct.size:
            raise Unreadable(f"Size of data received is not {struct.size}")
        try:
            value: int | float = struct.unpack_from(raw)[0]
        except error:
            raise Unreadable(f"{len(raw)} bytes are too few for a number of {struct.size}") from None
        return value

    return decode


def _uuid(raw: bytes) -> str:
    try:
        return str(uuid.UUID(utf8(raw)))
    except ValueError:
        raise Unreadable(f"{utf8(raw)!r} is not a UUID") from None


_DECODERS: Mapping[str, Callable[[bytes], Json]] = {
    "StringDecoder": utf8,
    "DefaultDecoder": bytes,
    "IntegerDecoder": _number(">i", exact=False),
    "LongDecoder": _number(">q", exact=False),
}
_DESERIALIZERS: Mapping[str, Callable[[bytes], Json]] = {
    "StringDeserializer": utf8,
    "ByteArrayDeserializer": bytes,
    "BytesDeserializer": bytes,
    "ByteBufferDeserializer": bytes,
    "ShortDeserializer": _number(">h", exact=True),
    "IntegerDeserializer": _number(">i", exact=True),
    "LongDeserializer": _number(">q", exact=True),
    "FloatDeserializer": _number(">f", exact=True),
    "DoubleDeserializer": _number(">d", exact=True),
    "BooleanDeserializer": _number(">?", exact=True),
    "UUIDDeserializer": _uuid,
}
_PACKAGES: Mapping[str, Mapping[str, Callable[[bytes], Json]]] = {
    "org.apache.kafka.tools.api": _DECODERS,
    "kafka.serializer": _DECODERS,
    "org.apache.kafka.common.serialization": _DESERIALIZERS,
}


def named_decoder(name: str) -> Callable[[bytes], Json]:
    """Selects a decoder by the name of the Java class. Text without a name."""
    if not name:
        return utf8
    package, _, short = name.rpartition(".")
    decode = _PACKAGES.get(package, {}).get(short)
    if decode is None:
        raise Unreadable(f"Failed to load decoder class {name}: only Kafka's own are built in")
    return decode


class UserDecoder:
    def __init__(self, key: Callable[[bytes], Json] = utf8, value: Callable[[bytes], Json] = utf8) -> None:
        self._key: Callable[[bytes], Json] = key
        self._value: Callable[[bytes], Json] = value

    def decode(self, record: Record) -> Decoded:
        _, _, key, value, _ = record
        return Decoded(None if key is None else self._key(key), None if value is None else self._value(value))


# --- records of internal topics -------------------------------------------------------------------------


class CoordinatorDecoder:
    """Topics of a coordinator: the key begins with the type of the record, the value with its version."""

    def __init__(self, schemas: Mapping[int, RecordSchema]) -> None:
        self._schemas: Mapping[int, RecordSchema] = schemas

    def decode(self, record: Record) -> Decoded:
        if record.key is None:
            raise Unreadable(
                f"Failed to decode message at offset {record.offset} using the specified decoder "
                "(message had a missing key)"
            )
        try:
            return self._decode(record.offset, record.key, record.value)
        except CorruptMessage as reason:
            return Decoded(f"Error at offset {record.offset}, skipping. {reason.message}", None)

    def _decode(self, offset: int, key: bytes, value: bytes | None) -> Decoded:
        reader = FieldReader(key)
        kind = reader.int16()
        schema = self._schemas.get(kind)
        if schema is None:
            return Decoded(f"Unknown record type {kind} at offset {offset}, skipping.", None)
        shown: Json = {"type": str(kind), "data": dict(read_message(schema.key, 0, reader))}
        if value is None:
            return Decoded(shown, None, is_deletion=True)
        reader = FieldReader(value)
        version = reader.int16()
        message = self._refine(kind, read_message(schema.value, version, reader))
        return Decoded(shown, {"version": str(version), "data": message})

    def _refine(self, kind: int, message: dict[str, Json]) -> dict[str, Json]:
        return message


class OffsetsDecoder(CoordinatorDecoder):
    """`__consumer_offsets`; members of classic consumer groups are shown down to their subscriptions."""

    _GROUP_METADATA = 2

    def __init__(self) -> None:
        from barnabas.cli.dump.schemas import group_records as consumer
        from barnabas.cli.dump.schemas import newer_group_records as newer

        super().__init__(consumer.GROUP_RECORDS | newer.SHARE_GROUP_RECORDS | newer.STREAMS_GROUP_RECORDS)
        self._inner: dict[str, Schema] = {
            "subscription": consumer.SUBSCRIPTION,
            "assignment": consumer.ASSIGNMENT,
        }

    def _refine(self, kind: int, message: dict[str, Json]) -> dict[str, Json]:
        members = message.get("members")
        if (
            kind == self._GROUP_METADATA
            and message["protocolType"] == "consumer"
            and isinstance(members, list)
        ):
            for member in members:
                if isinstance(member, dict):
                    self._open(member)
        return message

    def _open(self, member: dict[str, Json]) -> None:
        for name, schema in self._inner.items():
            raw = member[name]
            if not isinstance(raw, bytes):
                continue
            reader = FieldReader(raw)
            try:
                # A newer version only appends fields: read the known ones.
                member[name] = read_message(schema, min(reader.int16(), schema.newest), reader)
            except CorruptMessage:
                continue  # some clients store their own bytes here: keep them as bytes


class ClusterMetadataDecoder:
    """The log of a KRaft controller: no keys; the value begins with frame (1), type and version."""

    def decode(self, record: Record) -> Decoded:
        from barnabas.cli.dump.schemas.metadata_records import METADATA_RECORDS

        reader = FieldReader(record.value or b"")
        try:
            frame = reader.unsigned_varint()
            if frame != _FRAME_VERSION:
                raise CorruptMessage(f"Could not deserialize metadata record with frame version {frame}.")
            kind, version = reader.unsigned_varint(), reader.unsigned_varint()
            if kind not in METADATA_RECORDS:
                raise CorruptMessage(f"Unknown metadata id {kind}")
            name, schema = METADATA_RECORDS[kind]
            message = read_message(schema, version, reader)
        except CorruptMessage as reason:
            return Decoded(None, f"Error at {record.offset}, skipping. {reason.message}")
        return Decoded(None, {"type": name, "version": version, "data": message})


def transaction_decoder() -> Decoder:
    from barnabas.cli.dump.schemas.transaction_records import TRANSACTION_RECORDS

    return CoordinatorDecoder(TRANSACTION_RECORDS)


def share_state_decoder() -> Decoder:
    from barnabas.cli.dump.schemas.share_state_records import SHARE_STATE_RECORDS

    return CoordinatorDecoder(SHARE_STATE_RECORDS)


_BY_TOPIC: Mapping[str, Callable[[], Decoder]] = {
    "__consumer_offsets": OffsetsDecoder,
    "__transaction_state": transaction_decoder,
    "__share_group_state": share_state_decoder,
    "__cluster_metadata": ClusterMetadataDecoder,
}


def decoder_of_topic(topic: str) -> Decoder:
    return _BY_TOPIC.get(topic, UserDecoder)()
