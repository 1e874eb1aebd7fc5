"""Copies segments into one, leaving out what the judgement, the seen keys and the transactions say."""

from collections.abc import Callable, Sequence

from barnabas.base.filesystem import FileSystem
from barnabas.records.batch import LOG_OVERHEAD, BatchHeader
from barnabas.records.record import unpack
from barnabas.storage.cleaning.batch_filter import empty_batch, filter_batch
from barnabas.storage.cleaning.chunks import ChunkReader, SegmentChunk, checked_batch
from barnabas.storage.cleaning.job import CleaningJob, CleaningStats, SourceSegment
from barnabas.storage.cleaning.judgement import (
    DROP,
    KEEP_ALL,
    KEEP_SOME,
    UNJUDGED,
    WITH_TOMBSTONE,
    Judgement,
    Verdicts,
    horizon_has_passed,
)
from barnabas.storage.cleaning.record_walk import read_keys
from barnabas.storage.cleaning.segment_writer import SegmentWriter
from barnabas.storage.cleaning.sources import open_source
from barnabas.storage.cleaning.transactions import CleanedTransactions


class Recopy:
    """One round's copying, from the oldest segment on; transactions run through all groups."""

    def __init__(
        self,
        job: CleaningJob,
        fs: FileSystem,
        judgement: Judgement,
        seen: set[bytes],
        upper: int,
        stats: CleaningStats,
        progress: Callable[[int], None],
    ) -> None:
        self._job: CleaningJob = job
        self._fs: FileSystem = fs
        self._judgement: Judgement = judgement
        self._seen: set[bytes] = seen
        self._upper: int = upper
        self._stats: CleaningStats = stats
        self._progress: Callable[[int], None] = progress
        self._transactions: CleanedTransactions = CleanedTransactions(job.aborted)
        self._changed: bool = False

    def copy(self, group: Sequence[SourceSegment], writer: SegmentWriter) -> bool:
        """Fill `writer` from the segments of `group`; whether anything differs from what is there."""
        self._changed = len(group) > 1
        for segment in group:
            verdicts = self._judgement.verdicts.get(segment.base_offset)
            reader = ChunkReader(
                open_source(self._fs, self._job, segment), segment.size, self._job.io_bytes, self._progress
            )
            number = 0
            for chunk in reader:
                before = writer.size
                self._copy_chunk(chunk, number, verdicts, writer)
                number += len(chunk.batches)
                self._progress(writer.size - before)
                self._stats.bytes_read += chunk.size
                self._stats.bytes_written += writer.size - before
        return self._changed

    def _copy_chunk(
        self, chunk: SegmentChunk, first: int, verdicts: Verdicts | None, writer: SegmentWriter
    ) -> None:
        """Batches that stay as they are leave in runs, the others one by one."""
        view = memoryview(chunk.data)[: chunk.size]
        run_start = 0
        stats = self._stats
        for number, (at, header) in enumerate(chunk.batches, first):
            stats.records_read += header.record_count
            new = self._copied(chunk, at, header, number, verdicts)
            for txn in self._transactions.retained_aborts:
                writer.note_abort(txn)
            self._transactions.retained_aborts.clear()
            if new is header:
                writer.note(header)
                stats.records_written += header.record_count
                continue
            self._changed = True
            if at > run_start:
                writer.write(view[run_start:at])
            run_start = at + header.batch_length + LOG_OVERHEAD
            if isinstance(new, tuple) and not isinstance(new, BatchHeader):
                new_header, data = new
                new_header = new_header._replace(batch_length=len(data) - LOG_OVERHEAD)
                writer.note(new_header)
                writer.write(data)
                stats.records_written += new_header.record_count
        if run_start < len(view):
            writer.write(view[run_start:])

    def _copied(
        self, chunk: SegmentChunk, at: int, header: BatchHeader, number: int, verdicts: Verdicts | None
    ) -> BatchHeader | tuple[BatchHeader, bytes] | None:
        """What becomes of a batch: its own header if it stays, a new batch, or None."""
        if header.is_control:
            new = self._copied_marker(chunk, at, header)
        elif self._transactions.is_aborted(header):
            new = None
        elif header.base_offset >= self._upper:
            return header
        else:
            new = self._copied_records(chunk, at, header, number, verdicts)
        if new is None and self._must_stay(header):
            if header.record_count == 0:
                return header
            return empty_batch(header)
        return new

    def _must_stay(self, header: BatchHeader) -> bool:
        """Whether the batch stays though empty: a producer's last, or the last of the cleaned part."""
        if header.next_offset == self._job.end_offset:
            return True
        last = self._job.producers.get(header.producer_id) if header.has_producer_id else None
        if last is None:
            return False
        if last.last_offset >= 0:
            return header.last_offset == last.last_offset
        return header.is_control and header.producer_epoch == last.epoch

    def _copied_marker(
        self, chunk: SegmentChunk, at: int, header: BatchHeader
    ) -> BatchHeader | tuple[BatchHeader, bytes] | None:
        batch = checked_batch(chunk, at, header)
        discardable = self._transactions.is_discardable(header, batch)
        if header.record_count == 0 or (discardable and horizon_has_passed(header, self._job.now_ms)):
            return None
        if discardable and not header.has_delete_horizon:
            return filter_batch(batch, header, None, self._new_horizon)
        return header

    @property
    def _new_horizon(self) -> int:
        return self._job.now_ms + self._job.delete_retention_ms

    def _copied_records(
        self, chunk: SegmentChunk, at: int, header: BatchHeader, number: int, verdicts: Verdicts | None
    ) -> BatchHeader | tuple[BatchHeader, bytes] | None:
        verdict = verdicts.by_batch[number] if verdicts is not None else UNJUDGED
        marks: bytearray | None = None
        if verdict == UNJUDGED:
            verdict, marks = self._look_up(checked_batch(chunk, at, header), header)
        elif verdicts is not None and verdict & ~WITH_TOMBSTONE == KEEP_SOME:
            marks = verdicts.take_marks(header.record_count)
        if verdict == DROP or (marks is not None and 1 not in marks):
            return None
        needs_horizon = bool(verdict & WITH_TOMBSTONE) and not header.has_delete_horizon
        if marks is None and not needs_horizon:
            return header
        batch = checked_batch(chunk, at, header)
        return filter_batch(batch, header, marks, self._new_horizon if needs_horizon else None)

    def _look_up(self, batch: memoryview, header: BatchHeader) -> tuple[int, bytearray | None]:
        """Below the judged part: a record goes if its key was seen above."""
        count, seen = header.record_count, self._seen
        if count == 0:
            return DROP, None
        keys, tombstones = read_keys(unpack(batch, header), count)
        was_clean = header.last_offset < self._job.first_dirty_offset
        expired = bool(tombstones) and was_clean and horizon_has_passed(header, self._job.now_ms)
        keyless = was_clean and None in keys
        if seen.isdisjoint(keys) and not expired and not keyless:
            return KEEP_ALL | (WITH_TOMBSTONE if tombstones and was_clean else 0), None
        marks = bytearray(key not in seen for key in keys)
        if keyless:
            for number, key in enumerate(keys):
                marks[number] &= key is not None
        with_tombstone = False
        for number in tombstones:
            if expired:
                marks[number] = 0
            with_tombstone |= marks[number] == 1
        return KEEP_SOME | (WITH_TOMBSTONE if with_tombstone and was_clean else 0), marks
