"""Building record batches: what a producer, a coordinator, recompression and compaction write.

Bytes equal Kafka's own for the same records without compression: base timestamp is the first record's, deltas
are signed varints, record attributes are zero.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from struct import Struct

from crc32c import crc32c

from barnabas.records.batch import (
    ATTRIBUTES_OFFSET,
    CODEC_MASK,
    CONTROL_MASK,
    CRC_OFFSET,
    CREATE_TIME,
    DELETE_HORIZON_MASK,
    HEADER,
    HEADER_SIZE,
    LOG_APPEND_TIME,
    LOG_OVERHEAD,
    MAGIC_V2,
    NO_LEADER_EPOCH,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    TIMESTAMP_TYPE_MASK,
    TRANSACTIONAL_MASK,
    BatchHeader,
    Buffer,
)
from barnabas.records.compression import NONE, compress
from barnabas.records.record import Record, RecordHeaders, max_timestamp_of
from barnabas.records.varint import encode_varint

_CRC = Struct(">I")
_LENGTH_WITHOUT_RECORDS = HEADER_SIZE - LOG_OVERHEAD
_NULL = encode_varint(-1)


def build_batch(
    records: Sequence[Record],
    *,
    base_offset: int = 0,
    compression: int = NONE,
    compression_level: int | None = None,
    timestamp_type: int = CREATE_TIME,
    log_append_time: int = NO_TIMESTAMP,
    producer_id: int = NO_PRODUCER_ID,
    producer_epoch: int = NO_PRODUCER_EPOCH,
    base_sequence: int = NO_SEQUENCE,
    leader_epoch: int = NO_LEADER_EPOCH,
    transactional: bool = False,
    control: bool = False,
    keep_offsets: bool = False,
    last_offset: int | None = None,
    delete_horizon: int | None = None,
) -> bytes:
    """One batch of `records`, numbered from `base_offset` on whatever offsets they carry.

    With `keep_offsets` they keep their own, with gaps, as compaction leaves them; `last_offset` then states
    an end beyond the last record's. With LogAppendTime `log_append_time` becomes the batch's max timestamp.
    """
    horizon_set = delete_horizon is not None
    first_timestamp = records[0].timestamp if records else NO_TIMESTAMP
    base_timestamp = first_timestamp if delete_horizon is None else delete_horizon
    deltas: Iterable[int] = (
        [record.offset - base_offset for record in records] if keep_offsets else range(len(records))
    )
    if last_offset is not None:
        last_offset_delta = last_offset - base_offset
    elif keep_offsets and records:
        last_offset_delta = records[-1].offset - base_offset
    else:
        last_offset_delta = max(0, len(records) - 1)
    append_time = timestamp_type == LOG_APPEND_TIME
    attributes = (
        (compression & CODEC_MASK)
        | (TIMESTAMP_TYPE_MASK if append_time else 0)
        | (TRANSACTIONAL_MASK if transactional else 0)
        | (CONTROL_MASK if control else 0)
        | (DELETE_HORIZON_MASK if horizon_set else 0)
    )
    header = BatchHeader(
        base_offset, 0, leader_epoch, MAGIC_V2, 0, attributes, last_offset_delta, base_timestamp,
        log_append_time if append_time else max_timestamp_of(records),
        producer_id, producer_epoch, base_sequence, len(records),
    )  # fmt: skip
    payload = encode_records(records, deltas, base_timestamp)
    return assemble(header, compress(compression, payload, compression_level))


def build_plain_batch(entries: Sequence[tuple[bytes, bytes | None]], timestamp: int) -> bytes:
    """One uncompressed batch of keys and values, all of one time: what a coordinator writes."""
    parts: list[bytes] = []
    for number, (key, value) in enumerate(entries):
        delta = encode_varint(number)
        frame = _plain_frame(len(delta), len(key), -1 if value is None else len(value))
        parts += (frame[0], delta, frame[1], key, frame[2], value or b"", b"\x00")
    payload, count = b"".join(parts), len(entries)
    head = HEADER.pack(
        0, _LENGTH_WITHOUT_RECORDS + len(payload), NO_LEADER_EPOCH, MAGIC_V2, 0, 0, max(0, count - 1),
        timestamp, timestamp, NO_PRODUCER_ID, NO_PRODUCER_EPOCH, NO_SEQUENCE, count,
    )  # fmt: skip
    return with_checksum(head, payload)


@lru_cache(maxsize=1024)  # coordinators write records of few shapes
def _plain_frame(delta_size: int, key_size: int, value_size: int) -> tuple[bytes, bytes, bytes]:
    """What stands before the offset delta, the key and the value; a record without headers ends in a zero."""
    key_length, value_length = encode_varint(key_size), encode_varint(value_size)
    # Attributes, timestamp delta and header count are a zero byte each.
    size = 3 + delta_size + len(key_length) + key_size + len(value_length) + max(0, value_size)
    return encode_varint(size) + b"\x00\x00", key_length, value_length


def assemble(header: BatchHeader, payload: Buffer) -> bytes:
    """The batch of `header` and its records as stored, with the length and the checksum that they have."""
    base_offset, _, leader_epoch, magic, _, *rest = header
    length = _LENGTH_WITHOUT_RECORDS + len(payload)
    return with_checksum(HEADER.pack(base_offset, length, leader_epoch, magic, 0, *rest), payload)


def with_checksum(head: bytes, payload: Buffer) -> bytes:
    """The batch of a packed header, which has any checksum, and its records as stored."""
    checked = head[ATTRIBUTES_OFFSET:]
    return b"".join((head[:CRC_OFFSET], _CRC.pack(crc32c(payload, crc32c(checked))), checked, payload))


def encode_records(records: Sequence[Record], offset_deltas: Iterable[int], base_timestamp: int) -> bytes:
    """The uncompressed records, as they stand behind a batch header."""
    parts: list[bytes] = []
    varint = encode_varint
    for (_, timestamp, key, value, headers), delta in zip(records, offset_deltas, strict=True):
        body = b"".join(
            (
                b"\x00",
                varint(timestamp - base_timestamp),
                varint(delta),
                _NULL if key is None else varint(len(key)) + key,
                _NULL if value is None else varint(len(value)) + value,
                _encode_headers(headers) if headers else b"\x00",
            )
        )
        parts += (varint(len(body)), body)
    return b"".join(parts)


def _encode_headers(headers: RecordHeaders) -> bytes:
    parts = [encode_varint(len(headers))]
    for name, value in headers:
        raw = name.encode()
        parts += (encode_varint(len(raw)), raw)
        parts += (_NULL,) if value is None else (encode_varint(len(value)), value)
    return b"".join(parts)
