"""Reads a `.log` file batch by batch. At most a megabyte, or one batch, is in memory.

Reading stops as in Kafka: at the end, before a truncated batch, or with `Unreadable` at an invalid length. A
file that another process truncates meanwhile ends earlier.
"""

import os
import stat
from collections.abc import Iterator
from struct import Struct
from types import TracebackType

from barnabas.cli.dump import Unreadable
from barnabas.cli.dump.batches import Batch, CurrentBatch, OldBatch
from barnabas.records.batch import HEADER_SIZE, LOG_OVERHEAD, MAGIC_V2

_PREFIX = Struct(">qi4xb")
_LAST_OFFSET_DELTA = Struct(">23xi")
_LEAST_SIZE = 14
_PIECE = 1 << 20


class SegmentFile:
    def __init__(self, path: str) -> None:
        self.path: str = path
        try:
            # Non-blocking: opening a named pipe would wait.
            self._fd: int = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
            status = os.fstat(self._fd)
        except OSError as error:
            raise unreadable_file(path, error) from None
        self.size: int = status.st_size
        if not stat.S_ISREG(status.st_mode):
            os.close(self._fd)
            what = "Is a directory" if stat.S_ISDIR(status.st_mode) else "Not a regular file"
            raise Unreadable(f"Cannot read {path}: {what}")

    def __enter__(self) -> "SegmentFile":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._fd)

    def read(self, position: int, size: int) -> bytes:
        try:
            return os.pread(self._fd, size, position)
        except OSError as error:
            raise unreadable_file(self.path, error) from None

    def batches(self, start: int = 0, end: int | None = None, *, piece: int = _PIECE) -> Iterator[Batch]:
        end = self.size if end is None else min(end, self.size)
        position = chunk_start = start
        chunk = memoryview(b"")
        while position < end - _PREFIX.size:
            relative = position - chunk_start
            if relative + HEADER_SIZE > len(chunk):
                chunk, chunk_start, relative = memoryview(self.read(position, piece)), position, 0
                if len(chunk) < _PREFIX.size:
                    return
            _, length, magic = _PREFIX.unpack_from(chunk, relative)
            if length < _LEAST_SIZE:
                raise Unreadable(
                    f"Found record size {length} smaller than minimum record overhead "
                    f"({_LEAST_SIZE}) in file {self.path}."
                )
            size = length + LOG_OVERHEAD
            if position + size > end:
                return
            if relative + size > len(chunk):
                chunk = memoryview(self.read(position, max(size, piece)))
                chunk_start, relative = position, 0
                if len(chunk) < size:
                    return
            view = chunk[relative : relative + size]
            yield self._batch(position, magic, chunk[relative : relative + HEADER_SIZE], view)
            position += size

    def _batch(self, position: int, magic: int, head: memoryview, view: memoryview) -> Batch:
        if magic < MAGIC_V2:
            return OldBatch(position, view)
        if len(head) < HEADER_SIZE:
            head = memoryview(self.read(position, HEADER_SIZE))
        if len(head) < HEADER_SIZE:
            raise Unreadable(
                f"Failed to load record batch at position {position} from {self.path}: it ends in its header"
            )
        return CurrentBatch(position, head, view)

    def last_offset_at(self, position: int, limit: int) -> int:
        """The last offset of the batch at `position`, which must end within `limit` bytes."""
        if position < 0:
            raise Unreadable(f"Invalid position: {position} in read from {self.path}")
        if position > self.size:
            raise Unreadable(f"Slice from position {position} exceeds end position of {self.path}")
        head = self.read(position, HEADER_SIZE)
        if len(head) > _PREFIX.size:
            offset, length, magic = _PREFIX.unpack_from(head)
            if length >= _LEAST_SIZE and position + LOG_OVERHEAD + length <= min(position + limit, self.size):
                if magic < MAGIC_V2:
                    return int(offset)
                if len(head) == HEADER_SIZE:
                    return int(offset + _LAST_OFFSET_DELTA.unpack_from(head)[0])
        raise Unreadable(f"No batch of at most {limit} bytes is at position {position} of {self.path}")

    def find_batch(self, position: int, offset: int) -> Batch | None:
        """The first batch from `position` on that ends at or after `offset`."""
        for batch in self.batches(position, piece=8 << 10):
            if batch.last_offset >= offset:
                return batch
        return None


def read_whole(path: str) -> bytes:
    """A small file: an index, a snapshot."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise unreadable_file(path, error) from None


def unreadable_file(path: str, error: OSError) -> Unreadable:
    return Unreadable(f"Cannot read {path}: {error.strerror or error}")
