"""A log that nobody has used since a clean stop: a name and three offsets, and no file open.

What must not open it looks at its files: its size, and whether retention has anything to delete.
"""

from dataclasses import dataclass
from pathlib import Path

from barnabas.base.config.log_config import LogConfig
from barnabas.base.filesystem import FileSystem
from barnabas.storage import names, time_index
from barnabas.storage.log_directory import LogDirectory
from barnabas.storage.retention import count_deletable


@dataclass(slots=True)
class ColdLog:
    root: LogDirectory
    name: str
    recovery_point: int
    """After a clean stop also the log end offset."""
    log_start_offset: int
    high_watermark: int

    @property
    def directory(self) -> Path:
        return self.root.path / self.name

    def size(self, fs: FileSystem) -> int:
        return sum(segment.size for segment in _segments(fs, self.directory))

    def has_old_segments(self, fs: FileSystem, config: LogConfig, now_ms: int) -> bool:
        segments = _segments(fs, self.directory)
        return (
            bool(segments)
            and count_deletable(
                segments,
                config,
                log_start_offset=self.log_start_offset,
                high_watermark=self.high_watermark,
                log_end_offset=self.recovery_point,
                now_ms=now_ms,
            )
            > 0
        )


@dataclass(frozen=True, slots=True)
class _SegmentOnDisk:
    fs: FileSystem
    directory: Path
    base_offset: int
    size: int

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
