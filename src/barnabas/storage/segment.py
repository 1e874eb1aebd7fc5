"""One segment of a log: a `.log` file and the indexes that belong to it.

The last segment of a log is active: it alone is appended to, and its indexes live in memory. A sealed
segment never changes; its indexes are loaded when read and may be released at any time. The log file of any
segment is opened when it is written or read, and `OpenFiles` may close it at any time. Index
files are written when a segment is sealed or closed; an index that is missing or cannot be right is rebuilt
from the headers in the log on first use. `size` counts the bytes that exist for readers: a failed or
preallocated tail lies beyond it.
"""

import errno
import logging
import os
from collections import deque
from pathlib import Path

from crc32c import crc32c

from barnabas.base.filesystem import FileSystem, LogFile
from barnabas.records.batch import HEADER_SIZE, parse_header
from barnabas.storage import names
from barnabas.storage.batch_scan import BatchPosition, find_batch, iter_file_headers
from barnabas.storage.index_errors import CorruptIndex
from barnabas.storage.offset_index import OffsetIndex
from barnabas.storage.open_files import OpenFiles
from barnabas.storage.time_index import NO_TIMESTAMP, TimeIndex
from barnabas.storage.txn_index import TxnIndex

MAX_RELATIVE_OFFSET = 2**31 - 1
_TAIL = 8
"""How many of the newest batches are found without index and disk: consumers at the tail read these."""
_logger = logging.getLogger(__name__)
_new_tuple = tuple.__new__


class Segment:
    def __init__(
        self,
        directory: Path,
        base_offset: int,
        fs: FileSystem,
        open_files: OpenFiles,
        *,
        size: int,
        index_interval_bytes: int,
        created_ms: int,
        roll_jitter_ms: int = 0,
        has_txn_index: bool = False,
    ) -> None:
        self.directory: Path = directory
        self.base_offset: int = base_offset
        self.size: int = size
        self.created_ms: int = created_ms
        self.roll_jitter_ms: int = roll_jitter_ms
        self.index_interval_bytes: int = index_interval_bytes
        self.index_on_disk: bool = True
        self.has_index_files: bool = True
        """Index files may exist, whatever they hold; never of an active segment that differs from them."""
        self.is_synced: bool = True
        """False once the log or an index was written and not synced."""
        self.txn_index: TxnIndex = TxnIndex(directory, base_offset, fs, exists=has_txn_index)
        self.tail: deque[BatchPosition] = deque(maxlen=_TAIL)
        self.was_used: bool = False
        """The file was needed since `OpenFiles` last looked."""
        self._fs: FileSystem = fs
        self._open_files: OpenFiles = open_files
        self._file: LogFile | None = None
        self._index: OffsetIndex | None = None
        self._time_index: TimeIndex | None = None
        self._max_timestamp: tuple[int, int] | None = None
        self.first_timestamp: int | None = None
        """Largest timestamp of the first batch, from which the segment's age counts; None: not read yet."""
        self.index_sums: tuple[int, int] | None = None
        """CRC-32C of the offset index and the time index as last written or read; None: not known."""
        self.index_entries: int = 0
        """At most as many entries are in either index; enough to know that none is full."""
        self._bytes_since_index: int = 0
        self._checked_timestamp: int = NO_TIMESTAMP
        self._checked_size: int = 0

    @classmethod
    def create(
        cls,
        directory: Path,
        base_offset: int,
        fs: FileSystem,
        open_files: OpenFiles,
        *,
        index_interval_bytes: int,
        created_ms: int,
        roll_jitter_ms: int = 0,
        preallocate: int = 0,
    ) -> "Segment":
        """A new, empty segment; leftovers of the same name are removed first."""
        segment = cls(
            directory,
            base_offset,
            fs,
            open_files,
            size=0,
            index_interval_bytes=index_interval_bytes,
            created_ms=created_ms,
            roll_jitter_ms=roll_jitter_ms,
        )
        file = fs.open(segment.path(names.LOG), create=True)
        file.truncate(preallocate)
        segment._adopt_empty(file)
        return segment

    def _adopt_empty(self, file: LogFile) -> None:
        self._file = file
        self._open_files.opened(self, file.fd)
        self._index = OffsetIndex(self.base_offset)
        self._time_index = TimeIndex(self.base_offset)
        self._max_timestamp = (NO_TIMESTAMP, self.base_offset)
        self.index_on_disk = self.has_index_files = self.is_synced = False

    def path(self, suffix: str) -> Path:
        return self.directory / names.file_name(self.base_offset, suffix)

    def paths(self) -> list[Path]:
        return [self.path(suffix) for suffix in names.SEGMENT_SUFFIXES]

    # ---- what is opened when needed

    @property
    def file(self) -> LogFile:
        """The open log file; the caller's reference keeps it open."""
        file = self._file
        if file is None:
            file = self._file = self._fs.open(self.path(names.LOG))
            self._open_files.opened(self, file.fd)
        self.was_used = True
        return file

    def file_to_send(self) -> LogFile:
        """The log file for a response, which may hold it for long: not one of the reserve's descriptors."""
        file = self.file
        if file.fd < self._open_files.bound:
            return file
        del file
        self.release_file()
        file = self.file  # others may have made room meanwhile
        if file.fd >= self._open_files.bound:
            self.release_file()
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE), os.fspath(file.path))
        return file

    @property
    def index(self) -> OffsetIndex:
        if self._index is None:
            self._load_indexes()
        assert self._index is not None
        return self._index

    @property
    def time_index(self) -> TimeIndex:
        if self._time_index is None:
            self._load_indexes()
        assert self._time_index is not None
        return self._time_index

    @property
    def is_open(self) -> bool:
        return self._file is not None

    def release_file(self) -> None:
        """Close the file, unless it is in use; it is opened again when needed. From any thread."""
        self._file = None
        self._open_files.forget(self)

    def release(self) -> None:
        """Let go of the file and of what can be read again."""
        self.release_file()
        if self.index_on_disk:
            self._index = None
            self._time_index = None

    def _load_indexes(self) -> None:
        if self.size == 0:
            self.start_indexes()
            return
        try:
            data = self._fs.read_bytes(self.path(names.INDEX))
            time_data = self._fs.read_bytes(self.path(names.TIME_INDEX))
            sums = crc32c(data), crc32c(time_data)
            if self.index_sums not in (None, sums):
                raise CorruptIndex("an index file is other than at the last clean stop")
            index = OffsetIndex.decode(self.base_offset, data, self.size)
            time_index = TimeIndex.decode(self.base_offset, time_data)
            if self.size and not time_index and not index:
                # No segment is closed without its largest timestamp, unless its records carry none.
                raise CorruptIndex("both indexes are empty")
        except (CorruptIndex, FileNotFoundError) as error:
            _logger.warning("rebuilding the indexes of %s: %s", self.path(names.LOG), error)
            self.rebuild_indexes()
        else:
            self._index, self._time_index, self.index_sums = index, time_index, sums
            self.index_entries = len(index)

    def rebuild_indexes(self) -> None:
        """Make both indexes anew from the headers in the log, as they would have grown; write them out."""
        self.start_indexes()
        for position, header in iter_file_headers(self.file, 0, self.size):
            self.note_batch(
                header.base_offset, header.last_offset, position, header.size, header.max_timestamp
            )
        self.seal_time_index()
        self.write_indexes(sync=True)
        self._bytes_since_index = 0

    def start_indexes(self) -> None:
        """Begin with empty indexes; `note_batch` fills them."""
        self._index = OffsetIndex(self.base_offset)
        self._time_index = TimeIndex(self.base_offset)
        self._max_timestamp = (NO_TIMESTAMP, self.base_offset)
        self._bytes_since_index = 0
        self.index_entries = 0
        self.index_on_disk = False
        self.index_sums = None
        self.tail.clear()

    # ---- appending

    def note_batch(
        self, base_offset: int, last_offset: int, position: int, size: int, max_timestamp: int
    ) -> None:
        """Account for a batch that was written at `position`: the index, the largest timestamp, the tail."""
        largest = self._max_timestamp or self.max_timestamp_and_offset
        if max_timestamp > largest[0]:
            self._max_timestamp = largest = (max_timestamp, last_offset)
        if self._bytes_since_index > self.index_interval_bytes:
            self.index.append(last_offset, position)
            self.time_index.maybe_append(*largest)
            self.index_entries += 1
            self._bytes_since_index = 0
        self._bytes_since_index += size
        if position == 0:
            self.first_timestamp = max_timestamp
        self.index_on_disk = self.is_synced = False
        self.tail.append(_new_tuple(BatchPosition, (position, size, base_offset, last_offset)))

    def is_full(self, max_index_bytes: int) -> bool:
        return len(self.index) >= max_index_bytes // 8 or len(self.time_index) >= max_index_bytes // 12 - 1

    def seal_time_index(self) -> None:
        """Add the entry by which retention and lookups know the segment's largest timestamp."""
        self.time_index.maybe_append(*self.max_timestamp_and_offset)

    def write_indexes(self, *, sync: bool) -> None:
        data, time_data = self.index.encode(), self.time_index.encode()
        self._fs.write_bytes(self.path(names.INDEX), data, sync=sync)
        self._fs.write_bytes(self.path(names.TIME_INDEX), time_data, sync=sync)
        self.index_sums = crc32c(data), crc32c(time_data)
        self.index_on_disk = self.has_index_files = True
        self.is_synced &= sync

    def unlink_indexes(self) -> None:
        """Remove the files before the log grows or shrinks: a crash must not find indexes of another log."""
        if self._index is None:
            self._load_indexes()
        self._fs.unlink(self.path(names.INDEX))
        self._fs.unlink(self.path(names.TIME_INDEX))
        self.has_index_files = False
        self.index_sums = None

    # ---- timestamps

    @property
    def max_timestamp_and_offset(self) -> tuple[int, int]:
        """The largest timestamp and the last offset of the batch that has it; (-1, base offset) if none."""
        if self._max_timestamp is None:
            self._max_timestamp = self.time_index.last_entry
        return self._max_timestamp

    @property
    def max_timestamp(self) -> int:
        known = self._max_timestamp
        return known[0] if known is not None else self.max_timestamp_and_offset[0]

    @property
    def largest_timestamp(self) -> int:
        """What retention compares: the largest timestamp, or the file's age where records carry none."""
        timestamp = self._checked_timestamp if self.is_timestamp_checked else self.max_timestamp
        return timestamp if timestamp >= 0 else self.modified_ms

    @property
    def largest_claimed_timestamp(self) -> int:
        """The same by what the headers claim, which a lookup by time goes by."""
        timestamp = self.max_timestamp
        return timestamp if timestamp >= 0 else self.modified_ms

    @property
    def modified_ms(self) -> int:
        return self._fs.modified_ms(self.path(names.LOG))

    @property
    def is_timestamp_checked(self) -> bool:
        """Whether the records themselves were looked at, and none was added since."""
        return self._checked_size == self.size > 0

    def set_checked_timestamp(self, timestamp: int, size: int) -> None:
        """Note the largest timestamp of the records in the first `size` bytes; -1 if they have none."""
        self._checked_timestamp, self._checked_size = timestamp, size

    @property
    def first_batch_timestamp(self) -> int:
        """The first batch's largest timestamp, read if need be; -1 if there is none."""
        if self.first_timestamp is None and self.size:
            return self.load_first_timestamp()
        return -1 if self.first_timestamp is None else self.first_timestamp

    def load_first_timestamp(self) -> int:
        """Read the first batch's largest timestamp; -1 if it has none."""
        self.first_timestamp = parse_header(self.file.read_at(0, HEADER_SIZE)).max_timestamp
        return self.first_timestamp

    # ---- lookup

    def locate(self, offset: int) -> BatchPosition | None:
        """The batch that holds `offset`, or the next one; None past the end of the segment."""
        tail = self.tail
        if tail and offset >= tail[0].base_offset:
            for batch in reversed(tail):
                if batch.base_offset <= offset:
                    if offset <= batch.last_offset:
                        return batch
                    break
        return find_batch(self.file, self.index.lookup(offset), self.size, offset)

    def next_offset(self) -> int:
        """The offset after the last batch, read from the log."""
        return self.find_end()[0]

    def find_end(self) -> tuple[int, int]:
        """The offset after the last whole batch, and the position behind it."""
        position = self.index.last_position
        found = self._end_from(position)
        return found if found[1] > position else self._end_from(0)

    def _end_from(self, position: int) -> tuple[int, int]:
        following = self.base_offset
        for start, header in iter_file_headers(self.file, position, self.size):
            following, position = header.next_offset, start + header.size
        return following, position

    # ---- cutting

    def truncate_to(self, offset: int, now_ms: int) -> None:
        """Remove every batch that reaches to `offset` or beyond; the segment is active afterwards."""
        found = find_batch(self.file, self.index.lookup(offset), self.size, offset)
        self.index.truncate_to(offset)
        self.index_entries = len(self.index)
        self.time_index.truncate_to(offset)
        self.txn_index.truncate_to(offset)
        self.index_on_disk = False
        if found is not None:
            self.cut(found.position)
        if self.size == 0:
            self.created_ms = now_ms
        self._bytes_since_index = 0
        self._max_timestamp = self._find_max_timestamp()

    def trim(self) -> bool:
        """Cut what the file has behind the last batch: preallocated space, or what a failed append left.

        Goes by the file, not by the configuration, which may have changed since the file was made.
        """
        if self._fs.size(self.path(names.LOG)) <= self.size:
            return False
        self.file.truncate(self.size)
        self.is_synced = False
        return True

    def cut(self, size: int) -> None:
        """Shorten the log file to `size` bytes, durably: what was cut must not come back behind new bytes."""
        self.file.truncate(size)
        self.file.sync()
        self.size = size
        self.is_synced = False
        self.tail.clear()
        if size == 0:
            self.first_timestamp = None

    def _find_max_timestamp(self) -> tuple[int, int]:
        largest = self.time_index.last_entry
        for _, header in iter_file_headers(self.file, self.index.lookup(largest[1]), self.size):
            if header.max_timestamp > largest[0]:
                largest = (header.max_timestamp, header.last_offset)
        return largest
