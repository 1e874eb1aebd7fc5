"""The checkpoints of all log directories: their current content, and the logs without an entry in them.

Invariant: a new log never has an entry that was written for an earlier log of its name. A deleted log, or one
that was set aside, leaves the table at once and the files with the next write; what `without` returns is run
before a log of the same name is created. So to delete thousands of partitions writes nothing by itself,
and to create them again writes each file once.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from barnabas.base.ids import TopicPartition
from barnabas.storage.checkpoints import CheckpointFile, CheckpointWrite
from barnabas.storage.log_directory import LogDirectory
from barnabas.storage.log_table import LogTable

_Offsets = Callable[[LogDirectory], Mapping[TopicPartition, int]]


class LogCheckpoints:
    def __init__(self, directories: Sequence[LogDirectory], table: LogTable) -> None:
        self._directories: Sequence[LogDirectory] = directories
        self._table: LogTable = table

    def recovery_points(self) -> list[CheckpointWrite]:
        """What the recovery-point checkpoints should say now; to be run in a thread."""
        points = self._table.recovery_points
        return self._prepare(lambda directory: directory.recovery_points.prepare(points(directory)))

    def log_start_offsets(self) -> list[CheckpointWrite]:
        """The same for log start offsets, of logs that do not start with their first segment."""
        starts = self._table.log_start_offsets
        return self._prepare(lambda directory: directory.log_start_offsets.prepare(starts(directory)))

    def high_watermarks(self) -> list[CheckpointWrite]:
        marks = self._table.high_watermarks
        return self._prepare(lambda directory: directory.high_watermarks.prepare(marks(directory)))

    def cleaner_offsets(self) -> list[CheckpointWrite]:
        return self._prepare(lambda directory: directory.cleaner_offsets.prepare())

    def _prepare(self, prepare: Callable[[LogDirectory], CheckpointWrite | None]) -> list[CheckpointWrite]:
        writes = [prepare(directory) for directory in self._directories if directory.is_online]
        return [write for write in writes if write is not None]

    def failed(self, write: CheckpointWrite, error: OSError) -> None:
        """A write raised: its directory goes offline, or the next write tries again."""
        for directory in self._directories:
            if directory.path == write.file.path.parent:
                directory.cleaner_offsets.retry()
                directory.fail(error)

    def write_all(self) -> set[Path]:
        """Write all checkpoints here and now; the directories of those that could not be written."""
        failed = set()
        others = (*self.log_start_offsets(), *self.high_watermarks(), *self.cleaner_offsets())
        for write in (*self.recovery_points(), *others):
            try:
                write.run()
            except OSError as error:
                self.failed(write, error)
                failed.add(write.file.path.parent)
        return failed

    def write_recovery_points(self, directory: LogDirectory) -> None:
        """Those of one directory, here and now; raises OSError."""
        write = directory.recovery_points.prepare(self._table.recovery_points(directory))
        if write is not None:
            write.run()

    def without(self, directory: LogDirectory, key: TopicPartition) -> list[CheckpointWrite]:
        """What has to be run before a log is created, for no file to have an entry of an earlier one."""
        writes = []
        for file, offsets in self._files(directory):
            if file.mentions(key):
                writes.append(file.prepare(offsets(directory), force=True))
        writes.append(directory.cleaner_offsets.prepare_without(key))
        return [write for write in writes if write is not None]

    def _files(self, directory: LogDirectory) -> Iterator[tuple[CheckpointFile, _Offsets]]:
        # The log start first: it is the entry that would hide records.
        yield directory.log_start_offsets, self._table.log_start_offsets
        yield directory.recovery_points, self._table.recovery_points
        yield directory.high_watermarks, self._table.high_watermarks
