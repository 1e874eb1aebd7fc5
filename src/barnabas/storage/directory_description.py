"""The DescribeLogDirs entry of a log directory."""

from dataclasses import dataclass
from pathlib import Path

from barnabas.base.filesystem import FileSystem
from barnabas.base.ids import TopicPartition
from barnabas.storage.log import Log
from barnabas.storage.log_directory import LogDirectory
from barnabas.storage.log_table import LogTable


@dataclass(frozen=True, slots=True)
class DirectoryDescription:
    path: Path
    is_online: bool
    total_bytes: int
    usable_bytes: int
    sizes: dict[TopicPartition, int]
    futures: frozenset[TopicPartition] = frozenset()
    """Those that are copied into this directory."""


def describe_directory(directory: LogDirectory, table: LogTable, fs: FileSystem) -> DirectoryDescription:
    """Space of the disk and size of each log, by its files where it is not opened; -1 where it is offline."""
    if directory.is_online:
        try:
            usage = directory.disk_usage()
            sizes = {
                key: entry.size if isinstance(entry, Log) else entry.size(fs)
                for key, entry in table.in_directory(directory)
            }
        except OSError as error:
            directory.fail(error)
        else:
            futures = frozenset(key for key, root in table.future_roots.items() if root is directory)
            return DirectoryDescription(
                directory.path, True, usage.total_bytes, usage.usable_bytes, sizes, futures
            )
    return DirectoryDescription(directory.path, False, -1, -1, {})
