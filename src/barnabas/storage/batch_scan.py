"""Walking the batches of a `.log` file without reading more of it than needed.

Three walks: `find_batch` (offset -> position: the short scan behind the sparse index), `iter_file_headers`
(headers only) and `VerifiedScan` (every byte, with CRC: what recovery trusts after a crash).
"""

import binascii
from collections.abc import Iterator
from struct import Struct
from typing import NamedTuple

from crc32c import crc32c

from barnabas.base.errors import CorruptMessage, UnsupportedForMessageFormat
from barnabas.base.filesystem import LogFile
from barnabas.records.batch import (
    ATTRIBUTES_OFFSET,
    HEADER_SIZE,
    LOG_OVERHEAD,
    MINIMUM_LENGTH,
    BatchHeader,
    parse_header,
)

_LOCATOR = Struct(">qi11xi")
"""Base offset, batch length, last offset delta: all that finding an offset needs of a header."""
_OLD_MESSAGE = Struct(">qiI")
_OLD_MINIMUM = 14
_FIRST_READ = 4 << 10
_NEXT_READ = 64 << 10
_SCAN_READ = 1 << 20


class BatchPosition(NamedTuple):
    position: int
    size: int
    base_offset: int
    last_offset: int


def find_batch(file: LogFile, position: int, end: int, offset: int) -> BatchPosition | None:
    """The first batch from `position` on that ends at or after `offset`; None if `end` comes first."""
    chunk, chunk_start, read_size = b"", position, _FIRST_READ
    unpack, locator_size = _LOCATOR.unpack_from, _LOCATOR.size
    while position + HEADER_SIZE <= end:
        relative = position - chunk_start
        if relative + locator_size > len(chunk):
            chunk = file.read_at(position, min(read_size, end - position))
            chunk_start, relative = position, 0
            if len(chunk) < locator_size:
                break
        base_offset, length, delta = unpack(chunk, relative)
        if base_offset + delta >= offset:
            return BatchPosition(position, length + LOG_OVERHEAD, base_offset, base_offset + delta)
        if length < MINIMUM_LENGTH:
            raise CorruptMessage(f"batch length {length} at {position} of {file.path}")
        position += length + LOG_OVERHEAD
        # Past a large batch there is nothing to read but the next header.
        read_size = _NEXT_READ if length < _FIRST_READ else _FIRST_READ
    return None


def iter_file_headers(file: LogFile, position: int, end: int) -> Iterator[tuple[int, BatchHeader]]:
    """(position, header) of every whole batch between `position` and `end`, or a preallocated tail."""
    chunk, chunk_start = b"", position
    while position + HEADER_SIZE <= end:
        relative = position - chunk_start
        if relative + HEADER_SIZE > len(chunk):
            chunk = file.read_at(position, min(_NEXT_READ, end - position))
            chunk_start, relative = position, 0
            if len(chunk) < HEADER_SIZE:
                return
        try:
            header = parse_header(chunk, relative)
        except UnsupportedForMessageFormat:
            if any(chunk[relative : relative + HEADER_SIZE]):
                raise
            return
        following = position + header.batch_length + LOG_OVERHEAD
        if following > end:
            return
        yield position, header
        position = following


def _is_old_message(chunk: memoryview) -> bool:
    """Whether a whole message of format v0 or v1 is there: offset, size, CRC-32 of the rest, magic, ..."""
    _, size, crc = _OLD_MESSAGE.unpack_from(chunk)
    message = chunk[LOG_OVERHEAD : LOG_OVERHEAD + size]
    return bool(size >= _OLD_MINIMUM and len(message) == size and binascii.crc32(message[4:]) == crc)


class VerifiedScan:
    """Iterates over (position, header, batch bytes) and stops before the first byte that is no good batch.

    After the iteration `valid_bytes` is where the good part ends and `flaw` says what stopped it, if anything
    did. Offsets must ascend: bytes of an older life of the file do not pass.
    """

    def __init__(self, file: LogFile, size: int, base_offset: int) -> None:
        self._file: LogFile = file
        self._size: int = size
        self._next_offset: int = base_offset
        self.valid_bytes: int = 0
        self.flaw: str = ""

    def __iter__(self) -> Iterator[tuple[int, BatchHeader, memoryview]]:
        size = self._size
        position, chunk_start = 0, 0
        chunk = memoryview(b"")
        while position < size:
            relative = position - chunk_start
            if relative + HEADER_SIZE > len(chunk):
                chunk, chunk_start, relative = self._read(position, _SCAN_READ), position, 0
            header = self._header(chunk, relative, position)
            if header is None:
                return
            batch_size = header.batch_length + LOG_OVERHEAD
            if relative + batch_size > len(chunk):
                if position + batch_size > size:
                    self.flaw = f"a batch of {batch_size} bytes is cut after {size - position}"
                    return
                chunk = self._read(position, max(batch_size, _SCAN_READ))
                chunk_start, relative = position, 0
            batch = chunk[relative : relative + batch_size]
            if crc32c(batch[ATTRIBUTES_OFFSET:]) != header.crc:
                self.flaw = "wrong checksum"
                return
            self._next_offset = header.next_offset
            self.valid_bytes = position + batch_size
            yield position, header, batch
            position = self.valid_bytes

    def _read(self, position: int, size: int) -> memoryview:
        return memoryview(self._file.read_at(position, min(size, self._size - position)))

    def _header(self, chunk: memoryview, relative: int, position: int) -> BatchHeader | None:
        try:
            header = parse_header(chunk, relative)
        except UnsupportedForMessageFormat:
            if position == 0 and _is_old_message(chunk[relative:]):
                raise  # an old log, not a torn one: refuse it rather than cut it
            self.flaw = "no batch of format v2"
            return None
        except CorruptMessage as error:
            self.flaw = error.message
            return None
        if header.base_offset < self._next_offset or header.last_offset_delta < 0:
            self.flaw = f"offset {header.base_offset} follows {self._next_offset - 1}"
            return None
        return header
