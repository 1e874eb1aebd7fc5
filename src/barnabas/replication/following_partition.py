"""The following side of a partition: what a replica fetcher does to its log, by Kafka's rules.

A log is truncated by epochs only, never to the high watermark (KIP-101, KIP-279). The high watermark and the
log start of the leader are taken over after the records that came with them. Consumers that read from this
replica (KIP-392) are woken when its high watermark moves.
"""

from barnabas.base.errors import KafkaError
from barnabas.replication.partition_environment import PartitionEnvironment
from barnabas.replication.readable_partition import ReadablePartition
from barnabas.replication.waiting import notify
from barnabas.storage.append_info import AppendInfo
from barnabas.storage.follower_records import UnexpectedOffset
from barnabas.storage.log import Log


def must_flush(log: Log) -> bool:
    """`flush.messages` is reached: the newest records may not be acknowledged before a sync."""
    return log.log_end_offset - log.recovery_point >= log.config.flush_messages


class FollowingPartition(ReadablePartition):
    """A part of `Partition`."""

    __slots__ = ("_environment",)

    def __init__(self, environment: PartitionEnvironment) -> None:
        super().__init__()
        self._environment: PartitionEnvironment = environment

    def _on_flushed(self, error: KafkaError | None) -> None:
        raise NotImplementedError

    def append_fetched(self, records: memoryview, high_watermark: int, log_start_offset: int) -> None:
        """Append what the leader sent, and take over its high watermark and its log start."""
        log = self.log
        if records:
            info = append_as_follower(log, records)
            if info is not None and must_flush(log):
                self._environment.flusher.request(log, self._on_flushed)
            elif info is not None and info.rolled:
                self._environment.flusher.request_due(log)
        before = log.high_watermark
        if log.maybe_update_high_watermark(high_watermark) and log.high_watermark > before:
            # Only reading shows how much became readable.
            notify(self.watchers, 0, self.topic_partition)
            if self.stable_watchers:
                self.notify_stable_watchers(log, log.high_watermark, 0)
        if log.log_start_offset < log_start_offset <= log.high_watermark:
            log.delete_records_before(log_start_offset)

    def truncate_to_divergence(self, leader_epoch: int, leader_end: int) -> None:
        """The leader's log has other records after the end of `leader_epoch`: remove them here (KIP-279).

        If this log does not have that epoch, the end of its last epoch before it is all that is known to be
        equal. The next fetch shows whether that is enough.
        """
        log = self.log
        own = log.end_offset_for_epoch(leader_epoch)
        if own is None:
            offset = leader_end
        else:
            own_epoch, own_end = own
            offset = min(own_end, leader_end) if own_epoch == leader_epoch else own_end
        log.truncate_to(min(offset, log.log_end_offset))

    def truncate_to_range(self, leader_start: int, leader_end: int, leader_epoch: int) -> None:
        """The leader cannot say what follows this log's end: continue within what the leader has.

        Epochs above that of the leader are of no log that this leader can know (a log of another cluster, a
        metadata store that was restored): what they wrote is removed.
        """
        log = self.log
        if leader_start > log.log_end_offset:
            log.truncate_fully_and_start_at(leader_start)
            return
        if log.leader_epochs.latest_epoch > leader_epoch:
            self.truncate_to_divergence(leader_epoch, leader_end)
        if leader_end < log.log_end_offset:
            log.truncate_to(leader_end)


def append_as_follower(log: Log, records: memoryview) -> AppendInfo | None:
    """Append what another replica has. An empty log may start with a batch that begins below its start."""
    try:
        return log.append_as_follower(records)
    except UnexpectedOffset as unexpected:
        # The leader's log starts within a batch (DeleteRecords), and this log has no records yet: it has to
        # start with the batch.
        is_empty = log.log_start_offset == log.log_end_offset
        if not is_empty or not unexpected.base_offset < log.log_end_offset <= unexpected.last_offset:
            raise
        log.truncate_fully_and_start_at(unexpected.base_offset)
        return log.append_as_follower(records)
