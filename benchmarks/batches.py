"""Record batches (magic 2) for the generators, encoded once before anything is timed.

An encoder of its own, so that what is replayed does not come from the code under test. Records have no
headers, and a key only where one is given.
"""

from __future__ import annotations

import random
import struct
import time
from collections.abc import Sequence

from crc32c import crc32c

_AFTER_CRC = struct.Struct(">hiqqqhii")
_UP_TO_CRC = struct.Struct(">qiibI")
_CRC = struct.Struct(">I")
_CRC_AT = _UP_TO_CRC.size - _CRC.size
_PRODUCER = struct.Struct(">qhi")
_PRODUCER_AT = _UP_TO_CRC.size + struct.calcsize(">hiqq")
_TRANSACTIONAL = 0x10


def varint(value: int) -> bytes:
    """Zigzag variable-length integer, as in records."""
    return uvarint((value << 1) ^ (value >> 63))


def uvarint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def record(offset_delta: int, value: bytes, key: bytes | None = None) -> bytes:
    # attributes 0, timestamp delta 0, the offset delta, the key (-1: none), the value, no headers
    named = b"\x01" if key is None else varint(len(key)) + key
    body = b"\x00\x00" + varint(offset_delta) + named + varint(len(value)) + value + b"\x00"
    return varint(len(body)) + body


def batch(
    values: list[bytes],
    timestamp_ms: int | None = None,
    keys: Sequence[bytes] | None = None,
    *,
    is_transactional: bool = False,
) -> bytes:
    """One uncompressed batch at base offset 0 holding `values`, with `keys` if any.

    A transactional one gets its producer by `set_producer`.
    """
    now = int(time.time() * 1000) if timestamp_ms is None else timestamp_ms
    count = len(values)
    named = [None] * count if keys is None else keys
    records = b"".join(
        record(delta, value, key) for delta, (value, key) in enumerate(zip(values, named, strict=True))
    )
    return encoded_batch(records, count, now, now, attributes=_TRANSACTIONAL if is_transactional else 0)


def encoded_batch(
    records: bytes, count: int, first_timestamp_ms: int, max_timestamp_ms: int, *, attributes: int
) -> bytes:
    """A batch of `count` records that are encoded, and compressed as `attributes` says."""
    timestamps = first_timestamp_ms, max_timestamp_ms
    checked = _AFTER_CRC.pack(attributes, count - 1, *timestamps, -1, -1, -1, count) + records
    return _UP_TO_CRC.pack(0, 4 + 1 + 4 + len(checked), -1, 2, crc32c(checked)) + checked


def set_producer(encoded: memoryview, producer_id: int, epoch: int, sequence: int = 0) -> None:
    """Make the batch, in place, one of this producer."""
    _PRODUCER.pack_into(encoded, _PRODUCER_AT, producer_id, epoch, sequence)
    _CRC.pack_into(encoded, _CRC_AT, crc32c(encoded[_UP_TO_CRC.size :]))


def batch_of_size(size: int, value_size: int) -> tuple[bytes, int]:
    """The largest batch of `value_size`-byte records within `size` bytes, and its number of records."""
    value = random.Random(value_size).randbytes(value_size)
    room = size - _UP_TO_CRC.size - _AFTER_CRC.size
    count = 0
    while (room := room - len(record(count, value))) >= 0:
        count += 1
    return batch([value] * count), count
