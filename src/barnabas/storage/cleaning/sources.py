"""The files of the segments that a cleaning reads: opened to be read only, grouped into those to come."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from barnabas.base.filesystem import FileSystem, LogFile
from barnabas.storage import names
from barnabas.storage.cleaning.job import CleaningJob, SourceSegment

MAX_RELATIVE_OFFSET = 2**31 - 1


def source_path(job: CleaningJob, segment: SourceSegment, suffix: str) -> Path:
    return Path(job.directory) / names.file_name(segment.base_offset, suffix)


def open_source(fs: FileSystem, job: CleaningJob, segment: SourceSegment) -> LogFile:
    return fs.open(source_path(job, segment, names.LOG), read_only=True)


@dataclass(slots=True)
class _Group:
    segments: list[SourceSegment]
    log_bytes: int
    index_bytes: int
    time_index_bytes: int


def group_segments(
    fs: FileSystem, job: CleaningJob, segments: Sequence[SourceSegment]
) -> list[list[SourceSegment]]:
    """Neighbours that fit into one segment together: by their bytes, their index entries, their offsets.

    As in Kafka by the sizes before cleaning, so that segments do not get ever smaller.
    """
    groups: list[_Group] = []
    ends = [segment.base_offset - 1 for segment in segments[1:]] + [job.end_offset - 1]
    for segment, last_offset in zip(segments, ends, strict=True):
        index = _size(fs, source_path(job, segment, names.INDEX))
        time_index = _size(fs, source_path(job, segment, names.TIME_INDEX))
        group = groups[-1] if groups else None
        if (
            group is not None
            and group.log_bytes + segment.size <= job.segment_bytes
            and group.index_bytes + index <= job.segment_index_bytes
            and group.time_index_bytes + time_index <= job.segment_index_bytes
            and (segment.size == 0 or last_offset - group.segments[0].base_offset <= MAX_RELATIVE_OFFSET)
        ):
            group.segments.append(segment)
            group.log_bytes += segment.size
            group.index_bytes += index
            group.time_index_bytes += time_index
        else:
            groups.append(_Group([segment], segment.size, index, time_index))
    return [group.segments for group in groups]


def _size(fs: FileSystem, path: Path) -> int:
    try:
        return fs.size(path)
    except FileNotFoundError:
        return 0
