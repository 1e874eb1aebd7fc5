"""Which logs a broker has: opened ones, cold ones, and the directory of each."""

from collections.abc import Iterable, Iterator

from barnabas.base.ids import TopicPartition
from barnabas.storage.cold_log import ColdLog
from barnabas.storage.index_sums import line_of
from barnabas.storage.log import Log
from barnabas.storage.log_directory import LogDirectory


class LogTable:
    def __init__(self) -> None:
        self.opened: dict[TopicPartition, Log] = {}
        self.cold: dict[TopicPartition, ColdLog] = {}
        self.failed: dict[TopicPartition, ColdLog] = {}
        """Logs that could not be opened; their entries in the checkpoints are kept."""
        self.roots: dict[TopicPartition, LogDirectory] = {}
        self.futures: dict[TopicPartition, Log | ColdLog] = {}
        """Logs that are copied to another directory (`future_logs`)."""
        self.future_roots: dict[TopicPartition, LogDirectory] = {}

    def __contains__(self, key: TopicPartition) -> bool:
        return key in self.opened or key in self.cold

    def __iter__(self) -> Iterator[TopicPartition]:
        return iter([*self.opened, *self.cold])

    def __len__(self) -> int:
        return len(self.opened) + len(self.cold)

    def remove(self, key: TopicPartition) -> None:
        """The partition has no log any more."""
        self.opened.pop(key, None)
        self.cold.pop(key, None)
        self.failed.pop(key, None)
        self.roots.pop(key, None)

    def in_directory(self, directory: LogDirectory) -> Iterable[tuple[TopicPartition, Log | ColdLog]]:
        for key, root in self.roots.items():
            if root is directory:
                entry = self.opened.get(key) or self.cold.get(key) or self.failed.get(key)
                if entry is not None:
                    yield key, entry
        for key, root in self.future_roots.items():
            if root is directory:
                yield key, self.futures[key]

    def least_loaded(self, directories: list[LogDirectory]) -> LogDirectory:
        """The directory with the fewest logs, the first of equals."""
        if len(directories) == 1:
            return directories[0]
        counts = {directory.path: 0 for directory in directories}
        for root in self.roots.values():
            if root.path in counts:
                counts[root.path] += 1
        return min(directories, key=lambda directory: counts[directory.path])

    def recovery_points(self, directory: LogDirectory) -> dict[TopicPartition, int]:
        return {key: entry.recovery_point for key, entry in self.in_directory(directory)}

    def index_sums(self, directory: LogDirectory) -> dict[TopicPartition, str]:
        """What the index files hold, as far as it is known; after the logs are closed."""
        found = (
            (key, line_of(entry.segments) if isinstance(entry, Log) else entry.index_sums)
            for key, entry in self.in_directory(directory)
        )
        return {key: sums for key, sums in found if sums is not None}

    def high_watermarks(self, directory: LogDirectory) -> dict[TopicPartition, int]:
        return {key: entry.high_watermark for key, entry in self.in_directory(directory)}

    def log_start_offsets(self, directory: LogDirectory) -> dict[TopicPartition, int]:
        """Those that differ from the base offset of the first segment."""
        return {
            key: entry.log_start_offset
            for key, entry in self.in_directory(directory)
            if entry.log_start_offset > (entry.segments.first.base_offset if isinstance(entry, Log) else 0)
        }
