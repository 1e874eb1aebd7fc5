"""Batches that cost a broker far more than their bytes, if it unpacks them where others wait."""

from __future__ import annotations

import gzip

from benchmarks.batches import encoded_batch, record, varint

_GZIP = 1
_SMALLEST_RECORD = bytes([12, 0, 0, 0, 1, 1, 0])


def small_batch_of_many(unpacked: int, timestamp_ms: int) -> bytes:
    """A few bytes of gzip that unpack to `unpacked` bytes of the smallest records."""
    count = unpacked // len(_SMALLEST_RECORD)
    packed = gzip.compress(_SMALLEST_RECORD * count, mtime=0)
    return encoded_batch(packed, count, timestamp_ms, timestamp_ms, attributes=_GZIP)


def late_batch(size: int, timestamp_ms: int) -> bytes:
    """About `size` bytes of gzip; only the last record is a millisecond later than `timestamp_ms`."""
    value = bytes(range(100))
    count = size // len(value)
    early = b"".join(record(number, value) for number in range(count - 1))
    body = b"\x00" + varint(1) + varint(count - 1) + b"\x01" + varint(len(value)) + value + b"\x00"
    packed = gzip.compress(early + varint(len(body)) + body, compresslevel=0, mtime=0)
    return encoded_batch(packed, count, timestamp_ms, timestamp_ms + 1, attributes=_GZIP)
