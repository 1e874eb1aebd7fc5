"""Cleans one log: judges its dirty part, copies its segments in groups, hands each over to be swapped in.

Reads sealed segments only, writes `.cleaned` files only; the caller's `swap` swaps them in before the next
group begins. Groups go from the oldest to the newest: an old value is removed before the tombstone that
hides it.

A round judges as many keys as fit into memory, from the newest down, and copies everything below. Only after
the last round is the log clean up to `CleaningStats.end_offset`; what is there in between is a valid log.
"""

import time
from collections.abc import Callable
from pathlib import Path

from barnabas.base.filesystem import FileSystem
from barnabas.storage import names
from barnabas.storage.cleaning.job import CleanedSegment, CleaningJob, CleaningStats, SourceSegment
from barnabas.storage.cleaning.judgement import Judgement
from barnabas.storage.cleaning.recopy import Recopy
from barnabas.storage.cleaning.seen_keys import SeenKeys
from barnabas.storage.cleaning.segment_writer import SegmentWriter
from barnabas.storage.cleaning.sources import group_segments, source_path
from barnabas.storage.cleaning.throttle import Throttle

_VERDICT_SHARE = 8
"""At most this part of the memory for verdicts on batches; a longer dirty part is cleaned in several goes."""


def _never() -> None:
    """The cleaning cannot be aborted."""


class Cleaner:
    def __init__(
        self,
        job: CleaningJob,
        fs: FileSystem,
        swap: Callable[[CleanedSegment], None],
        *,
        check: Callable[[], None] = _never,
        monotonic: Callable[[], float] = time.perf_counter,
        throttle: Throttle | None = None,
    ) -> None:
        """`swap` returns when the segment is swapped in; `check` raises `CleaningAborted` to end the work."""
        self._job: CleaningJob = job
        self._fs: FileSystem = fs
        self._swap: Callable[[CleanedSegment], None] = swap
        self._check: Callable[[], None] = check
        self._monotonic: Callable[[], float] = monotonic
        self._throttle: Throttle = throttle or Throttle(job.bytes_per_second)
        self._segments: list[SourceSegment] = list(job.segments)
        self._stats: CleaningStats = CleaningStats(end_offset=job.end_offset)

    def clean(self) -> CleaningStats:
        """Clean the log; raises what a failing disk or a damaged batch raises, with nothing half swapped."""
        started = self._monotonic()
        first, upper = self._job.first_dirty_offset, self._job.end_offset
        while True:
            decided_from = self._round(upper)
            self._stats.rounds += 1
            if decided_from <= first:
                break
            upper = decided_from
        self._stats.seconds = self._monotonic() - started
        return self._stats

    def _round(self, upper: int) -> int:
        began = self._monotonic()
        seen = SeenKeys(self._job.memory)
        judgement = Judgement(self._job, self._fs, seen, self._progress)
        dirty = self._dirty_segments(upper)
        taken = judgement.scan(dirty, max(1, self._job.memory // _VERDICT_SHARE))
        if taken < len(dirty):
            upper = self._stats.end_offset = dirty[taken].base_offset
            dirty = dirty[:taken]
        judgement.judge(dirty, upper)
        self._stats.judge_seconds += self._monotonic() - began
        self._stats.keys = max(self._stats.keys, len(seen.keys))
        self._stats.dirty_bytes = max(self._stats.dirty_bytes, sum(segment.size for segment in dirty))
        if not self._stats.rounds:
            self._stats.keyless_records = judgement.keyless_records
        below = [segment for segment in self._segments if segment.base_offset < upper]
        recopy = Recopy(self._job, self._fs, judgement, seen.keys, upper, self._stats, self._progress)
        for group in group_segments(self._fs, self._job, below):
            self._clean_group(group, recopy)
        return judgement.decided_from

    def _dirty_segments(self, upper: int) -> list[SourceSegment]:
        below = [segment for segment in self._segments if segment.base_offset < upper]
        first = self._job.first_dirty_offset
        reached = [number for number, segment in enumerate(below) if segment.base_offset <= first]
        return below[reached[-1] if reached else 0 :]

    def _clean_group(self, group: list[SourceSegment], recopy: Recopy) -> None:
        job = self._job
        writer = SegmentWriter(
            self._fs,
            Path(job.directory),
            group[0].base_offset,
            index_interval_bytes=job.index_interval_bytes,
            io_bytes=job.io_bytes,
        )
        try:
            if not recopy.copy(group, writer):
                writer.discard()
                return
            has_txn_index = writer.finish(self._fs.modified_ms(source_path(job, group[-1], names.LOG)))
            self._check()
        except BaseException:
            writer.discard()
            raise
        replaced = tuple(segment.base_offset for segment in group)
        self._swap(CleanedSegment(group[0].base_offset, writer.size, has_txn_index, replaced))
        at = self._segments.index(group[0])
        self._segments[at : at + len(group)] = [SourceSegment(group[0].base_offset, writer.size)]

    def _progress(self, size: int) -> None:
        self._check()
        self._throttle.note(size)
