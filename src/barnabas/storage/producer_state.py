"""The producers of one log: idempotence and transactions.

`check` refuses what must not be appended and finds repetitions, without changing anything; `apply` records
a batch that was appended, live, on a follower and in recovery alike. Open transactions hold back the last
stable offset from their first offset on; a completed one does so until the high watermark has passed its
marker. A client may begin one only if the coordinator verifies it: `begin_verification` is called before the
coordinator is queried, `check_verified` right before the append.

Rules as in Kafka: an unknown producer may start at any sequence (its state may have expired); a new epoch
starts at 0; within an epoch sequences follow each other.
"""

from dataclasses import dataclass
from struct import Struct, error

from barnabas.base.errors import (
    InvalidProducerEpoch,
    InvalidRecord,
    InvalidTxnState,
    OutOfOrderSequence,
    TransactionCoordinatorFenced,
)
from barnabas.records.batch import CONTROL_MASK, TRANSACTIONAL_MASK, BatchHeader, Buffer
from barnabas.records.control import read_usual_marker
from barnabas.records.record import decode_records
from barnabas.storage.append_info import AppendOrigin
from barnabas.storage.producer_entry import NO_EPOCH, NO_OFFSET, BatchMetadata, ProducerEntry, follows
from barnabas.storage.transaction_guards import Guard, TransactionGuards

DEFAULT_EXPIRATION_MS = 86_400_000
_MARKER_KEY = Struct(">hh")
_MARKER_VALUE = Struct(">hi")
_ABORT, _COMMIT = 0, 1
_CLIENT = AppendOrigin.CLIENT


@dataclass(frozen=True, slots=True)
class EndTxnMarker:
    is_abort: bool
    coordinator_epoch: int
    timestamp: int


@dataclass(frozen=True, slots=True)
class CompletedTxn:
    producer_id: int
    first_offset: int
    last_offset: int
    is_abort: bool


def read_marker(batch: Buffer) -> EndTxnMarker | None:
    """The marker in a control batch; None if it is of another kind or was emptied by compaction."""
    usual = read_usual_marker(batch)
    if usual is not None:
        is_commit, coordinator_epoch, timestamp = usual
        return EndTxnMarker(not is_commit, coordinator_epoch, timestamp)
    records = decode_records(batch)
    if not records:
        return None
    record = records[0]
    try:
        _, kind = _MARKER_KEY.unpack_from(record.key or b"")
        if kind not in (_ABORT, _COMMIT):
            return None
        _, coordinator_epoch = _MARKER_VALUE.unpack_from(record.value or b"")
    except error as reason:
        raise InvalidRecord(f"unreadable end of a transaction: {reason}") from None
    return EndTxnMarker(kind == _ABORT, coordinator_epoch, record.timestamp)


class ProducerStates:
    def __init__(self, expiration_ms: int = DEFAULT_EXPIRATION_MS) -> None:
        self.entries: dict[int, ProducerEntry] = {}
        self.expiration_ms: int = expiration_ms
        self.end_offset: int = 0
        """The state is that of the log up to here."""
        self.first_unstable_offset: int | None = None
        self.guards: TransactionGuards = TransactionGuards()
        self._ongoing: dict[int, int] = {}
        """First offset of each open transaction -> producer id."""
        self._unreplicated: dict[int, int] = {}
        """First offset -> last offset of completed transactions above the high watermark."""

    @property
    def is_empty(self) -> bool:
        return not self.entries and not self._unreplicated

    # ---- before an append

    def has_ongoing(self, producer_id: int, epoch: int) -> bool:
        """Whether a transaction of just this epoch is open here: its next batch needs no verification."""
        entry = self.entries.get(producer_id)
        return entry is not None and entry.txn_first_offset != NO_OFFSET and entry.epoch == epoch

    def begin_verification(self, header: BatchHeader, *, adds_partition: bool, now_ms: int) -> Guard | None:
        """Returns the guard of a transactional batch. Returns None if the batch needs no verification."""
        self._check_epoch(header)
        if self.has_ongoing(header.producer_id, header.producer_epoch):
            return None
        return self.guards.take(header, adds_partition=adds_partition, now_ms=now_ms)

    def check_verified(self, header: BatchHeader, guard: Guard | None, *, is_required: bool = True) -> None:
        """Right before a transactional batch is appended: raise if its transaction is not open any more.

        `guard` is what `begin_verification` gave, None for a batch that needed none. Without verification
        (`is_required`) only the order of the batches is looked after.
        """
        producer_id = header.producer_id
        entry = self.entries.get(producer_id)
        if self.has_ongoing(producer_id, header.producer_epoch):
            return
        if entry is not None and entry.find_duplicate(header) is not None:
            return  # stored already: `check` answers with where
        self._check_epoch(header)
        current = self.guards.get(producer_id)
        if is_required and (guard is None or current is not guard):
            raise InvalidTxnState(f"producer {producer_id} has no ongoing transaction in this partition")
        if current is not None:
            current.check_sequence(header, is_first=entry is None or not entry.batches)

    def _check_epoch(self, header: BatchHeader) -> None:
        entry = self.entries.get(header.producer_id)
        if entry is not None and header.producer_epoch < entry.epoch:
            raise InvalidProducerEpoch(
                f"epoch {header.producer_epoch} of producer {entry.producer_id} is older than the last seen "
                f"{entry.epoch}"
            )

    def check(
        self,
        header: BatchHeader,
        base_offset: int,
        origin: AppendOrigin,
        marker: EndTxnMarker | None = None,
        transaction_version: int = 0,
    ) -> BatchMetadata | None:
        """Raise if the batch must not be appended; return the stored batch that it repeats, if any."""
        entry = self.entries.get(header.producer_id)
        if entry is None:
            return None
        if marker is not None:
            self._check_marker(entry, header, marker, base_offset, transaction_version)
            return None
        out_of_line = origin is _CLIENT and not entry.continues_with(header)
        if out_of_line:
            duplicate = entry.find_duplicate(header)
            if duplicate is not None:
                return duplicate
        if header.producer_epoch < entry.epoch:
            raise InvalidProducerEpoch(
                f"epoch {header.producer_epoch} of producer {entry.producer_id} at offset {base_offset} is "
                f"older than the last seen {entry.epoch}"
            )
        if out_of_line:
            _check_sequence(entry, header, base_offset)
        if entry.txn_first_offset != NO_OFFSET and not header.is_transactional:
            raise InvalidTxnState(
                f"producer {entry.producer_id} wrote outside its transaction at offset {base_offset}"
            )
        return None

    def _check_marker(
        self,
        entry: ProducerEntry,
        header: BatchHeader,
        marker: EndTxnMarker,
        base_offset: int,
        transaction_version: int,
    ) -> None:
        epoch = header.producer_epoch
        stale = epoch <= entry.epoch if transaction_version >= 2 else epoch < entry.epoch
        # KIP-890: from version 2 a marker has its own epoch; the same one again is a retry if nothing is open
        retried = epoch == entry.epoch and (entry.txn_first_offset == NO_OFFSET or epoch == 2**15 - 1)
        if stale and not (transaction_version >= 2 and retried):
            raise InvalidProducerEpoch(
                f"marker epoch {epoch} of producer {entry.producer_id} at offset {base_offset} is too old "
                f"for the last seen {entry.epoch} (transaction version {transaction_version})"
            )
        if entry.coordinator_epoch > marker.coordinator_epoch:
            raise TransactionCoordinatorFenced(
                f"coordinator epoch {marker.coordinator_epoch} for producer {entry.producer_id} at offset "
                f"{base_offset} is older than {entry.coordinator_epoch}"
            )

    # ---- after an append

    def apply(
        self, header: BatchHeader, base_offset: int, marker: EndTxnMarker | None = None
    ) -> CompletedTxn | None:
        """Record a batch stored at `base_offset`; a marker gives the transaction it ends, if any."""
        producer_id = header.producer_id
        entry = self.entries.get(producer_id)
        if entry is None:
            entry = self.entries[producer_id] = ProducerEntry(producer_id)
        attributes = header.attributes
        if attributes & CONTROL_MASK:
            if marker is None:
                return None
            first_offset = entry.txn_first_offset
            entry.end_transaction(header.producer_epoch, marker.coordinator_epoch, marker.timestamp)
            self.guards.on_marker(producer_id, header.producer_epoch)
            if first_offset == NO_OFFSET:
                return None
            return CompletedTxn(producer_id, first_offset, base_offset, marker.is_abort)
        delta = header.last_offset_delta
        entry.add_batch(
            header.producer_epoch, header.last_sequence, base_offset + delta, delta, header.max_timestamp
        )
        if attributes & TRANSACTIONAL_MASK:
            self.guards.on_batch(producer_id)
            if entry.txn_first_offset == NO_OFFSET:
                entry.txn_first_offset = base_offset
                self._ongoing[base_offset] = producer_id
                if self.first_unstable_offset is None:  # offsets grow: none that comes later is the first
                    self.first_unstable_offset = base_offset
        return None

    def last_stable_offset_after(self, txn: CompletedTxn) -> int:
        """The last stable offset once `txn` is complete, whatever the high watermark: for the abort index."""
        others = [first for first, producer in self._ongoing.items() if producer != txn.producer_id]
        return min(others, default=txn.last_offset + 1)

    def complete(self, txn: CompletedTxn) -> None:
        """It stays unstable until the high watermark has passed it, so nothing changes for readers yet."""
        self._ongoing.pop(txn.first_offset, None)
        self._unreplicated[txn.first_offset] = txn.last_offset
        if self.first_unstable_offset is None:
            self.first_unstable_offset = txn.first_offset

    # ---- as the log moves

    def on_high_watermark(self, high_watermark: int) -> None:
        if self._unreplicated:
            self._forget_replicated(high_watermark)

    def on_log_start(self, log_start_offset: int) -> None:
        self._forget_replicated(log_start_offset)
        self.end_offset = max(self.end_offset, log_start_offset)

    def expire(self, now_ms: int) -> int:
        """Forget producers that have been silent for too long and have nothing open; returns how many."""
        expired = [key for key, entry in self.entries.items() if entry.is_expired(now_ms, self.expiration_ms)]
        for producer_id in expired:
            del self.entries[producer_id]
        self.guards.expire(now_ms, self.expiration_ms)
        return len(expired)

    def clear(self, end_offset: int) -> None:
        self.entries.clear()
        self._ongoing.clear()
        self._unreplicated.clear()
        self.guards.clear()
        self.end_offset = end_offset
        self.first_unstable_offset = None

    def load(self, entries: list[ProducerEntry], end_offset: int, now_ms: int) -> None:
        """Begin with what a snapshot held, without what has expired since."""
        self.clear(end_offset)
        for entry in entries:
            if not entry.is_expired(now_ms, self.expiration_ms):
                self.entries[entry.producer_id] = entry
                if entry.txn_first_offset != NO_OFFSET:
                    self._ongoing[entry.txn_first_offset] = entry.producer_id
        self._update_first_unstable()

    @property
    def first_undecided_offset(self) -> int | None:
        """First offset of the oldest open transaction."""
        return min(self._ongoing, default=None)

    def _forget_replicated(self, offset: int) -> None:
        self._unreplicated = {first: last for first, last in self._unreplicated.items() if last >= offset}
        self._update_first_unstable()

    def _update_first_unstable(self) -> None:
        self.first_unstable_offset = min((*self._ongoing, *self._unreplicated), default=None)


def _check_sequence(entry: ProducerEntry, header: BatchHeader, base_offset: int) -> None:
    sequence = header.base_sequence
    if header.producer_epoch != entry.epoch:
        if sequence != 0 and entry.epoch != NO_EPOCH:
            raise OutOfOrderSequence(
                f"producer {entry.producer_id} began epoch {header.producer_epoch} with sequence {sequence} "
                f"at offset {base_offset}, not with 0"
            )
    elif not follows(entry.last_sequence, sequence):
        raise OutOfOrderSequence(
            f"producer {entry.producer_id} sent sequence {sequence} at offset {base_offset} after "
            f"{entry.last_sequence}"
        )
