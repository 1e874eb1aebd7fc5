"""A log that was not used since a clean stop: a name and three offsets, and no open file.

The offsets are what the checkpoints say, and a checkpoint is a hint. What must not open the log looks at its
files: its size, whether it has records, whether retention has anything to delete. Where the files contradict
the offsets the log is opened.
"""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeAlias

from barnabas.base.config.log_config import LogConfig
from barnabas.base.filesystem import FileSystem
from barnabas.base.ids import TopicPartition
from barnabas.records.batch import HEADER_SIZE, parse_header
from barnabas.storage import names, time_index
from barnabas.storage.cleaning.cleanable import find_cleanable, valid_first_dirty_offset
from barnabas.storage.log_directory import LogDirectory
from barnabas.storage.retention import count_deletable

_logger = logging.getLogger(__name__)


@dataclass(slots=True)
class ColdLog:
    root: LogDirectory
    name: str
    recovery_point: int
    """After a clean stop also the log end offset, if the checkpoint is right."""
    log_start_offset: int
    high_watermark: int
    needs_recovery: bool = False
    """The log was not closed by a clean stop of this directory."""
    index_sums: str | None = None
    """What the index files held at the last clean stop (`index_sums`); None: not known."""
    is_single: bool = False
    """There is no segment but the active one, and as long as the log is cold there will be none."""

    @property
    def directory(self) -> Path:
        return self.root.path / self.name

    def size(self, fs: FileSystem) -> int:
        return sum(segment.size for segment in _segments(fs, self.directory))

    def is_empty(self, fs: FileSystem) -> bool:
        """Whether there are no records, by the sizes of the files; False if they cannot be read."""
        try:
            return not any(segment.size for segment in _segments(fs, self.directory))
        except OSError:
            return False

    def _is_plausible(self, segments: "list[_SegmentOnDisk]") -> bool:
        """Whether the log can end where the checkpoint says."""
        base_offset = segments[-1].base_offset
        return self.recovery_point > base_offset if segments[-1].size else self.recovery_point == base_offset

    def has_old_segments(self, fs: FileSystem, config_of: Callable[[], LogConfig], now_ms: int) -> bool:
        """Whether retention has something to delete."""
        segments = _segments(fs, self.directory)
        if not segments:
            return False
        if not self._is_plausible(segments):
            return True
        count = count_deletable(
            segments,
            config_of(),
            log_start_offset=self.log_start_offset,
            high_watermark=self.high_watermark,
            log_end_offset=self.recovery_point,
            now_ms=now_ms,
        )
        return count > 0

    def is_worth_cleaning(self, fs: FileSystem, config_of: Callable[[], LogConfig], now_ms: int) -> bool:
        """Whether compaction has something to do. Most logs have one segment only, and are checked once."""
        if self.is_single or not (config := config_of()).cleanup_compact:
            return False
        segments = _segments(fs, self.directory)
        if len(segments) < 2:
            self.is_single = True
            return False
        if not self._is_plausible(segments):
            return True
        parsed = names.parse_directory(self.name)
        checkpoint = self.root.cleaner_offsets.get(parsed.topic_partition) if parsed is not None else None
        start = max(self.log_start_offset, segments[0].base_offset)
        found = find_cleanable(
            segments,
            config,
            first_dirty_offset=valid_first_dirty_offset(
                self.name, checkpoint, config, start, self.recovery_point
            ),
            last_stable_offset=self.high_watermark,
            now_ms=now_ms,
        )
        return found.is_worth_cleaning(config)


@dataclass(frozen=True, slots=True)
class _SegmentOnDisk:
    fs: FileSystem
    directory: Path
    base_offset: int
    size: int

    @property
    def is_synced(self) -> bool:
        """A log is cold only after a clean stop."""
        return True

    @property
    def first_batch_timestamp(self) -> int:
        """The largest timestamp of the first batch; -1 if there is none."""
        path = self.directory / names.file_name(self.base_offset, names.LOG)
        head = self.fs.open(path, read_only=True).read_at(0, HEADER_SIZE)
        return parse_header(head).max_timestamp if head else -1

    @property
    def largest_timestamp(self) -> int:
        """The last entry of the time index; the file's age if there is none."""
        path = self.directory / names.file_name(self.base_offset, names.TIME_INDEX)
        try:
            entries = self.fs.read_bytes(path)
        except FileNotFoundError:
            entries = b""
        if len(entries) >= time_index.ENTRY_SIZE:
            timestamp: int = time_index.ENTRY.unpack(entries[-time_index.ENTRY_SIZE :])[0]
            return timestamp
        return self.modified_ms

    @property
    def is_timestamp_checked(self) -> bool:
        """Taken as such here: before anything is deleted the log is opened, and decides itself."""
        return True

    @property
    def modified_ms(self) -> int:
        return self.fs.modified_ms(self.directory / names.file_name(self.base_offset, names.LOG))


def _segments(fs: FileSystem, directory: Path) -> list[_SegmentOnDisk]:
    offsets = sorted(
        offset
        for name in fs.listdir(directory)
        if name.endswith(names.LOG) and (offset := names.offset_of(name)) is not None
    )
    return [
        _SegmentOnDisk(fs, directory, offset, fs.size(directory / names.file_name(offset, names.LOG)))
        for offset in offsets
    ]


ColdQuestion: TypeAlias = Callable[[ColdLog, FileSystem, Callable[[], LogConfig], int], bool]


def find_cold(
    logs: Mapping[TopicPartition, ColdLog],
    fs: FileSystem,
    config_for: Callable[[str], LogConfig],
    now_ms: int,
    applies: ColdQuestion,
) -> list[TopicPartition]:
    """The logs to which something applies; reads files only, for a thread."""
    found = []
    for key, cold in list(logs.items()):
        try:
            if applies(cold, fs, partial(config_for, key.topic), now_ms):
                found.append(key)
        except OSError as error:
            _logger.warning("Cannot read the files of the log %s: %s", cold.directory, error)
    return found
