"""Making a log durable, in three steps: planned on the loop, run in a thread, noted on the loop.

Crash promise: when a plan is done, every record below `up_to` survives a loss of power. The order is: the
batches, then what is derived from them (indexes, aborted transactions, producer snapshots, leader epochs),
then the names in the directory; only after that does the recovery point move, below which nothing is
checked at the next start.
"""

import logging
from dataclasses import dataclass, field
from pathlib import Path

from crc32c import crc32c

from barnabas.base.errors import StorageError
from barnabas.base.filesystem import FileSystem, LogFile
from barnabas.storage import names
from barnabas.storage.offset_index import OffsetIndex
from barnabas.storage.segment import Segment
from barnabas.storage.time_index import TimeIndex

_logger = logging.getLogger(__name__)


@dataclass(slots=True)
class IndexWrite:
    """Both indexes of a sealed segment, copied when the plan was made."""

    segment: Segment
    index: OffsetIndex
    time_index: TimeIndex
    sums: tuple[int, int] | None = None
    """CRC-32C of both files, once they are written."""


@dataclass(slots=True)
class FlushPlan:
    fs: FileSystem
    directory: Path
    up_to: int
    generation: int
    """Truncations of the log so far: a plan from before one says nothing about what came after."""
    sealed: list[Segment] = field(default_factory=list)
    log_files: list[LogFile] = field(default_factory=list)
    closed_files: list[Path] = field(default_factory=list)
    """Logs that are synced by name, lest a flush opens more files than the broker may."""
    index_writes: list[IndexWrite] = field(default_factory=list)
    derived_files: list[Path] = field(default_factory=list)
    leader_epochs: bytes | None = None
    directories: list[Path] = field(default_factory=list)
    snapshots: list[int] = field(default_factory=list)
    error: OSError | None = None

    def run(self) -> None:
        """Sync everything; a failing disk is remembered for `Log.flushed` and raised."""
        try:
            self._sync()
        except FileNotFoundError as error:
            if self.fs.exists(self.directory):
                self._fail(error)
            _logger.info("%s was deleted while it was flushed", self.directory)
        except OSError as error:
            self._fail(error)

    def _fail(self, error: OSError) -> None:
        self.error = error
        raise StorageError(f"flushing {self.directory}: {error}") from error

    def _sync(self) -> None:
        for file in () if self.fs.defers_syncs else self.log_files:
            file.sync()
        for path in self.closed_files:
            self.fs.sync_file(path)
        for write in self.index_writes:
            data, time_data = write.index.encode(), write.time_index.encode()
            self.fs.write_bytes(write.segment.path(names.INDEX), data, sync=True)
            self.fs.write_bytes(write.segment.path(names.TIME_INDEX), time_data, sync=True)
            write.sums = crc32c(data), crc32c(time_data)
        for path in self.derived_files:
            try:
                self.fs.sync_file(path)
            except FileNotFoundError:
                _logger.debug("%s was removed before it was synced", path)
        if self.leader_epochs is not None:
            self.fs.write_atomically(self.directory / names.LEADER_EPOCHS, self.leader_epochs)
        for directory in self.directories:
            self.fs.sync_dir(directory)
