"""The records inside a batch.

Each record is a varint length and a body: attributes (int8, unused), timestamp delta (varlong), offset delta
(varint), key and value (varint length, negative for null, then bytes), and a varint count of headers (key:
varint length and UTF-8; value like a record's).

Readers take a whole batch, header included. They check no CRC: it was checked when the batch was received or
stored. What cannot be read raises `InvalidRecord` as in Kafka, or what `compression` raises. The loops are
written out by hand, with short varints inline, because a call per number would be most of the cost.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from barnabas.base.errors import CorruptMessage, InvalidRecord
from barnabas.records.batch import (
    HEADER_SIZE,
    NO_TIMESTAMP,
    TIMESTAMP_TYPE_MASK,
    BatchHeader,
    Buffer,
    parse_header,
)
from barnabas.records.compression import DEFAULT_LIMIT, decompress, decompress_view
from barnabas.records.varint import MAX_UINT32, MAX_UINT64, decode_unsigned, decode_varint, decode_varlong

RecordHeaders = tuple[tuple[str, bytes | None], ...]


class Record(NamedTuple):
    """One record with its absolute offset and timestamp."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: RecordHeaders = ()


def decode_records(batch: Buffer, *, limit: int = DEFAULT_LIMIT) -> list[Record]:
    """Every record of the batch at the start of `batch`; `limit` bounds what it may unpack to."""
    header = parse_header(batch)
    return decode_payload(unpack(batch, header, limit=limit), header)


def unpack(batch: Buffer, header: BatchHeader, *, limit: int = DEFAULT_LIMIT) -> bytes:
    """The uncompressed bytes of the batch's records."""
    if len(batch) < header.size:
        raise CorruptMessage(f"a batch of {header.size} bytes is cut after {len(batch)}")
    with memoryview(batch) as view:
        return decompress(header.compression, view[HEADER_SIZE : header.size], limit)


def unpack_view(batch: Buffer, header: BatchHeader, limit: int) -> memoryview:
    """The same without a copy, for large batches in threads."""
    if len(batch) < header.size:
        raise CorruptMessage(f"a batch of {header.size} bytes is cut after {len(batch)}")
    return decompress_view(header.compression, memoryview(batch)[HEADER_SIZE : header.size], limit)


def decode_payload(payload: bytes, header: BatchHeader) -> list[Record]:  # noqa: C901 - one flat hot loop
    """Every record of `payload`, which is checked whole: lengths, counts and that nothing is left over."""
    base_offset, base_timestamp = header.base_offset, header.base_timestamp
    append_time = header.max_timestamp if header.attributes & TIMESTAMP_TYPE_MASK else None
    records: list[Record] = []
    append, new = records.append, tuple.__new__
    position = 0
    try:
        for _ in range(_checked_count(header)):
            raw = payload[position]
            position += 1
            if raw > 0x7F:
                high = payload[position]
                if high > 0x7F:
                    raw, position = decode_unsigned(payload, position - 1, MAX_UINT32)
                else:
                    raw += (high << 7) - 0x80
                    position += 1
            length = (raw >> 1) ^ -(raw & 1)
            end = position + length
            position += 1
            raw = payload[position]
            position += 1
            if raw > 0x7F:
                high = payload[position]
                if high > 0x7F:
                    raw, position = decode_unsigned(payload, position - 1, MAX_UINT64)
                else:
                    raw += (high << 7) - 0x80
                    position += 1
            delta = (raw >> 1) ^ -(raw & 1)
            timestamp = base_timestamp + delta if append_time is None else append_time
            raw = payload[position]
            position += 1
            if raw > 0x7F:
                high = payload[position]
                if high > 0x7F:
                    raw, position = decode_unsigned(payload, position - 1, MAX_UINT32)
                else:
                    raw += (high << 7) - 0x80
                    position += 1
            delta = (raw >> 1) ^ -(raw & 1)
            key: bytes | None = None
            raw = payload[position]
            position += 1
            if raw > 0x7F:
                high = payload[position]
                if high > 0x7F:
                    raw, position = decode_unsigned(payload, position - 1, MAX_UINT32)
                else:
                    raw += (high << 7) - 0x80
                    position += 1
            length = (raw >> 1) ^ -(raw & 1)
            if length >= 0:
                key = payload[position : position + length]
                position += length
            value: bytes | None = None
            raw = payload[position]
            position += 1
            if raw > 0x7F:
                high = payload[position]
                if high > 0x7F:
                    raw, position = decode_unsigned(payload, position - 1, MAX_UINT32)
                else:
                    raw += (high << 7) - 0x80
                    position += 1
            length = (raw >> 1) ^ -(raw & 1)
            if length >= 0:
                value = payload[position : position + length]
                position += length
            headers: RecordHeaders = ()
            if payload[position]:
                headers, position = _decode_headers(payload, position)
            else:
                position += 1
            if position != end:
                raise InvalidRecord(f"a record of {end} bytes was read up to {position}")
            append(new(Record, (base_offset + delta, timestamp, key, value, headers)))
    except IndexError:
        raise _premature_end() from None
    except CorruptMessage as error:
        raise InvalidRecord(error.message) from error
    if position != len(payload):
        raise InvalidRecord(f"{len(payload) - position} bytes are left over after the last record")
    return records


def _decode_headers(payload: bytes, position: int) -> tuple[RecordHeaders, int]:
    count, position = decode_varint(payload, position)
    if not 0 <= count <= len(payload) - position:
        raise InvalidRecord(f"a record claims {count} headers")
    headers: list[tuple[str, bytes | None]] = []
    for _ in range(count):
        length, position = decode_varint(payload, position)
        if length < 0:
            raise InvalidRecord("a record header has no key")
        # Java replaces malformed UTF-8 too; the stored bytes keep what the producer sent.
        name = payload[position : position + length].decode("utf-8", "replace")
        position += length
        length, position = decode_varint(payload, position)
        value: bytes | None = None
        if length >= 0:
            value = payload[position : position + length]
            position += length
        headers.append((name, value))
    return tuple(headers), position


def iter_record_keys(batch: Buffer, *, limit: int = DEFAULT_LIMIT) -> Iterator[tuple[int, bytes | None]]:
    """(offset, key) of every record; values and headers are skipped unread."""
    header = parse_header(batch)
    payload = unpack(batch, header, limit=limit)
    base_offset = header.base_offset
    position = 0
    for _ in range(_checked_count(header)):
        try:
            length, position = decode_varint(payload, position)
            end = position + length
            _, position = decode_varlong(payload, position + 1)
            delta, position = decode_varint(payload, position)
            length, position = decode_varint(payload, position)
        except CorruptMessage as error:
            raise InvalidRecord(error.message) from error
        if position + max(length, 0) > end or end > len(payload):
            raise _premature_end()
        yield base_offset + delta, payload[position : position + length] if length >= 0 else None
        position = end


def record_offsets_and_timestamps(batch: Buffer, *, limit: int = DEFAULT_LIMIT) -> list[tuple[int, int]]:
    """(offset, timestamp) of every record, jumping from one to the next: what a lookup by time needs."""
    header = parse_header(batch)
    payload = unpack(batch, header, limit=limit)
    base_offset, base_timestamp = header.base_offset, header.base_timestamp
    append_time = header.max_timestamp if header.attributes & TIMESTAMP_TYPE_MASK else None
    found: list[tuple[int, int]] = []
    append = found.append
    position, size = 0, len(payload)
    try:
        for _ in range(_checked_count(header)):
            raw = payload[position]
            position += 1
            if raw > 0x7F:
                high = payload[position]
                if high > 0x7F:
                    raw, position = decode_unsigned(payload, position - 1, MAX_UINT32)
                else:
                    raw += (high << 7) - 0x80
                    position += 1
            length = (raw >> 1) ^ -(raw & 1)
            end = position + length
            position += 1
            raw = payload[position]
            position += 1
            if raw > 0x7F:
                high = payload[position]
                if high > 0x7F:
                    raw, position = decode_unsigned(payload, position - 1, MAX_UINT64)
                else:
                    raw += (high << 7) - 0x80
                    position += 1
            timestamp = (raw >> 1) ^ -(raw & 1)
            raw = payload[position]
            position += 1
            if raw > 0x7F:
                high = payload[position]
                if high > 0x7F:
                    raw, position = decode_unsigned(payload, position - 1, MAX_UINT32)
                else:
                    raw += (high << 7) - 0x80
                    position += 1
            delta = (raw >> 1) ^ -(raw & 1)
            if not position <= end <= size:
                raise _premature_end()
            append((base_offset + delta, base_timestamp + timestamp if append_time is None else append_time))
            position = end
    except IndexError:
        raise _premature_end() from None
    except CorruptMessage as error:
        raise InvalidRecord(error.message) from error
    return found


def max_timestamp_of(records: Sequence[Record]) -> int:
    return max((record.timestamp for record in records), default=NO_TIMESTAMP)


def _checked_count(header: BatchHeader) -> int:
    if header.record_count < 0:
        raise InvalidRecord(f"a batch claims {header.record_count} records")
    return header.record_count


def _premature_end() -> InvalidRecord:
    return InvalidRecord("a record runs off the end of its batch")
