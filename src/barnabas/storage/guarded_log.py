"""A log in a directory that may hang while others work on: what needs its disk goes through its worker.

Only brokers with log directories on several devices have these. While the directory is stalled an append and
a deletion are queued, in order; everything else is refused with `DirectoryStalled` and can be repeated.
"""

from contextlib import suppress
from functools import partial
from uuid import UUID

from barnabas.base.filesystem import Buffer
from barnabas.records.deep_validation import DeepValidation
from barnabas.storage.append_info import AppendInfo, AppendOrigin
from barnabas.storage.cleaning.job import CleanedSegment
from barnabas.storage.deleted_files import DeletedFiles
from barnabas.storage.directory_worker import DirectoryStalled, DirectoryWorker
from barnabas.storage.flush_plan import FlushPlan
from barnabas.storage.log import Log
from barnabas.storage.log_slice import LogSlice
from barnabas.storage.segment import Segment
from barnabas.storage.timestamp_lookup import TimestampOffset
from barnabas.storage.txn_index import AbortedTxn


class GuardedLog(Log):
    @property
    def _worker(self) -> DirectoryWorker:
        worker = self._environment.worker
        assert worker is not None
        return worker

    # ---- writing

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
        # The frame's buffer is used again as soon as its request is handled, the thread may need it longer.
        append = partial(
            super().append_as_leader,
            bytes(records),
            leader_epoch,
            origin=origin,
            allow_zstd=allow_zstd,
            transaction_version=transaction_version,
            may_defer=may_defer and not self._worker.is_stalled,
            prepared=prepared,
        )
        return self._worker.submit(append)

    def append_as_follower(self, records: Buffer) -> AppendInfo | None:
        return self._worker.submit(partial(super().append_as_follower, bytes(records)))

    def roll(self, expected_offset: int = 0) -> None:
        self._worker.run(partial(super().roll, expected_offset))

    def delete_records_before(self, offset: int) -> int:
        return self._worker.run(partial(super().delete_records_before, offset))

    def delete_old_segments(self) -> int:
        return self._worker.run(super().delete_old_segments)

    def truncate_to(self, offset: int) -> bool:
        return self._worker.run(partial(super().truncate_to, offset))

    def truncate_fully_and_start_at(self, offset: int, log_start_offset: int | None = None) -> None:
        self._worker.run(partial(super().truncate_fully_and_start_at, offset, log_start_offset))

    def replace_segments(self, cleaned: CleanedSegment, old: list[Segment]) -> tuple[Segment, DeletedFiles]:
        return self._worker.run(partial(super().replace_segments, cleaned, old))

    def assign_topic_id(self, topic_id: UUID) -> None:
        self._worker.run(partial(super().assign_topic_id, topic_id))

    def delete(self) -> None:
        """Remove the log; where the directory hangs, when it responds again."""
        with suppress(DirectoryStalled):
            self._worker.submit(super().delete)

    # ---- reading

    def read(self, offset: int, max_bytes: int, *, up_to: int, min_one_batch: bool = True) -> LogSlice | None:
        worker = self._worker
        worker.check()
        read = partial(super().read, offset, max_bytes, up_to=up_to, min_one_batch=min_one_batch)
        active = self._local.active
        if active.is_open and active.tail and offset >= active.tail[0].base_offset:
            return read()  # the newest batches are found without the disk
        return worker.run(read)

    def aborted_transactions(self, start: int, end: int) -> list[AbortedTxn]:
        return self._worker.run(partial(super().aborted_transactions, start, end))

    def offset_for_timestamp(self, timestamp: int) -> TimestampOffset | None:
        return self._worker.run(partial(super().offset_for_timestamp, timestamp))

    def offset_of_max_timestamp(self) -> TimestampOffset | None:
        return self._worker.run(super().offset_of_max_timestamp)

    # ---- durability: the plans are made in memory, and run in other threads

    def due_flush_plan(self) -> FlushPlan | None:
        self._worker.check()
        return super().due_flush_plan()

    def flush_plan(self) -> FlushPlan | None:
        self._worker.check()
        return super().flush_plan()
