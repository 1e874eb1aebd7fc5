"""A segment's file in large pieces that begin and end with a batch."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from barnabas.base.errors import CorruptMessage
from barnabas.base.filesystem import LogFile
from barnabas.records.batch import (
    HEADER_SIZE,
    LENGTH_OFFSET,
    LOG_OVERHEAD,
    BatchHeader,
    compute_crc,
    parse_header,
)


class SegmentChunk(NamedTuple):
    position: int
    data: bytes
    """May end with a part of the next batch: cutting it off would copy the rest."""
    size: int
    """Of the whole batches."""
    batches: list[tuple[int, BatchHeader]]
    """(position in `data`, header) of every batch."""


class ChunkReader:
    """Reads one file of `size` bytes; `progress` is called after every read and may raise to end it."""

    def __init__(self, file: LogFile, size: int, io_bytes: int, progress: Callable[[int], None]) -> None:
        self._file: LogFile = file
        self._size: int = size
        self._io_bytes: int = max(io_bytes, HEADER_SIZE)
        self._progress: Callable[[int], None] = progress

    def __iter__(self) -> Iterator[SegmentChunk]:
        position = 0
        while position < self._size:
            chunk = self.read(position)
            yield chunk
            position += chunk.size

    def read(self, position: int, size: int = 0) -> SegmentChunk:
        """The batches from `position` on, as many as a buffer holds; one that is larger is read whole."""
        left = self._size - position
        data = self._read(position, min(size or self._io_bytes, left))
        first = LOG_OVERHEAD + int.from_bytes(data[LENGTH_OFFSET:LOG_OVERHEAD], "big", signed=True)
        if len(data) < HEADER_SIZE or first > left:
            raise CorruptMessage(
                f"a batch of {first} bytes at {position} of {self._file.path} is cut after {left}"
            )
        if first > len(data):
            data = self._read(position, first)
        batches: list[tuple[int, BatchHeader]] = []
        at, end = 0, len(data)
        while at + HEADER_SIZE <= end:
            header = parse_header(data, at)
            following = at + header.batch_length + LOG_OVERHEAD
            if following > end:
                break
            batches.append((at, header))
            at = following
        return SegmentChunk(position, data, at, batches)

    def _read(self, position: int, size: int) -> bytes:
        self._progress(size)
        data = self._file.read_at(position, size)
        if len(data) < size:
            raise CorruptMessage(f"{self._file.path} ends at {position + len(data)}, before {self._size}")
        return data


def checked_batch(chunk: SegmentChunk, at: int, header: BatchHeader) -> memoryview:
    """A view of one batch that has the checksum it claims: damage must not get a valid one."""
    size = header.batch_length + LOG_OVERHEAD
    if compute_crc(chunk.data, at, size) != header.crc:
        raise CorruptMessage(f"the batch at offset {header.base_offset} has a wrong checksum")
    return memoryview(chunk.data)[at : at + size]
