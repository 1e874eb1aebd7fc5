"""Records of `__consumer_offsets` and `__transaction_state` as JSON, in the form of Kafka's formatters.

As in Kafka no line feed follows a record. Records of other types are skipped.
"""

from collections.abc import Mapping
from typing import NamedTuple

from barnabas.base.errors import CorruptMessage
from barnabas.cli.dump.message import read_message, to_json
from barnabas.cli.dump.schema import Json, RecordSchema
from barnabas.cli.messages.deserializers import Undecodable
from barnabas.cli.messages.record_formatter import Formatter, Received
from barnabas.wire.message_fields import FieldReader


class _Kind(NamedTuple):
    schemas: Mapping[int, RecordSchema]
    shown: frozenset[int]


def coordinator_formatter(name: str) -> Formatter:
    """`OffsetsMessageFormatter`, `GroupMetadataMessageFormatter` or `TransactionLogMessageFormatter`."""
    kind = _kind(name)

    def shown(record: Received) -> bytes:
        key = record.key()
        if key is None:
            return b""
        try:
            return _json(kind, key, record.value())
        except CorruptMessage as error:
            raise Undecodable(
                f"Could not read record at offset {record.offset()} due to: {error.message}"
            ) from None

    return shown


def _kind(name: str) -> _Kind:
    if name == "TransactionLogMessageFormatter":
        from barnabas.cli.dump.schemas.transaction_records import TRANSACTION_RECORDS

        return _Kind(TRANSACTION_RECORDS, frozenset(TRANSACTION_RECORDS))
    from barnabas.cli.dump.schemas.group_records import GROUP_RECORDS

    return _Kind(GROUP_RECORDS, frozenset({0, 1} if name == "OffsetsMessageFormatter" else {2}))


def _json(kind: _Kind, key: bytes, value: bytes | None) -> bytes:
    reader = FieldReader(key)
    number = reader.int16()
    schema = kind.schemas.get(number)
    if schema is None or number not in kind.shown:
        return b""
    found: dict[str, Json] = {
        "key": {"type": number, "data": dict(read_message(schema.key, 0, reader))},
        "value": None,
    }
    if value is not None:
        reader = FieldReader(value)
        version = reader.int16()
        found["value"] = {"version": version, "data": dict(read_message(schema.value, version, reader))}
    return to_json(found).encode()
