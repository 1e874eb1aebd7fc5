"""Writes one compacted segment: the `.cleaned` files of log, indexes and aborted transactions.

Crash promise: until `finish` returns nothing is durable and nothing refers to the files; the next
start removes `.cleaned` files. When it has returned they are whole and synced, names included.
"""

from pathlib import Path

from barnabas.base.errors import InvalidRecord
from barnabas.base.filesystem import Buffer, FileSystem, LogFile
from barnabas.records.batch import LOG_OVERHEAD, BatchHeader
from barnabas.storage import names, txn_index
from barnabas.storage.cleaning.sources import MAX_RELATIVE_OFFSET
from barnabas.storage.offset_index import OffsetIndex
from barnabas.storage.time_index import NO_TIMESTAMP, TimeIndex
from barnabas.storage.txn_index import AbortedTxn


class SegmentWriter:
    def __init__(
        self, fs: FileSystem, directory: Path, base_offset: int, *, index_interval_bytes: int, io_bytes: int
    ) -> None:
        self.base_offset: int = base_offset
        self.size: int = 0
        self._fs: FileSystem = fs
        self._directory: Path = directory
        self._interval: int = index_interval_bytes
        self._io_bytes: int = io_bytes
        self._index: OffsetIndex = OffsetIndex(base_offset)
        self._time_index: TimeIndex = TimeIndex(base_offset)
        self._largest: tuple[int, int] = (NO_TIMESTAMP, base_offset)
        self._since_index: int = 0
        self._aborted: list[AbortedTxn] = []
        self._buffers: list[Buffer] = []
        self._buffered: int = 0
        self.discard()
        self._file: LogFile = fs.open(self._path(names.LOG), create=True)

    def _path(self, suffix: str) -> Path:
        return self._directory / (names.file_name(self.base_offset, suffix) + names.CLEANED)

    def note(self, header: BatchHeader) -> None:
        """Account for the next batch in the log, as an append would; its bytes come by `write`."""
        size = header.batch_length + LOG_OVERHEAD
        last_offset = header.base_offset + header.last_offset_delta
        if last_offset - self.base_offset > MAX_RELATIVE_OFFSET:
            raise InvalidRecord(f"offset {last_offset} is too far from the base offset {self.base_offset}")
        if header.max_timestamp > self._largest[0]:
            self._largest = (header.max_timestamp, last_offset)
        if self._since_index > self._interval:
            self._index.append(last_offset, self.size)
            self._time_index.maybe_append(*self._largest)
            self._since_index = 0
        self._since_index += size
        self.size += size

    def write(self, data: Buffer) -> None:
        self._buffers.append(data)
        self._buffered += len(data)
        if self._buffered >= self._io_bytes:
            self._flush()

    def note_abort(self, txn: AbortedTxn) -> None:
        self._aborted.append(txn)

    def finish(self, modified_ms: int) -> bool:
        """Write out everything and sync it; says whether there is an index of aborted transactions.

        The files get the age of what they replace: retention goes by it where records carry no timestamp.
        """
        self._flush()
        self._file.sync()
        self._time_index.maybe_append(*self._largest)
        written = {names.INDEX: self._index.encode(), names.TIME_INDEX: self._time_index.encode()}
        if self._aborted:
            written[names.TXN_INDEX] = txn_index.encode(self._aborted)
        for suffix, content in written.items():
            self._fs.write_bytes(self._path(suffix), content, sync=True)
        for suffix in (names.LOG, *written):
            self._fs.set_modified_ms(self._path(suffix), modified_ms)
        self._fs.sync_dir(self._directory)
        return bool(self._aborted)

    def discard(self) -> None:
        """Remove the files, also those that an earlier cleaning left."""
        for suffix in names.SEGMENT_SUFFIXES:
            self._fs.unlink(self._path(suffix))

    def _flush(self) -> None:
        if self._buffers:
            self._file.write_at(self.size - self._buffered, self._buffers, self._buffered)
            self._buffers.clear()
            self._buffered = 0
