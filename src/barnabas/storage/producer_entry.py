"""What a log remembers of one producer: its epoch, its last five batches, its open transaction.

A producer may have five requests in flight, so five batches are enough to recognise any repetition.
Sequences run from 0 to 2**31 - 1 and wrap to 0.
"""

from collections import deque
from typing import NamedTuple

from barnabas.records.batch import BatchHeader

NO_EPOCH = -1
NO_SEQUENCE = -1
NO_OFFSET = -1
NO_TIMESTAMP = -1
RETAINED_BATCHES = 5
_SEQUENCES = 1 << 31


class BatchMetadata(NamedTuple):
    last_sequence: int
    last_offset: int
    offset_delta: int
    timestamp: int

    @property
    def first_offset(self) -> int:
        return self.last_offset - self.offset_delta

    @property
    def first_sequence(self) -> int:
        return (self.last_sequence - self.offset_delta) % _SEQUENCES


def follows(last_sequence: int, next_sequence: int) -> bool:
    return next_sequence == last_sequence + 1 or (next_sequence == 0 and last_sequence == _SEQUENCES - 1)


class ProducerEntry:
    __slots__ = (
        "batches",
        "coordinator_epoch",
        "epoch",
        "last_timestamp",
        "producer_id",
        "txn_first_offset",
    )

    def __init__(self, producer_id: int, epoch: int = NO_EPOCH) -> None:
        self.producer_id: int = producer_id
        self.epoch: int = epoch
        self.coordinator_epoch: int = -1
        self.last_timestamp: int = NO_TIMESTAMP
        self.txn_first_offset: int = NO_OFFSET
        self.batches: deque[BatchMetadata] = deque(maxlen=RETAINED_BATCHES)

    def copy(self) -> "ProducerEntry":
        twin = ProducerEntry(self.producer_id, self.epoch)
        twin.coordinator_epoch = self.coordinator_epoch
        twin.last_timestamp = self.last_timestamp
        twin.txn_first_offset = self.txn_first_offset
        twin.batches.extend(self.batches)
        return twin

    @property
    def last_sequence(self) -> int:
        return self.batches[-1].last_sequence if self.batches else NO_SEQUENCE

    @property
    def last_offset(self) -> int:
        return self.batches[-1].last_offset if self.batches else NO_OFFSET

    @property
    def last_offset_delta(self) -> int:
        return self.batches[-1].offset_delta if self.batches else 0

    def set_epoch(self, epoch: int) -> None:
        """A new epoch starts without batches."""
        if epoch != self.epoch:
            self.batches.clear()
            self.epoch = epoch

    def add_batch(
        self, epoch: int, last_sequence: int, last_offset: int, offset_delta: int, timestamp: int
    ) -> None:
        if epoch != self.epoch:
            self.set_epoch(epoch)
        self.batches.append(
            tuple.__new__(BatchMetadata, (last_sequence, last_offset, offset_delta, timestamp))
        )
        self.last_timestamp = timestamp

    def end_transaction(self, epoch: int, coordinator_epoch: int, timestamp: int) -> None:
        self.set_epoch(epoch)
        self.coordinator_epoch = coordinator_epoch
        self.last_timestamp = timestamp
        self.txn_first_offset = NO_OFFSET

    def continues_with(self, header: BatchHeader) -> bool:
        """Whether the batch is simply the next one: neither a repetition nor out of order."""
        batches = self.batches
        return (
            len(batches) > 0
            and header.producer_epoch == self.epoch
            and header.base_sequence == batches[-1][0] + 1
        )

    def find_duplicate(self, header: BatchHeader) -> BatchMetadata | None:
        """The retained batch with exactly the sequences of `header`."""
        if header.producer_epoch != self.epoch:
            return None
        last_sequence, delta = header.last_sequence, header.last_offset_delta
        for batch in self.batches:
            if batch.last_sequence == last_sequence and batch.offset_delta == delta:
                return batch
        return None

    def is_expired(self, now_ms: int, expiration_ms: int) -> bool:
        return self.txn_first_offset == NO_OFFSET and now_ms - self.last_timestamp >= expiration_ms
