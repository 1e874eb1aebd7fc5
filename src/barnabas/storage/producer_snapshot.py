"""The file `<offset>.snapshot`: the producers of a log as of an offset.

Format, big-endian: int16 version (1), uint32 CRC-32C of all that follows, int32 count, and per producer:
int64 id, int16 epoch, int32 last sequence, int64 last offset, int32 offset delta of the last batch, int64
timestamp, int32 coordinator epoch, int64 first offset of the open transaction or -1. Only the last of the
five batches survives. One is kept for each segment's base offset and one for the end of the log, so that
recovery starts at the segment it scans; a torn one is noticed by its CRC and an older one is used instead.
"""

from collections.abc import Iterable
from struct import Struct, error

from crc32c import crc32c

from barnabas.storage.index_errors import CorruptIndex
from barnabas.storage.producer_entry import NO_OFFSET, ProducerEntry

VERSION = 1
_HEAD = Struct(">hI")
_COUNT = Struct(">i")
_ENTRY = Struct(">qhiqiqiq")


def encode_snapshot(entries: Iterable[ProducerEntry]) -> bytes:
    packed = [
        _ENTRY.pack(
            entry.producer_id,
            entry.epoch,
            entry.last_sequence,
            entry.last_offset,
            entry.last_offset_delta,
            entry.last_timestamp,
            entry.coordinator_epoch,
            entry.txn_first_offset,
        )
        for entry in entries
    ]
    body = _COUNT.pack(len(packed)) + b"".join(packed)
    return _HEAD.pack(VERSION, crc32c(body)) + body


def decode_snapshot(data: bytes) -> list[ProducerEntry]:
    try:
        version, crc = _HEAD.unpack_from(data)
        (count,) = _COUNT.unpack_from(data, _HEAD.size)
    except error as reason:
        raise CorruptIndex(f"snapshot of {len(data)} bytes: {reason}") from None
    if version != VERSION:
        raise CorruptIndex(f"snapshot version {version} is not known")
    if crc32c(memoryview(data)[_HEAD.size :]) != crc:
        raise CorruptIndex("snapshot with a wrong checksum")
    start = _HEAD.size + _COUNT.size
    if len(data) != start + count * _ENTRY.size:
        raise CorruptIndex(f"snapshot of {len(data)} bytes claims {count} producers")
    return [_entry(*fields) for fields in _ENTRY.iter_unpack(data[start:])]


def _entry(
    producer_id: int,
    epoch: int,
    last_sequence: int,
    last_offset: int,
    offset_delta: int,
    timestamp: int,
    coordinator_epoch: int,
    txn_first_offset: int,
) -> ProducerEntry:
    entry = ProducerEntry(producer_id, epoch)
    entry.coordinator_epoch = coordinator_epoch
    entry.last_timestamp = timestamp
    entry.txn_first_offset = txn_first_offset if txn_first_offset >= 0 else NO_OFFSET
    if last_offset >= 0:
        entry.add_batch(epoch, last_sequence, last_offset, offset_delta, timestamp)
    return entry
