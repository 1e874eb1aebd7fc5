"""Keeps the recovery point of a log: what is durable, what a flush has to sync, when one is due."""

from pathlib import Path

from barnabas.base.config.log_config import LONG_MAX, LogConfig
from barnabas.base.filesystem import FileSystem
from barnabas.storage import names
from barnabas.storage.flush_plan import FlushPlan, IndexWrite
from barnabas.storage.leader_epochs import LeaderEpochs
from barnabas.storage.local_log import LocalLog
from barnabas.storage.producer_snapshots import ProducerSnapshots
from barnabas.storage.segment import Segment


class FlushPlanner:
    def __init__(
        self,
        fs: FileSystem,
        local: LocalLog,
        leader_epochs: LeaderEpochs,
        snapshots: ProducerSnapshots,
        recovery_point: int,
        now_ms: int,
        *,
        is_durable: bool,
    ) -> None:
        self._fs: FileSystem = fs
        self._local: LocalLog = local
        self._leader_epochs: LeaderEpochs = leader_epochs
        self._snapshots: ProducerSnapshots = snapshots
        self.recovery_point: int = recovery_point
        self.last_flush_ms: int = now_ms
        self.is_flushing: bool = False
        self._is_durable: bool = is_durable
        """The directory's own name and its `partition.metadata` are on disk."""
        self.generation: int = 0
        self._was_recovered: bool = not is_durable
        """The active segment may differ from what is on disk although nothing was appended."""

    def is_due(self, log_end_offset: int, config: LogConfig, now_ms: int) -> bool:
        """Whether the topic's flush policy requires a flush, or a sealed segment waits for one."""
        if self.is_flushing:
            return False
        return self._local.has_unsynced_segments or self._is_due(log_end_offset, config, now_ms)

    def _is_due(self, log_end_offset: int, config: LogConfig, now_ms: int) -> bool:
        unflushed = log_end_offset - self.recovery_point
        return unflushed >= config.flush_messages or (
            unflushed > 0 and config.flush_ms < LONG_MAX and now_ms - self.last_flush_ms >= config.flush_ms
        )

    def plan_due(self, log_end_offset: int, config: LogConfig, now_ms: int) -> FlushPlan | None:
        """The flush that is due, and no more: sealed segments only, unless the policy requires all."""
        if not self.is_due(log_end_offset, config, now_ms):
            return None
        if self._is_due(log_end_offset, config, now_ms):
            return self.plan(log_end_offset)
        return self._make_plan(self._local.active.base_offset, self._local.unsynced_segments())

    def plan(self, log_end_offset: int) -> FlushPlan | None:
        """What makes everything durable; None if it is, or while another plan is out."""
        if self.is_flushing or not (
            log_end_offset > self.recovery_point
            or (self._was_recovered and log_end_offset > 0)
            or self._local.has_unsynced_segments
            or self._local.names_dirty
            or self._snapshots.unsynced
        ):
            return None
        self._was_recovered = False
        return self._make_plan(log_end_offset, [*self._local.unsynced_segments(), self._local.active])

    def _make_plan(self, up_to: int, segments: list[Segment]) -> FlushPlan:
        plan = FlushPlan(self._fs, self._local.directory, up_to, self.generation)
        for segment in segments:
            if segment.is_open:
                plan.log_files.append(segment.file)
            else:
                plan.closed_files.append(segment.path(names.LOG))
            if segment is not self._local.active:
                plan.sealed.append(segment)
                if segment.index_on_disk:
                    plan.derived_files += [segment.path(names.INDEX), segment.path(names.TIME_INDEX)]
                else:
                    copies = segment.index.copy(), segment.time_index.copy()
                    plan.index_writes.append(IndexWrite(segment, *copies))
            if not segment.txn_index.is_synced:
                plan.derived_files.append(segment.txn_index.path)
        plan.snapshots = sorted(self._snapshots.unsynced)
        plan.derived_files += [self._snapshots.path(offset) for offset in plan.snapshots]
        if self._leader_epochs.is_dirty:
            plan.leader_epochs = self._leader_epochs.encode()
            self._leader_epochs.is_dirty = False
        plan.directories.append(self._local.directory)
        self._local.names_dirty = False
        if not self._is_durable:
            plan.derived_files.append(self._local.directory / names.PARTITION_METADATA)
            plan.directories.append(self._parent)
        self.is_flushing = True
        return plan

    @property
    def _parent(self) -> Path:
        return self._local.directory.parent

    def done(self, plan: FlushPlan, now_ms: int) -> None:
        """Note the outcome of a plan that was run."""
        self.is_flushing = False
        if plan.error is not None:
            self._local.names_dirty = self._was_recovered = True
            self._leader_epochs.is_dirty |= plan.leader_epochs is not None
            return
        self.last_flush_ms = now_ms
        self._is_durable = True
        self._snapshots.unsynced.difference_update(plan.snapshots)
        for write in plan.index_writes:
            write.segment.has_index_files = True
        if plan.generation != self.generation:
            return
        for write in plan.index_writes:
            write.segment.index_sums = write.sums
        for segment in plan.sealed:
            segment.index_on_disk = segment.is_synced = segment.txn_index.is_synced = True
        self._local.find_unsynced_segments()
        self.recovery_point = max(self.recovery_point, plan.up_to)

    def truncated(self, log_end_offset: int) -> bool:
        """The log was cut; says whether the recovery point went back with it."""
        self.generation += 1
        self._local.find_unsynced_segments()
        if self.recovery_point <= log_end_offset:
            return False
        self.recovery_point = log_end_offset
        return True
