"""What partitions a log directory holds, from its files alone: for adopting a directory of another broker.

Nothing is opened for writing, recovered or removed, so a directory that this broker does not own yet can be
read.
"""

from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from barnabas.base.errors import KafkaError
from barnabas.base.filesystem import FileSystem
from barnabas.base.ids import TopicPartition
from barnabas.storage import names
from barnabas.storage.batch_scan import iter_file_headers
from barnabas.storage.checkpoints import LOG_START_OFFSETS, read_offsets
from barnabas.storage.index_errors import CorruptIndex
from barnabas.storage.offset_index import OffsetIndex
from barnabas.storage.partition_metadata import read_topic_id


@dataclass(frozen=True, slots=True)
class FoundPartition:
    topic: str
    partition: int
    topic_id: UUID | None
    log_start_offset: int
    log_end_offset: int


def list_partitions(path: Path, fs: FileSystem) -> list[FoundPartition]:
    """Every partition in the log directory, sorted; those marked for deletion or set aside are left out."""
    log_starts = read_offsets(fs, path / LOG_START_OFFSETS)
    found = []
    for name in fs.list_directories(path):
        parsed = names.parse_directory(name)
        if parsed is not None and not parsed.mark:
            found.append(_look_at(path / name, parsed.topic_partition, fs, log_starts))
    return sorted(found, key=lambda partition: (partition.topic, partition.partition))


def _look_at(
    directory: Path, key: TopicPartition, fs: FileSystem, log_starts: dict[TopicPartition, int]
) -> FoundPartition:
    bases = sorted(
        offset
        for name in fs.listdir(directory)
        if name.endswith(names.LOG) and (offset := names.offset_of(name)) is not None
    )
    log_start = max(log_starts.get(key, 0), bases[0] if bases else 0)
    log_end = _end_of_segment(directory, bases[-1], fs) if bases else log_start
    return FoundPartition(
        key.topic, key.partition, read_topic_id(fs, directory), log_start, max(log_start, log_end)
    )


def _end_of_segment(directory: Path, base_offset: int, fs: FileSystem) -> int:
    path = directory / names.file_name(base_offset, names.LOG)
    size = fs.size(path)
    try:
        data = fs.read_bytes(directory / names.file_name(base_offset, names.INDEX))
        position = OffsetIndex.decode(base_offset, data, size).last_position
    except (CorruptIndex, FileNotFoundError):
        position = 0
    end = base_offset
    try:
        for _, header in iter_file_headers(fs.open(path, read_only=True), position, size):
            end = header.next_offset
    except KafkaError:
        return end  # a torn tail: recovery will cut it
    return end
