"""A stored batch of any format, as the tools read it: header fields, checksum, records.

The data may be damaged: a batch may be shorter than its header, its checksum wrong, its records invalid.
Fields that can be read are returned; others raise `Unreadable`.
"""

import binascii
from struct import Struct, error
from typing import NamedTuple

from crc32c import crc32c

from barnabas.base.errors import KafkaError
from barnabas.cli.dump import Unreadable
from barnabas.records.batch import ATTRIBUTES_OFFSET, HEADER, HEADER_SIZE, LOG_OVERHEAD, BatchHeader
from barnabas.records.compression import CODEC_NAMES, LZ4, NONE, decompress
from barnabas.records.record import Record, decode_payload, record_offsets_and_timestamps, unpack

TIMESTAMP_TYPES = ("CreateTime", "LogAppendTime")
NO_TIMESTAMP_TYPE = "NoTimestampType"

_OLD_HEAD = Struct(">qiIbb")
_OLD_TIMESTAMP = Struct(">q")
_OLD_LENGTH = Struct(">i")
_OLD_MINIMUM = 14
_OLD_CODECS = range(NONE, LZ4 + 1)


class CurrentBatch:
    """A batch of format v2. An unknown newer format is read as v2."""

    __slots__ = ("header", "position", "view")

    def __init__(self, position: int, head: memoryview, view: memoryview) -> None:
        """`head` has the 61 bytes of the header, even if the length of the batch is smaller."""
        self.position: int = position
        self.header: BatchHeader = tuple.__new__(BatchHeader, HEADER.unpack_from(head))
        self.view: memoryview = view

    @property
    def size(self) -> int:
        return self.header.batch_length + LOG_OVERHEAD

    @property
    def magic(self) -> int:
        return self.header.magic

    @property
    def base_offset(self) -> int:
        return self.header.base_offset

    @property
    def last_offset(self) -> int:
        return self.header.last_offset

    @property
    def timestamp_type(self) -> str:
        return TIMESTAMP_TYPES[self.header.timestamp_type]

    @property
    def max_timestamp(self) -> int:
        return self.header.max_timestamp

    @property
    def codec(self) -> str:
        return codec_name(self.header.compression)

    @property
    def crc(self) -> int:
        return self.header.crc

    @property
    def is_valid(self) -> bool:
        return len(self.view) >= HEADER_SIZE and crc32c(self.view[ATTRIBUTES_OFFSET:]) == self.header.crc

    def records(self) -> list[Record]:
        try:
            return decode_payload(unpack(self.view, self.header), self.header)
        except KafkaError as reason:
            raise _unreadable(self.position, reason) from None

    def latest_timestamp(self) -> int:
        """The highest timestamp of the records, independent of the header."""
        try:
            found = record_offsets_and_timestamps(self.view)
        except KafkaError as reason:
            raise _unreadable(self.position, reason) from None
        return max((timestamp for _, timestamp in found), default=-1)


class OldRecord(NamedTuple):
    """A message of format v0 or v1, which has its own checksum."""

    record: Record
    is_valid: bool
    crc: int


class OldBatch:
    """A message of format v0 or v1, or the compressed wrapper of several.

    int64 offset, int32 size, uint32 CRC-32 of the rest, int8 magic, int8 attributes (0-2 codec, 3 timestamp
    type), in v1 int64 timestamp, then key and value with an int32 length each.
    """

    __slots__ = ("attributes", "crc", "last_offset", "magic", "position", "size", "view")

    def __init__(self, position: int, view: memoryview) -> None:
        self.position: int = position
        self.view: memoryview = view
        self.last_offset, size, self.crc, self.magic, self.attributes = _OLD_HEAD.unpack_from(view)
        self.size: int = size + LOG_OVERHEAD

    @property
    def timestamp_type(self) -> str:
        return NO_TIMESTAMP_TYPE if self.magic == 0 else TIMESTAMP_TYPES[(self.attributes & 8) >> 3]

    @property
    def max_timestamp(self) -> int:
        if self.magic == 0:
            return -1
        try:
            return int(_OLD_TIMESTAMP.unpack_from(self.view, _OLD_HEAD.size)[0])
        except error:
            raise Unreadable(f"The message at position {self.position} ends in its header") from None

    @property
    def codec(self) -> str:
        return codec_name(self.attributes & 7)

    @property
    def is_valid(self) -> bool:
        rest = self.view[LOG_OVERHEAD + 4 :]
        return self.size - LOG_OVERHEAD >= _OLD_MINIMUM and binascii.crc32(rest) == self.crc

    def own_record(self, offset: int | None = None, timestamp: int | None = None) -> OldRecord:
        """The message, with the offset or timestamp of its wrapper if the wrapper sets them."""
        key, position = self._field(_OLD_HEAD.size + (0 if self.magic == 0 else _OLD_TIMESTAMP.size))
        value, _ = self._field(position)
        record = Record(
            self.last_offset if offset is None else offset,
            self.max_timestamp if timestamp is None else timestamp,
            key,
            value,
        )
        return OldRecord(record, self.is_valid, self.crc)

    def _field(self, position: int) -> tuple[bytes | None, int]:
        start = position + _OLD_LENGTH.size
        if start <= len(self.view):
            (length,) = _OLD_LENGTH.unpack_from(self.view, position)
            if length < 0:
                return None, start
            if start + length <= len(self.view):
                return bytes(self.view[start : start + length]), start + length
        raise Unreadable(f"The message at position {self.position} runs off its {self.size} bytes")

    def old_records(self) -> list[OldRecord]:
        codec = self.attributes & 7
        if codec == NONE:
            return [self.own_record()]
        if codec not in _OLD_CODECS:
            raise Unreadable(f"Messages of format v{self.magic} are never compressed with {self.codec}")
        packed = self.own_record().record.value
        if packed is None:
            raise Unreadable(f"The compressed message at position {self.position} has no value")
        try:
            plain = memoryview(decompress(codec, packed))
        except KafkaError as reason:
            raise _unreadable(self.position, reason) from None
        return self._unwrap(plain)

    def _unwrap(self, plain: memoryview) -> list[OldRecord]:
        inner: list[OldBatch] = []
        position = 0
        while position + LOG_OVERHEAD <= len(plain):
            size = int.from_bytes(plain[position + 8 : position + LOG_OVERHEAD], "big", signed=True)
            end = position + LOG_OVERHEAD + size
            if size < _OLD_MINIMUM or end > len(plain):
                break
            inner.append(OldBatch(self.position, plain[position:end]))
            position = end
        if not inner:
            raise Unreadable(f"The compressed message at position {self.position} holds no messages")
        # Format v1 numbers the inner messages from 0; the wrapper has the offset of the last one.
        base = 0 if self.magic == 0 or not self.last_offset else self.last_offset - inner[-1].last_offset
        appended = self.max_timestamp if self.timestamp_type == TIMESTAMP_TYPES[1] else None
        return [each.own_record(base + each.last_offset, appended if each.magic else None) for each in inner]

    def records(self) -> list[Record]:
        return [old.record for old in self.old_records()]

    def latest_timestamp(self) -> int:
        return max((record.timestamp for record in self.records()), default=-1)


Batch = CurrentBatch | OldBatch


def codec_name(codec: int) -> str:
    if codec >= len(CODEC_NAMES):
        raise Unreadable(f"Unknown compression type id: {codec}")
    return CODEC_NAMES[codec]


def _unreadable(position: int, reason: KafkaError) -> Unreadable:
    return Unreadable(f"The records of the batch at position {position} cannot be read: {reason.message}")
