"""From a log to a job for the cleaner, and from its cleaned segments back into the log.

Made and used by the thread that owns the log. A plan remembers the very segments it was made of: if one of
them is no longer in the log as it was (truncated, deleted), nothing is swapped.
"""

from dataclasses import dataclass, field

from barnabas.storage.cleaning.cleanable import CleanableRange, find_cleanable, valid_first_dirty_offset
from barnabas.storage.cleaning.job import (
    NO_LIMIT,
    CleanedSegment,
    CleaningAborted,
    CleaningJob,
    LastBatch,
    SourceSegment,
)
from barnabas.storage.deleted_files import DeletedFiles
from barnabas.storage.log import Log
from barnabas.storage.segment import Segment


@dataclass(frozen=True, slots=True)
class CleanerResources:
    """What one cleaning may use."""

    memory: int
    io_bytes: int
    bytes_per_second: float = NO_LIMIT


def cleanable_range(log: Log, checkpoint: int | None, now_ms: int) -> CleanableRange | None:
    """What can be cleaned of an open log now; None if that is nothing."""
    if len(log.segments) < 2:
        return None
    config = log.config
    name, start, end = log.topic_partition, log.log_start_offset, log.log_end_offset
    found = find_cleanable(
        list(log.segments),
        config,
        first_dirty_offset=valid_first_dirty_offset(name, checkpoint, config, start, end),
        last_stable_offset=log.last_stable_offset,
        now_ms=now_ms,
    )
    return found if found.cleanable_bytes else None


@dataclass(slots=True)
class CleaningPlan:
    log: Log
    job: CleaningJob
    segments: dict[int, tuple[Segment, int]] = field(default_factory=dict)
    """By base offset: each segment of the job, and the size that it had."""

    @classmethod
    def of(cls, log: Log, found: CleanableRange, now_ms: int, resources: CleanerResources) -> "CleaningPlan":
        sealed = [segment for segment in log.segments if segment.base_offset < found.end_offset]
        config = log.config
        job = CleaningJob(
            str(log.topic_partition),
            str(log.directory),
            tuple(SourceSegment(segment.base_offset, segment.size) for segment in sealed),
            found.first_dirty_offset,
            found.end_offset,
            now_ms,
            config.delete_retention_ms,
            config.segment_bytes,
            config.segment_index_bytes,
            config.index_interval_bytes,
            resources.memory,
            resources.io_bytes,
            resources.bytes_per_second,
            {key: LastBatch(entry.last_offset, entry.epoch) for key, entry in log.producers.entries.items()},
            tuple(log.aborted_transactions(sealed[0].base_offset, found.end_offset)),
        )
        return cls(log, job, {segment.base_offset: (segment, segment.size) for segment in sealed})

    @property
    def is_valid(self) -> bool:
        """Whether the log still has every segment of the plan as it was."""
        log = self.log
        if log.is_closed or log.is_offline:
            return False
        present = {segment.base_offset: segment for segment in log.segments}
        return all(
            present.get(base) is segment and segment.size == size and segment is not log.segments.active
            for base, (segment, size) in self.segments.items()
        )

    def swap(self, cleaned: CleanedSegment) -> DeletedFiles:
        """Put a cleaned segment into the log; returns the old files, to be unlinked once names are synced."""
        if not self.is_valid:
            raise CleaningAborted(f"{self.log.topic_partition} changed under its cleaning")
        old = [self.segments.pop(base)[0] for base in cleaned.replaced]
        new, deleted = self.log.replace_segments(cleaned, old)
        self.segments[new.base_offset] = (new, new.size)
        return deleted
