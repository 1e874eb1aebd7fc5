"""`cleaner-offset-checkpoint` of a log directory: up to where each compacted log is clean.

Kafka's format (`checkpoints.py`). Losing an entry costs a cleaning of the whole log, no more; an entry that
is too large would leave old values, so it goes with its partition and is capped when a log is cut.
"""

from pathlib import Path

from barnabas.base.filesystem import FileSystem
from barnabas.base.ids import TopicPartition
from barnabas.storage.checkpoints import CheckpointFile, CheckpointWrite

CLEANER_OFFSETS = "cleaner-offset-checkpoint"


class CleanerOffsets:
    def __init__(self, fs: FileSystem, directory: Path) -> None:
        self._file: CheckpointFile = CheckpointFile(fs, directory / CLEANER_OFFSETS)
        self._offsets: dict[TopicPartition, int] = {}
        self._is_dirty: bool = False

    def load(self) -> None:
        self._offsets = self._file.read().offsets

    def get(self, key: TopicPartition) -> int | None:
        return self._offsets.get(key)

    def put(self, key: TopicPartition, offset: int) -> None:
        if self._offsets.get(key) != offset:
            self._offsets[key] = offset
            self._is_dirty = True

    def remove(self, key: TopicPartition) -> None:
        if self._offsets.pop(key, None) is not None:
            self._is_dirty = True

    def cap(self, key: TopicPartition, offset: int) -> None:
        """The log was cut at `offset`."""
        if self._offsets.get(key, 0) > offset:
            self.put(key, offset)

    def prepare(self) -> CheckpointWrite | None:
        """What is to be written, if anything changed; to be run in a thread."""
        if not self._is_dirty:
            return None
        self._is_dirty = False
        return self._file.prepare(self._offsets)

    def retry(self) -> None:
        """What was prepared may not have been written: prepare it again."""
        self._is_dirty = True

    def prepare_without(self, key: TopicPartition) -> CheckpointWrite | None:
        """What removes the partition's entry; None if a crash would find none."""
        self.remove(key)
        if not self._file.mentions(key):
            return None
        self._is_dirty = False
        return self._file.prepare(self._offsets, force=True)
