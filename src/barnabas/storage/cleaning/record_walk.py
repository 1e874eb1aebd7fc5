"""Walks over the records of a batch that make no object per record but the key.

A payload is the uncompressed bytes behind a batch header. Records that stay keep their bytes: base offset
and base timestamp of the batch stay, so their deltas do. Only a new base timestamp (the delete horizon of
KIP-534) has the deltas written anew. Bytes that are no records raise `InvalidRecord`.

Measured: about 0.5 microseconds a record one by one, 0.15 where records of one size follow each other.
"""

from itertools import chain
from struct import Struct

from barnabas.base.errors import CorruptMessage, InvalidRecord
from barnabas.records.varint import MAX_UINT32, decode_unsigned, decode_varint, decode_varlong, encode_varint

_NULL = 1
"""The length -1 as a zig-zag varint: a record whose value is missing."""
_HIGH = bytes(range(0x80, 0x100))
_LEAST_RUN = 8
"""Fewer records of one shape than this are read one by one."""
_LONGEST_PATIENCE = 256


def read_keys(payload: bytes, count: int) -> tuple[list[bytes | None], list[int]]:
    """The key of each record, and the numbers of those that have a key and no value (tombstones)."""
    keys: list[bytes | None] = []
    tombstones: list[int] = []
    position, size, patience = 0, len(payload), 0
    try:
        while (number := len(keys)) < count:
            if patience <= number:
                end = _read_run(payload, position, count - number, keys, tombstones)
                if end != position:
                    position = end
                    continue
                patience = number + min(_LONGEST_PATIENCE, max(_LEAST_RUN, number))
            until = min(count, patience)
            position = _read_one_by_one(payload, position, until, keys, tombstones)
    except (IndexError, CorruptMessage):
        raise InvalidRecord("a record runs off the end of its batch") from None
    if position != size:
        raise InvalidRecord(f"{size - position} bytes are left over after the last record")
    return keys, tombstones


def _read_one_by_one(
    payload: bytes, position: int, until: int, keys: list[bytes | None], tombstones: list[int]
) -> int:
    append = keys.append
    for number in range(len(keys), until):
        raw = payload[position]
        position += 1
        if raw > 0x7F:
            high = payload[position]
            if high > 0x7F:
                raw, position = decode_unsigned(payload, position - 1, MAX_UINT32)
            else:
                raw += (high << 7) - 0x80
                position += 1
        end = position + (raw >> 1)
        position += 2
        if payload[position - 1] > 0x7F:
            while payload[position] > 0x7F:
                position += 1
            position += 1
        while payload[position] > 0x7F:
            position += 1
        position += 1
        length = payload[position]
        position += 1
        if length > 0x7F:
            length, position = decode_unsigned(payload, position - 1, MAX_UINT32)
        if length & 1:
            append(None)
        else:
            key_end = position + (length >> 1)
            append(payload[position:key_end])
            if payload[key_end] == _NULL:
                tombstones.append(number)
            position = key_end
        if raw & 1 or position >= end:
            raise InvalidRecord(f"record {number} is shorter than what it holds")
        position = end
    return position


def _read_run(payload: bytes, start: int, most: int, keys: list[bytes | None], tombstones: list[int]) -> int:
    """Read records of one shape (sizes of everything but bytes of numbers) at once; returns where they end.

    A column of bytes, one of each record, is a slice with a stride: its checks and cuts are done in C.
    """
    length, body = decode_varint(payload, start)
    if length <= 0:
        return start
    stride = body - start + length
    most = min(most, (len(payload) - start) // stride)
    if most < _LEAST_RUN or payload[start + stride] != payload[start]:
        return start
    _, after_timestamp = decode_varlong(payload, body + 1)
    _, key_length_at = decode_varint(payload, after_timestamp)
    key_length, key_at = decode_varint(payload, key_length_at)
    key_end = key_at + max(key_length, 0)
    if key_length < 0 or key_end >= start + stride:
        return start
    for at in (*range(start, body), *range(key_length_at, key_at)):
        column = payload[at : start + most * stride : stride]
        most = len(column) - len(column.lstrip(column[:1]))
    for first, last in ((body + 1, after_timestamp - 1), (after_timestamp, key_length_at - 1)):
        most = _same_width(payload, start, stride, most, first, last)
    if most < _LEAST_RUN:
        return start
    shape = Struct(f"{key_at - start}x{key_length}s{start + stride - key_end}x")
    end = start + most * stride
    known = len(keys)
    keys.extend(chain.from_iterable(shape.iter_unpack(payload[start:end])))
    values = payload[key_end:end:stride]
    found = values.find(_NULL)
    while found >= 0:
        tombstones.append(known + found)
        found = values.find(_NULL, found + 1)
    return end


def _same_width(payload: bytes, start: int, stride: int, most: int, first: int, last: int) -> int:
    """How many of the records have a number of the same width: high bits set up to its last byte."""
    stop = start + most * stride
    for at in range(first, last):
        column = payload[at:stop:stride]
        most = min(most, len(column) - len(column.lstrip(_HIGH)))
    column = payload[last:stop:stride]
    if not column.isascii():
        most = min(most, next(number for number, byte in enumerate(column) if byte > 0x7F))
    return most


def record_ends(payload: bytes, count: int) -> list[int]:
    """Where each record ends."""
    ends: list[int] = []
    append = ends.append
    position, patience = 0, 0
    while (number := len(ends)) < count:
        if patience <= number:
            length, body = decode_varint(payload, position)
            stride = body - position + length
            run = min(count - number, (len(payload) - position) // max(stride, 1))
            for at in range(position, body):
                column = payload[at : position + run * stride : stride]
                run = len(column) - len(column.lstrip(column[:1]))
            ends.extend(range(position + stride, position + run * stride + 1, stride))
            position += run * stride
            if run < _LEAST_RUN:
                patience = number + min(_LONGEST_PATIENCE, max(_LEAST_RUN, number))
            continue
        for _ in range(number, min(count, patience)):
            raw = payload[position]
            position += 1
            if raw > 0x7F:
                high = payload[position]
                if high > 0x7F:
                    raw, position = decode_unsigned(payload, position - 1, MAX_UINT32)
                else:
                    raw += (high << 7) - 0x80
                    position += 1
            position += raw >> 1
            append(position)
    return ends


def keep_records(payload: bytes, kept: bytearray) -> tuple[bytes, int]:
    """The records whose byte in `kept` is set, as they are, and where the last of them begins."""
    ends = record_ends(payload, len(kept))
    view = memoryview(payload)
    parts: list[memoryview] = []
    number = kept.find(1)
    while number >= 0:
        following = kept.find(0, number)
        if following < 0:
            following = len(kept)
        parts.append(view[ends[number - 1] if number else 0 : ends[following - 1]])
        number = kept.find(1, following)
    last = kept.rfind(1)
    last_size = ends[last] - (ends[last - 1] if last else 0)
    records = b"".join(parts)
    return records, len(records) - last_size


def timestamp_deltas(payload: bytes, count: int, position: int = 0) -> list[int]:
    """The timestamp deltas of the records from `position` on."""
    deltas: list[int] = []
    for _ in range(count):
        length, position = decode_varint(payload, position)
        delta, _ = decode_varlong(payload, position + 1)
        deltas.append(delta)
        position += length
    return deltas


def rebase_timestamps(payload: bytes, count: int, shift: int) -> bytes:
    """The same records below a base timestamp that is later by `shift`."""
    parts: list[bytes | memoryview] = []
    view = memoryview(payload)
    known: dict[int, bytes] = {}
    position = 0
    for _ in range(count):
        length, body = decode_varint(payload, position)
        position = body + length
        delta, rest = decode_varlong(payload, body + 1)
        encoded = known.get(delta)
        if encoded is None:
            encoded = known[delta] = encode_varint(delta - shift)
        attributes = payload[body : body + 1]
        parts += (encode_varint(1 + len(encoded) + position - rest), attributes, encoded, view[rest:position])
    return b"".join(parts)
