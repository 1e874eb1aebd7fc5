"""Control records: transaction markers, and the control records of a Raft log."""

from struct import Struct, error
from typing import NamedTuple

from barnabas.base.errors import CorruptMessage
from barnabas.cli.dump import Unreadable
from barnabas.cli.dump.message import read_message, to_json
from barnabas.cli.dump.schema import Json
from barnabas.records.control import ABORT, COMMIT
from barnabas.records.record import Record
from barnabas.wire.message_fields import FieldReader

_KEY = Struct(">hh")
_MARKER = Struct(">hi")
_MARKERS = {ABORT: "ABORT", COMMIT: "COMMIT"}


class Control(NamedTuple):
    kind: int
    text: str
    """As Kafka's dump has it, with the space before."""
    value: Json


def read_control(record: Record) -> Control:
    from barnabas.cli.dump.schemas.control_records import CONTROL_RECORDS

    kind = _kind(record)
    if kind in _MARKERS:
        try:
            _, epoch = _MARKER.unpack_from(record.value or b"")
        except error:
            raise Unreadable(f"The marker at offset {record.offset} has no coordinator epoch") from None
        text = f" endTxnMarker: {_MARKERS[kind]} coordinatorEpoch: {epoch}"
        return Control(kind, text, {"marker": _MARKERS[kind], "coordinatorEpoch": epoch})
    if kind not in CONTROL_RECORDS:
        return Control(kind, f" controlType: UNKNOWN({kind})", {"controlType": kind})
    label, schema = CONTROL_RECORDS[kind]
    try:
        message = read_message(schema, 0, FieldReader(record.value or b""))
    except CorruptMessage as reason:
        raise Unreadable(
            f"The control record at offset {record.offset} cannot be read: {reason.message}"
        ) from None
    return Control(kind, label + to_json(dict(message)), dict(message))


def _kind(record: Record) -> int:
    key = record.key or b""
    if len(key) < _KEY.size:
        raise Unreadable(
            "Invalid value size found for control record key. Must have at least "
            f"{_KEY.size} bytes, but found only {len(key)}"
        )
    version, kind = _KEY.unpack_from(key)
    if version < 0:
        raise Unreadable(f"Invalid version found for control record: {version}. May indicate data corruption")
    return int(kind)
