"""A partition of an internal topic as its coordinator writes to it: one batch at a time, with acks=all.

Records of a transaction are a batch of its producer. The end of a transaction is a control batch. Each such
batch begins at sequence 0, as Kafka's coordinators write them: their sequences are not checked.
"""

from collections.abc import Callable, Sequence
from typing import Any

from barnabas.base.clock import Clock
from barnabas.base.deferred import Deferred
from barnabas.base.errors import NotLeaderOrFollower
from barnabas.base.ids import TopicPartition
from barnabas.records.builder import build_batch, build_plain_batch
from barnabas.records.control import build_end_marker
from barnabas.records.record import Record
from barnabas.replication.partition import ALL, Partition
from barnabas.runtime.end_marker import EndMarker
from barnabas.runtime.outcome import TransactionalProducer
from barnabas.storage.append_info import AppendInfo, AppendOrigin

Entry = tuple[bytes, bytes | None]
"""Key and value."""
Encode = Callable[[Sequence[Any]], list[Entry]]
_RECORD_OVERHEAD = 32
"""Upper bound of lengths, deltas and attributes of one record."""


class PartitionLog:
    """Writes in one leader epoch only: what a shard of an older epoch decided must not be written later."""

    def __init__(self, partition: Partition, encode: Encode, clock: Clock, compression: int = 0) -> None:
        self.partition: Partition = partition
        self._epoch: int = partition.leader_epoch
        self.topic_partition: TopicPartition = partition.topic_partition
        self._encode: Encode = encode
        self._clock: Clock = clock
        self._compression: int = compression

    @property
    def is_current(self) -> bool:
        return self.partition.leader_epoch == self._epoch and self.partition.is_leader

    def append(
        self, records: Sequence[Any], *, is_atomic: bool, producer: TransactionalProducer | None = None
    ) -> AppendInfo:
        """Write all records: in one batch if `is_atomic`, else in as many batches as needed."""
        if not self.is_current:
            raise NotLeaderOrFollower(f"leader epoch {self._epoch} of {self.topic_partition} is over")
        if isinstance(records[0], EndMarker):
            return self._append_marker(records[0])
        entries = self._encode(records)
        if is_atomic or len(entries) == 1:
            return self._append(entries, producer)
        limit = self.partition.log.config.max_message_bytes // 2
        chunk: list[Entry] = []
        size = 0
        for entry in entries:
            length = len(entry[0]) + len(entry[1] or b"") + _RECORD_OVERHEAD
            if chunk and size + length > limit:
                self._append(chunk, producer)
                chunk, size = [], 0
            chunk.append(entry)
            size += length
        return self._append(chunk, producer)

    def _append(self, entries: list[Entry], producer: TransactionalProducer | None) -> AppendInfo:
        now_ms = self._clock.now_ms()
        if producer is not None:
            batch = build_batch(
                [Record(0, now_ms, key, value) for key, value in entries],
                compression=self._compression,
                producer_id=producer.producer_id,
                producer_epoch=producer.producer_epoch,
                base_sequence=0,
                transactional=True,
            )
        elif self._compression:
            records = [Record(0, now_ms, key, value) for key, value in entries]
            batch = build_batch(records, compression=self._compression)
        else:
            batch = build_plain_batch(entries, now_ms)
        return self.partition.append(batch, ALL, origin=AppendOrigin.COORDINATOR)

    def _append_marker(self, marker: EndMarker) -> AppendInfo:
        batch = build_end_marker(
            marker.producer_id,
            marker.producer_epoch,
            marker.is_commit,
            marker.coordinator_epoch,
            self._clock.now_ms(),
        )
        return self.partition.append(
            batch,
            ALL,
            origin=AppendOrigin.COORDINATOR,
            transaction_version=marker.transaction_version,
        )

    def must_wait(self, appended: AppendInfo) -> bool:
        return self.partition.must_wait(appended, ALL)

    def when_acknowledged(self, appended: AppendInfo) -> Deferred[None]:
        return self.partition.when_acknowledged(appended, ALL)
