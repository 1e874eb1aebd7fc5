"""One partition on this broker: the leader's role.

Owns the high watermark and everybody who waits for it. Invariants:
- `log_start_offset <= last_stable_offset <= high_watermark <= log_end_offset`.
- A consumer sees records below the high watermark only; the watermark moves when every in-sync replica
  has the record and, where the topic asks for a flush, when it is on disk here.
- Waiters are told after the state has changed, never in the middle of it.
Called from the event loop's thread only.
"""

import logging
from collections.abc import Callable
from typing import NamedTuple, Protocol
from uuid import UUID

from barnabas.base.errors import (
    FencedLeaderEpoch,
    KafkaError,
    NotEnoughReplicas,
    NotLeaderOrFollower,
    UnknownLeaderEpoch,
    UnknownServerError,
)
from barnabas.base.ids import TopicPartition
from barnabas.metadata.image import PartitionImage
from barnabas.records.deep_validation import DeepValidation
from barnabas.replication.flusher import Flusher
from barnabas.replication.hosted_logs import HostedLogs
from barnabas.storage.append_info import AppendInfo, AppendOrigin, LateAppend
from barnabas.storage.directory_worker import DirectoryStalled, Job
from barnabas.storage.log import Log
from barnabas.storage.log_slice import LogSlice

logger = logging.getLogger("replication")

READ_COMMITTED = 1
ALL = -1


class Watcher(Protocol):
    """Somebody who waits for records to become readable (a parked fetch)."""

    def on_readable(self, added: int) -> None:
        """About `added` more bytes can be read."""
        ...

    def give_up(self) -> None:
        """No more will come."""
        ...


class ReadResult(NamedTuple):
    high_watermark: int
    last_stable_offset: int
    log_start_offset: int
    records: LogSlice | None


def _must_flush(log: Log) -> bool:
    """`flush.messages` is reached: the newest records may not be acknowledged before a sync."""
    return log.log_end_offset - log.recovery_point >= log.config.flush_messages


class Partition:
    __slots__ = (
        "_acks_waiting",
        "_broker_id",
        "_flusher",
        "_is_closed",
        "_log",
        "_logs",
        "_stable_offset",
        "_unflushed_size",
        "isr",
        "leader_epoch",
        "leader_id",
        "replicas",
        "stable_watchers",
        "topic_id",
        "topic_partition",
        "watchers",
    )

    def __init__(
        self,
        topic_partition: TopicPartition,
        topic_id: UUID,
        broker_id: int,
        logs: HostedLogs,
        flusher: Flusher,
    ) -> None:
        self.topic_partition: TopicPartition = topic_partition
        self.topic_id: UUID = topic_id
        self.leader_id: int = -1
        self.leader_epoch: int = -1
        self.isr: tuple[int, ...] = ()
        self.replicas: tuple[int, ...] = ()
        self.watchers: set[Watcher] = set()
        self.stable_watchers: set[Watcher] = set()
        """Those who read committed records only: an append behind an open transaction is nothing to them."""
        self._stable_offset: int = -1
        """The last stable offset that `stable_watchers` know of."""
        self._broker_id: int = broker_id
        self._logs: HostedLogs = logs
        self._flusher: Flusher = flusher
        self._log: Log | None = None
        self._is_closed: bool = False
        self._unflushed_size: int = 0
        self._acks_waiting: list[tuple[int, Callable[[KafkaError | None], None]]] = []

    def follow(self, image: PartitionImage) -> None:
        """Take over what the cluster decided about this partition."""
        self.leader_id = image.leader
        self.leader_epoch = image.leader_epoch
        self.isr = image.isr
        self.replicas = image.replicas
        if not self.is_leader:
            self._fail_waiting(NotLeaderOrFollower("leadership moved to another broker"))

    @property
    def is_leader(self) -> bool:
        return self.leader_id == self._broker_id

    @property
    def log(self) -> Log:
        """The log, opened or made when first touched; raises StorageError when its disk has failed."""
        log = self._log
        if log is None or log.is_closed:
            if self._is_closed:  # another topic may have this name by now: its log is not this partition's
                raise NotLeaderOrFollower(f"{self.topic_partition} is no longer here")
            self._log = log = self._logs.get(self.topic_partition, self.topic_id)
            self._advance_high_watermark(log)
        return log

    @property
    def is_known_empty(self) -> bool:
        """There are no records, as far as that can be told without opening the log."""
        return self._logs.is_known_empty(self.topic_partition)

    def check_leader(self, current_leader_epoch: int = -1) -> None:
        """Refuse what is meant for another broker or another epoch (KIP-320)."""
        if current_leader_epoch >= 0:
            if current_leader_epoch < self.leader_epoch:
                raise FencedLeaderEpoch(f"leader epoch {current_leader_epoch} is older than ours")
            if current_leader_epoch > self.leader_epoch:
                raise UnknownLeaderEpoch(f"leader epoch {current_leader_epoch} is newer than ours")
        if not self.is_leader:
            raise NotLeaderOrFollower(f"broker {self._broker_id} does not lead {self.topic_partition}")

    def check_replica(self, replica_id: int, current_leader_epoch: int = -1) -> None:
        """Refuse a follower that is none: only other replicas may read above the high watermark."""
        if replica_id in self.replicas and replica_id != self._broker_id:
            return
        message = f"broker {replica_id} is not a follower of {self.topic_partition}"
        # As in Kafka: the epoch may be newer than the assignment known here, so that a follower retries.
        raise UnknownLeaderEpoch(message) if current_leader_epoch >= 0 else NotLeaderOrFollower(message)

    # --- writing ------------------------------------------------------------------------------------

    def append(
        self,
        records: bytes | memoryview,
        acks: int,
        *,
        allow_zstd: bool = True,
        origin: AppendOrigin = AppendOrigin.CLIENT,
        transaction_version: int = 0,
        may_defer: bool = False,
        prepared: DeepValidation | None = None,
    ) -> AppendInfo:
        """Append as leader. `when_acknowledged` says when the producer may be told.

        `transaction_version` says by which rules the epoch of a marker is checked (KIP-890). `may_defer` and
        `prepared`: see `Log.append_as_leader`.
        """
        if self.leader_id != self._broker_id:
            self.check_leader()
        log = self.log
        # A topic cannot want more replicas in sync than it has (Kafka's effective min ISR).
        if acks == ALL and len(self.isr) < min(log.config.min_insync_replicas, len(self.replicas)):
            raise NotEnoughReplicas(
                f"{self.topic_partition} has {len(self.isr)} replicas in sync, "
                f"min.insync.replicas asks for {log.config.min_insync_replicas}"
            )
        try:
            info = log.append_as_leader(
                records,
                self.leader_epoch,
                origin=origin,
                allow_zstd=allow_zstd,
                transaction_version=transaction_version,
                may_defer=may_defer,
                prepared=prepared,
            )
        except DirectoryStalled as stalled:
            if stalled.job is None:
                raise
            return self._append_late(log, stalled.job, len(records))
        if not info.duplicate:
            self._appended(log, info, len(records))
        return info

    def _appended(self, log: Log, info: AppendInfo, size: int) -> None:
        if _must_flush(log):
            self._unflushed_size += size
            self._flusher.request(log, self._on_flushed)
            return
        if info.rolled:
            self._flusher.request_due(log)
        self._move_high_watermark(log, log.log_end_offset)
        if self.watchers:
            self._tell(self.watchers, size)
        if self.stable_watchers:
            self._tell_stable_watchers(log, info.base_offset, size)

    def _append_late(self, log: Log, job: Job[AppendInfo], size: int) -> LateAppend:
        """The log's directory does not respond: it appends later, and whoever waits is told then."""
        late = LateAppend()

        def on_done() -> None:
            try:
                info = job.result()
            except Exception as error:  # noqa: BLE001  whoever waits gets it
                late.fail(error if isinstance(error, KafkaError) else UnknownServerError(str(error)))
            else:
                late.complete(info)
                if not info.duplicate:
                    self._appended(log, info, size)
            for callback in late.callbacks:
                if late.error is not None or not self.must_wait(late):
                    callback(late.error)
                else:
                    self.when_acknowledged(late, callback)

        job.when_done(on_done)
        return late

    def must_wait(self, info: AppendInfo) -> bool:
        """True while the producer of `info` may not be told yet."""
        return self._log is not None and self._log.high_watermark <= info.last_offset

    def when_acknowledged(self, info: AppendInfo, callback: Callable[[KafkaError | None], None]) -> None:
        """Call back once every in-sync replica has `info` (and the disk, where the topic asks for it)."""
        if isinstance(info, LateAppend) and not info.is_done:
            info.callbacks.append(callback)
            return
        self._acks_waiting.append((info.last_offset, callback))

    def _on_flushed(self, error: KafkaError | None) -> None:
        if error is not None:
            self._fail_waiting(error)
            return
        size, self._unflushed_size = self._unflushed_size, 0
        if self._log is not None:
            self._advance_high_watermark(self._log)
        self._tell_watchers(size)

    def _advance_high_watermark(self, log: Log) -> None:
        # One replica: what the leader has, every in-sync replica has.
        end = log.log_end_offset
        if _must_flush(log):
            end = max(log.recovery_point, log.high_watermark)
        self._move_high_watermark(log, end)

    def _move_high_watermark(self, log: Log, offset: int) -> None:
        if log.maybe_update_high_watermark(offset) and self._acks_waiting:
            self._acknowledge(offset)

    def _acknowledge(self, high_watermark: int) -> None:
        reached = [each for each in self._acks_waiting if each[0] < high_watermark]
        self._acks_waiting = [each for each in self._acks_waiting if each[0] >= high_watermark]
        for _, callback in reached:
            callback(None)

    def _fail_waiting(self, error: KafkaError) -> None:
        waiting, self._acks_waiting = self._acks_waiting, []
        for _, callback in waiting:
            callback(error)
        self._tell_watchers(0)

    def watch(self, watcher: Watcher, *, committed_only: bool) -> None:
        """Report from now on what becomes readable, until `unwatch`."""
        if committed_only:
            if not self.stable_watchers:
                self._stable_offset = self.log.last_stable_offset
            self.stable_watchers.add(watcher)
        else:
            self.watchers.add(watcher)

    def unwatch(self, watcher: Watcher) -> None:
        self.watchers.discard(watcher)
        self.stable_watchers.discard(watcher)

    def _tell_watchers(self, added: int) -> None:
        self._tell(self.watchers, added)
        self._tell(self.stable_watchers, added)

    def _tell_stable_watchers(self, log: Log, first_offset: int, added: int) -> None:
        known, self._stable_offset = self._stable_offset, log.last_stable_offset
        if self._stable_offset > known:
            # More than was appended if a transaction ended: only reading tells how much.
            self._tell(self.stable_watchers, added if known >= first_offset else 0)

    def _tell(self, watchers: set[Watcher], added: int) -> None:
        for watcher in list(watchers):
            try:
                watcher.on_readable(added)
            except Exception:
                # A reader's trouble is not the writer's: the append it is told of has happened.
                logger.exception("A fetch that waits for %s failed", self.topic_partition)
                watchers.discard(watcher)

    # --- reading ------------------------------------------------------------------------------------

    def read(
        self, offset: int, max_bytes: int, *, isolation_level: int, for_replica: bool, min_one_batch: bool
    ) -> ReadResult:
        """Records from `offset` on that the reader may see; raises OffsetOutOfRange."""
        log = self.log
        high_watermark, stable = log.high_watermark, log.last_stable_offset
        if for_replica:
            up_to = log.log_end_offset
        else:
            up_to = stable if isolation_level == READ_COMMITTED else high_watermark
        try:
            records = log.read(offset, max_bytes, up_to=up_to, min_one_batch=min_one_batch)
        except DirectoryStalled:
            records = None  # readers wait, as if nothing new had come
        return ReadResult(high_watermark, stable, log.log_start_offset, records)

    def aborted_in(self, records: LogSlice) -> list[tuple[int, int]]:
        """Producer id and first offset of each aborted transaction that reaches into `records`."""
        log = self.log
        found = log.aborted_transactions(records.base_offset, records.next_offset_hint)
        return [(each.producer_id, each.first_offset) for each in found]

    def close(self) -> None:
        """The topic is deleted; whoever still holds this partition gets no log from it."""
        self._fail_waiting(NotLeaderOrFollower(f"{self.topic_partition} is no longer here"))
        self._log = None
        self._is_closed = True
