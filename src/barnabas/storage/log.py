"""The log of one partition: one append point, offsets that only grow, and what is derived from the batches.

Owns the offsets (log start, log end, high watermark, recovery point), the producers' state and the leader
epochs, and keeps them in step with the segments. One thread calls it; only `FlushPlan.run` and
`DeletedFiles.run` go elsewhere.

Invariants: log start <= high watermark <= log end; recovery point <= log end; nothing that failed to be
written is ever visible; an append changes no state before its bytes are written.
Crash promise: records below the recovery point are durable (`flush_plan`); those above are found again as
far as they reached the disk whole (`log_loader`). An `OSError` makes the log refuse all further work and
takes its directory offline.
"""

from collections.abc import Iterable
from struct import Struct
from uuid import UUID

from barnabas.base.errors import InconsistentTopicId, OffsetOutOfRange
from barnabas.base.filesystem import Buffer
from barnabas.records.batch import CONTROL_MASK, LOG_OVERHEAD, BatchHeader
from barnabas.records.deep_validation import DeepValidation
from barnabas.records.validation import validate_produced
from barnabas.storage import names
from barnabas.storage.append_info import AppendInfo, AppendOrigin
from barnabas.storage.cleaning.job import CleanedSegment
from barnabas.storage.deleted_files import DeletedFiles
from barnabas.storage.flush_plan import FlushPlan
from barnabas.storage.follower_records import read_follower_records
from barnabas.storage.partition_metadata import write_topic_id
from barnabas.storage.producer_snapshots import rebuild_producers
from barnabas.storage.producer_state import CompletedTxn, EndTxnMarker, read_marker
from barnabas.storage.readable_log import ReadableLog
from barnabas.storage.retention import count_deletable
from barnabas.storage.segment import Segment
from barnabas.storage.txn_index import AbortedTxn

_HEAD = Struct(">qii")
"""Base offset, batch length, leader epoch: the 16 bytes of a batch that its leader writes anew."""
_CLIENT = AppendOrigin.CLIENT


class Log(ReadableLog):
    # ---- appending

    def append_as_leader(
        self,
        records: Buffer,
        leader_epoch: int,
        *,
        origin: AppendOrigin = AppendOrigin.CLIENT,
        allow_zstd: bool = True,
        transaction_version: int = 0,
        may_defer: bool = False,
        prepared: DeepValidation | None = None,
    ) -> AppendInfo:
        """Check one batch, give it the next offsets, write it. A repeated batch is answered, not stored.

        With `may_defer` a large batch that must be unpacked raises `UnpackingDeferred`; once it is, the same
        call with it as `prepared` goes on.
        """
        if self.is_offline:
            raise self._refusal()
        now_ms = self._environment.clock.now_ms()
        client = origin is _CLIENT
        if prepared is None:
            validated = validate_produced(
                records, self._policy, now_ms, from_client=client, allow_zstd=allow_zstd, may_defer=may_defer
            )
        else:
            validated = prepared.finish(now_ms)
        header = validated.batches[0]
        buffer = memoryview(validated.buffer)
        base_offset = self.log_end_offset
        marker: EndTxnMarker | None = None
        producer_id = header.producer_id
        if producer_id >= 0:
            marker = read_marker(buffer) if header.attributes & CONTROL_MASK else None
            duplicate = self.producers.check(header, base_offset, origin, marker, transaction_version)
            if duplicate is not None:
                first, last, timestamp = duplicate.first_offset, duplicate.last_offset, duplicate.timestamp
                return AppendInfo(first, last, timestamp, self.log_start_offset, timestamp, duplicate=True)
        last_offset = base_offset + header.last_offset_delta
        size = header.batch_length + LOG_OVERHEAD
        max_timestamp = header.max_timestamp
        head = _HEAD.pack(base_offset, header.batch_length, leader_epoch)
        rolled, position = self._store(
            (head, buffer[16:]), size, max_timestamp, base_offset, last_offset, now_ms
        )
        self._local.active.note_batch(base_offset, last_offset, position, size, max_timestamp)
        self.log_end_offset = last_offset + 1
        epochs = self.leader_epochs
        news = leader_epoch != epochs.latest_epoch and epochs.assign(leader_epoch, base_offset)
        if producer_id >= 0:
            self._apply_to_producers(header, base_offset, marker)
        self.producers.end_offset = last_offset + 1
        start, stamp = self.log_start_offset, validated.log_append_time
        return AppendInfo(base_offset, last_offset, stamp, start, max_timestamp, False, news, rolled)

    def append_as_follower(self, records: Buffer) -> AppendInfo | None:
        """Store what the leader sent, with its offsets. None if there is no whole batch in it."""
        if self.is_offline:
            raise self._refusal()
        fetched = read_follower_records(records, self.log_end_offset)
        if fetched is None:
            return None
        base_offset, last_offset = fetched.base_offset, fetched.last_offset
        now_ms = self._environment.clock.now_ms()
        rolled, start = self._store(
            (fetched.buffer,), fetched.size, fetched.max_timestamp, base_offset, last_offset, now_ms
        )
        news = False
        for position, header in fetched.batches:
            size = header.batch_length + LOG_OVERHEAD
            self._local.active.note_batch(
                header.base_offset, header.last_offset, start + position, size, header.max_timestamp
            )
            self.log_end_offset = header.next_offset
            if header.partition_leader_epoch >= 0:
                news |= self.leader_epochs.assign(header.partition_leader_epoch, header.base_offset)
            if header.producer_id >= 0:
                batch = fetched.buffer[position : position + size]
                marker = read_marker(batch) if header.is_control else None
                self._apply_to_producers(header, header.base_offset, marker)
            self.producers.end_offset = header.next_offset
        start, latest = self.log_start_offset, fetched.max_timestamp
        return AppendInfo(base_offset, last_offset, -1, start, latest, False, news, rolled)

    def _store(
        self,
        buffers: tuple[Buffer, ...],
        size: int,
        max_timestamp: int,
        base_offset: int,
        last_offset: int,
        now_ms: int,
    ) -> tuple[bool, int]:
        """Write the bytes, after a roll if they do not belong in the active segment: (rolled, position)."""
        local = self._local
        try:
            rolled = local.must_roll(self._config, size, max_timestamp, last_offset, now_ms)
            if rolled:
                self.roll(base_offset)
            return rolled, local.write(buffers, size)
        except OSError as error:
            raise self._failure("appending to", error) from error

    def _apply_to_producers(self, header: BatchHeader, base_offset: int, marker: EndTxnMarker | None) -> None:
        txn = self.producers.apply(header, base_offset, marker)
        if txn is None:
            return
        if txn.is_abort:
            self._index_abort(txn)
        self.producers.complete(txn)

    def _index_abort(self, txn: CompletedTxn) -> None:
        stable = self.producers.last_stable_offset_after(txn)
        entry = AbortedTxn(txn.producer_id, txn.first_offset, txn.last_offset, stable)
        try:
            self._local.active.txn_index.append(entry)
        except OSError as error:
            raise self._failure("indexing an abort of", error, is_half_done=True) from error
        self._local.names_dirty = True

    def roll(self, expected_offset: int = 0) -> None:
        """Seal the active segment and begin the next one at the log end; an empty one is as good as new."""
        offset = max(expected_offset, self.log_end_offset)
        active = self._local.active
        if active.base_offset == offset and active.size == 0:
            return
        try:
            self._local.roll(offset, self._config)
            self.producers.end_offset = offset
            self._snapshots.maybe_take(self.producers)
        except OSError as error:
            raise self._failure("rolling", error) from error

    # ---- the two ends

    def maybe_update_high_watermark(self, offset: int) -> bool:
        """Set the high watermark, kept within the log; says whether it moved."""
        if not self.log_start_offset <= offset <= self.log_end_offset:
            offset = min(max(offset, self.log_start_offset), self.log_end_offset)
        if offset == self.high_watermark:
            return False
        self.high_watermark = offset
        self.producers.on_high_watermark(offset)
        return True

    def delete_records_before(self, offset: int) -> int:
        """Move the log start to `offset` (-1: the high watermark) and return it. Files go with retention."""
        target = self.high_watermark if offset == -1 else offset
        if not 0 <= target <= self.high_watermark:
            raise OffsetOutOfRange(
                f"records of {self.topic_partition} can be deleted up to the high watermark "
                f"{self.high_watermark}, not to {offset}"
            )
        if target > self.log_start_offset:
            self.log_start_offset = target
            self.leader_epochs.truncate_from_start(target)
            self.producers.on_log_start(target)
            self._snapshots.on_log_start(target)
        return self.log_start_offset

    def delete_old_segments(self) -> int:
        """Delete what retention no longer keeps; returns the number of segments."""
        if self.is_being_cleaned:
            return 0
        segments = list(self.segments)
        try:
            count = count_deletable(segments, self._config, **self._retention_bounds())
            if count == len(segments):
                self.roll()
            deleted = segments[:count]
            if deleted:
                following = self.segments.after(deleted[-1])
                assert following is not None
                self.delete_records_before(max(following.base_offset, self.log_start_offset))
                self._remove(deleted)
        except OSError as error:
            raise self._failure("deleting segments of", error) from error
        return count

    def truncate_to(self, offset: int) -> bool:
        """Forget everything from `offset` on; says whether there was anything."""
        if offset >= self.log_end_offset:
            self.leader_epochs.truncate_from_end(self.log_end_offset)
            return False
        if offset < self.segments.first.base_offset:
            self.truncate_fully_and_start_at(offset)
            return True
        try:
            later = self._local.truncate_to(offset)
            if later:
                self._remove(later)
                self._local.sync_names()
            self.log_end_offset = offset
            self.log_start_offset = min(self.log_start_offset, offset)
            self.leader_epochs.truncate_from_end(offset)
            self._truncated()
        except OSError as error:
            raise self._failure("truncating", error, is_half_done=True) from error
        self.maybe_update_high_watermark(min(self.high_watermark, offset))
        return True

    def truncate_fully_and_start_at(self, offset: int, log_start_offset: int | None = None) -> None:
        """Throw everything away and begin again, empty, at `offset`."""
        try:
            self._remove(self.segments)
            self._local.restart_at(offset, self._config)
            self._local.sync_names()
            self.log_end_offset = offset
            self.log_start_offset = offset if log_start_offset is None else log_start_offset
            self.leader_epochs.clear()
            self.producers.clear(offset)
            self._snapshots.remove_all()
            self._truncated()
        except OSError as error:
            raise self._failure("truncating", error, is_half_done=True) from error
        self.maybe_update_high_watermark(offset)

    def _truncated(self) -> None:
        self._reader.forget()
        self._environment.on_cut(self.topic_partition, self.log_end_offset)
        rebuild_producers(
            self.producers,
            self._snapshots,
            self.segments,
            self.log_start_offset,
            self.log_end_offset,
            self._environment.clock.now_ms(),
            clean=False,
        )
        if self._flush_planner.truncated(self.log_end_offset):
            self._environment.on_truncated()

    def replace_segments(self, cleaned: CleanedSegment, old: list[Segment]) -> tuple[Segment, DeletedFiles]:
        """Swap a compacted segment in for sealed ones; their files may be unlinked once names are synced."""
        if self.is_offline:
            raise self._refusal()
        try:
            new, paths = self._local.replace(cleaned, old, self._config)
            for segment in old[1:]:
                snapshot = self._snapshots.mark_deleted(segment.base_offset)
                if snapshot is not None:
                    paths.append(snapshot)
        except OSError as error:
            raise self._failure("compacting", error) from error
        return new, DeletedFiles(self._environment.fs, tuple(paths), self._config.file_delete_delay_ms)

    def _remove(self, segments: Iterable[Segment]) -> None:
        deleted = list(segments)
        snapshots = [self._snapshots.mark_deleted(segment.base_offset) for segment in deleted]
        delay_ms = self._config.file_delete_delay_ms
        self._local.remove(deleted, delay_ms, [path for path in snapshots if path is not None])

    # ---- durability

    @property
    def flush_due(self) -> bool:
        """Whether `due_flush_plan` has one: the topic's flush policy requires it, or a segment was sealed."""
        clock = self._environment.clock
        return self._flush_planner.is_due(self.log_end_offset, self._config, clock.now_ms())

    def due_flush_plan(self) -> FlushPlan | None:
        """The flush that is due: all records by policy, or only the sealed segments after a roll."""
        clock = self._environment.clock
        return self._flush_planner.plan_due(self.log_end_offset, self._config, clock.now_ms())

    def flush_plan(self) -> FlushPlan | None:
        """What makes all records durable; run it in a thread, then give it to `flushed`. One at a time."""
        return self._flush_planner.plan(self.log_end_offset)

    def flushed(self, plan: FlushPlan) -> None:
        """Note that a plan has been run, with whatever outcome."""
        self._flush_planner.done(plan, self._environment.clock.now_ms())
        if plan.error is not None:
            raise self._failure("flushing", plan.error)

    def flush(self) -> None:
        """Make all records durable, here and now."""
        plan = self.flush_plan()
        if plan is not None:
            try:
                plan.run()
            finally:
                self.flushed(plan)

    # ---- coming and going

    def assign_topic_id(self, topic_id: UUID) -> None:
        """Give a log from before topic ids one; another one than it has is an error."""
        if self.topic_id is None:
            write_topic_id(self._environment.fs, self.directory, topic_id)
            self.topic_id = topic_id
        elif self.topic_id != topic_id:
            raise InconsistentTopicId(f"{self.topic_partition} has topic id {self.topic_id}, not {topic_id}")

    def close(self, clean: bool = True) -> None:
        """Let go of all files. After a clean close the next opening has nothing to scan."""
        if self.is_closed:
            return
        self.is_closed = True
        if clean and not self.is_offline:
            try:
                self._write_down()
            except OSError as error:
                raise self._failure("closing", error) from error
        self._local.close()
        self.take_offline()

    def _write_down(self) -> None:
        self._flush_planner.is_flushing = (
            False  # a plan that is still out is made again, whatever becomes of it
        )
        fs, active = self._environment.fs, self._local.active
        if active.trim():
            active.file.sync()
        self.flush()
        has_records = self.log_end_offset > self.log_start_offset
        unwritten = not (active.index_on_disk and active.is_synced)
        changed = unwritten or self.leader_epochs.is_dirty
        self._snapshots.maybe_take(self.producers, sync=has_records)
        if unwritten:
            active.seal_time_index()
            active.write_indexes(sync=has_records)
        if self.leader_epochs.is_dirty:
            self.leader_epochs.write(sync=has_records)
        if changed and has_records:
            fs.sync_dir(self.directory)

    def delete(self) -> None:
        """Remove the log: its directory is renamed at once and unlinked by the environment's sink."""
        fs = self._environment.fs
        deleted = self.directory.with_name(
            names.deleted_directory(self.topic_partition, self._environment.rng)
        )
        self.close(clean=False)
        try:
            fs.rename(self.directory, deleted)
        except OSError as error:
            raise self._failure("deleting", error) from error
        self.take_offline()
        self._environment.on_deleted(
            DeletedFiles(fs, (), self._config.file_delete_delay_ms, directory=deleted)
        )
