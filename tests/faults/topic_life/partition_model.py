"""What one partition must hold. Pure: it gets what was acknowledged and what was found, and compares.

What a stop may take away is a range: `lowest_start` to `start` (DeleteRecords is on disk within a minute),
`durable_end` to `end` (power). A comparison narrows both to what was found, so that the next one is exact.
"""

from dataclasses import dataclass, field
from enum import Enum

from tests.faults.random_life.violation import Violation, require
from tests.faults.topic_life.found_partition import FoundPartition
from tests.faults.topic_life.stored_record import StoredRecord

from barnabas.records.batch import BatchHeader
from barnabas.records.record import Record


class Outcome(Enum):
    OPEN = "open"
    COMMITTED = "committed"
    ABORTED = "aborted"


@dataclass(slots=True)
class Transaction:
    """The part of a transaction that is in one partition."""

    number: int
    first_offset: int
    last_offset: int
    outcome: Outcome = Outcome.OPEN
    marker: int = -1


@dataclass(slots=True)
class PartitionModel:
    name: str
    start: int = 0
    lowest_start: int = 0
    power_start: int = 0
    """The lowest start after a loss of power, which may bring deleted segments back."""
    floor: int = 0
    """Where the first segment begins: below it no record is on disk."""
    end: int = 0
    durable_end: int = 0
    records: dict[int, StoredRecord] = field(default_factory=dict)
    """What must be there, and below `start` what may come back."""
    cleaned: dict[int, StoredRecord] = field(default_factory=dict)
    """What compaction removed: a crash may bring it back."""
    transactions: dict[int, Transaction] = field(default_factory=dict)
    is_start_derived: bool = False
    """The checkpoint of the log start was damaged and is not written anew yet."""
    has_restarted: bool = False
    """Since the last comparison: only a stop takes anything back."""
    may_be_offline: bool = False
    is_offline: bool = False

    def stable_offsets(self) -> set[int]:
        """Where the last stable offset may be.

        An open transaction counts from its first record. A recovery that reads the log from its start knows
        only the records that are left: the first of those then, and nothing of one without any.
        """
        open_ones = [each for each in self.transactions.values() if each.outcome is Outcome.OPEN]
        left = {each.number: self._first_left(each) for each in open_ones}
        highest = min(left.values(), default=self.end)
        known = {max(each.first_offset, self.start) for each in open_ones}
        return {at for at in {*known, *left.values(), highest} if at <= highest}

    def _first_left(self, transaction: Transaction) -> int:
        offsets = (
            at
            for at in range(max(transaction.first_offset, self.start), transaction.last_offset + 1)
            if at in self.records and self.records[at].transaction == transaction.number
        )
        return next(offsets, self.end)

    # --- what was acknowledged ------------------------------------------------------------------------

    def appended(self, base_offset: int, records: list[StoredRecord], *, is_durable: bool) -> None:
        require(base_offset == self.end, f"{self.name}: appended at {base_offset}, its end was {self.end}")
        for number, record in enumerate(records):
            self.records[base_offset + number] = record
            if record.transaction >= 0:
                at = base_offset + number
                known = self.transactions.setdefault(
                    record.transaction, Transaction(record.transaction, at, at)
                )
                known.last_offset = at
        self.end = base_offset + len(records)
        if is_durable:
            self.durable_end = self.end

    def ended(self, number: int, outcome: Outcome) -> None:
        """A transaction's marker was written."""
        transaction = self.transactions[number]
        transaction.outcome, transaction.marker = outcome, self.end
        self.end += 1

    def is_settled(self, end: int, stable: int) -> bool:
        """Whether every marker that is due has been written."""
        return end == self.end and stable in self.stable_offsets()

    def records_deleted(self, start: int) -> None:
        self.start = max(self.start, start)

    def checkpointed(self) -> None:
        """The log start is on disk, unless it is that of the first segment, which is in no checkpoint."""
        self.lowest_start = self.start
        self.is_start_derived = False
        if self.start > self.floor:
            self.power_start = self.start

    def stopped(self) -> None:
        """Cleanly: all is on disk."""
        self.lowest_start = self.power_start = self.start
        self.is_start_derived = False
        self.durable_end = self.end

    def start_damaged(self, *, is_checkpoint: bool) -> None:
        """One of the two files that tell the log start was damaged; without both, only the segments do.

        The checkpoint has it again once it is written anew.
        """
        if is_checkpoint:
            self.is_start_derived = True
        if self.is_start_derived:
            self.lowest_start = self.floor
            self.power_start = 0

    # --- what was found -------------------------------------------------------------------------------

    def compare(self, found: FoundPartition, *, is_compacted: bool = False) -> None:
        """Raise `Violation` unless `found` is what is known, or what a stop without loss may leave of it."""
        if self._is_out_of_service(found):
            return
        lowest = self.lowest_start if self.has_restarted else self.start
        require(
            lowest <= found.start <= self.start,
            f"{self.name} starts at {found.start}, expected {lowest} to {self.start}",
        )
        self._compare_records(found, is_compacted=is_compacted)
        require(found.end == self.end, f"{self.name} ends at {found.end}, expected {self.end}")
        self._note_start(found.start)
        stable = self.stable_offsets()
        require(
            found.stable in stable,
            f"{self.name} is stable to {found.stable}, expected {stable} ({self._open_ones()})",
        )
        self._compare_committed(found.committed, found.stable)

    def compare_after_power_cut(self, found: FoundPartition) -> bool:
        """A prefix may be left. False if a transaction is in doubt: who wrote it must begin anew."""
        if self._is_out_of_service(found):
            return True
        last = max(found.records, default=found.start - 1)
        lost_from = max(self.durable_end, last + 1)
        in_doubt = any(
            each.outcome is Outcome.OPEN or each.marker >= self.durable_end
            for each in self.transactions.values()
        )
        # Where a log ends before it started, nothing tells that it is the same log.
        is_new = self.durable_end <= found.end <= self.power_start
        require(
            is_new or self.power_start <= found.start <= max(self.start, found.end),
            f"{self.name} starts at {found.start}, expected {self.power_start} to {self.start}",
        )
        require(
            found.end >= self.durable_end,
            f"{self.name} ends at {found.end}, but what lies below {self.durable_end} was flushed",
        )
        for offset in [each for each in self.records if each >= lost_from]:
            del self.records[offset]
        for offset in [each for each in self.cleaned if each >= lost_from]:
            del self.cleaned[offset]
        self._compare_records(found, is_compacted=False)
        # Coordinators may write markers again, also those of a deleted topic: transactions know it by name.
        markers = [each for each in found.batches if each.is_control and each.base_offset >= self.end]
        require(
            found.end <= self.end + len(markers),
            f"{self.name} ends at {found.end}, expected at most {self.end} and {len(markers)} markers",
        )
        self._note_start(found.start)
        self.power_start = found.start
        self.end = found.end
        return not in_doubt

    def _note_start(self, found: int) -> None:
        if self.has_restarted:
            self.start = self.lowest_start = found
        self.has_restarted = False

    def _is_out_of_service(self, found: FoundPartition) -> bool:
        self.is_offline = bool(found.error)
        require(not found.error or self.may_be_offline, f"{self.name} is out of service: error {found.error}")
        return self.is_offline

    def _compare_records(self, found: FoundPartition, *, is_compacted: bool) -> None:
        for offset, record in found.records.items():
            expected = self.records.get(offset) or self.cleaned.get(offset)
            if expected is None or not expected.is_same(record):
                raise Violation(f"{self.name} has {record} at {offset}, expected {expected}")
            if offset in self.cleaned:
                self.records[offset] = self.cleaned.pop(offset)
        absent = [at for at in self.records if at >= found.start and at not in found.records]
        missing = [at for at in absent if at >= self.start]
        for offset in set(absent) - set(missing):  # deleted before, and meanwhile compacted away
            self.cleaned[offset] = self.records.pop(offset)
        if is_compacted:
            self._justify(missing)
            missing = []
        require(not missing, f"{self.name} has lost {self._span(missing)} of {found.start} to {self.end}")

    def _compare_committed(self, found: dict[int, Record], stable: int) -> None:
        expected = {
            offset
            for offset, record in self.records.items()
            if self.start <= offset < stable and self._is_committed(record)
        }
        wrong = sorted(set(found) - expected)
        require(not wrong, f"{self.name}: not committed, but read by read_committed: {self._span(wrong)}")
        missing = sorted(expected - set(found))
        require(not missing, f"{self.name}: committed, but not read by read_committed: {self._span(missing)}")

    def _is_committed(self, record: StoredRecord) -> bool:
        transaction = self.transactions.get(record.transaction)
        return transaction is None or transaction.outcome is Outcome.COMMITTED

    # --- compaction and retention ---------------------------------------------------------------------

    def _justify(self, removed: list[int]) -> None:
        """Only what a newer record of the same key supersedes, was aborted, or is an old tombstone may go."""
        newest = self._newest()
        for offset in removed:
            record = self.records[offset]
            require(
                self._may_be_compacted(offset, newest),
                f"{self.name}: compaction removed {offset}, the newest record of {record.key!r}",
            )
            require(
                self._outcome(record) is not Outcome.OPEN,
                f"{self.name}: compaction removed {offset}, of an open transaction",
            )
        for offset in removed:
            self.cleaned[offset] = self.records.pop(offset)

    def _newest(self) -> dict[bytes | None, int]:
        newest: dict[bytes | None, int] = {}
        for offset, record in self.records.items():
            if self._is_committed(record):
                newest[record.key] = max(offset, newest.get(record.key, -1))
        return newest

    def _may_be_compacted(self, offset: int, newest: dict[bytes | None, int]) -> bool:
        record = self.records[offset]
        is_superseded = record.key is None or newest.get(record.key, -1) > offset
        return is_superseded or record.value is None or self._outcome(record) is Outcome.ABORTED

    def _outcome(self, record: StoredRecord) -> Outcome | None:
        transaction = self.transactions.get(record.transaction)
        return None if transaction is None else transaction.outcome

    def retained(
        self,
        start: int,
        floor: int,
        batches: list[BatchHeader],
        now_ms: int,
        retention_ms: int,
        retention_bytes: int,
        *,
        is_compacted: bool,
    ) -> None:
        """Retention moved the start: was every record old enough, or the log large enough without it?

        Or was it compacted away before, and its segment left with nothing but old records?
        """
        self.floor = max(self.floor, floor)
        if start == self.start:
            return
        require(start > self.start, f"{self.name}: retention moved the start back to {start}")
        sizes = {each.base_offset: each.size for each in batches}
        removed = {at: each for at, each in self.records.items() if self.start <= at < start}
        # A segment's age is that of its latest timestamp; records without one go along.
        has_timestamps = any(each.timestamp >= 0 for each in removed.values())
        newest = self._newest() if is_compacted else {}
        for offset, record in removed.items():
            if is_compacted and self._may_be_compacted(offset, newest):
                continue
            behind = sum(size for base, size in sizes.items() if base > offset)
            is_old = 0 <= retention_ms < now_ms - record.age_counts_from
            is_old |= retention_ms >= 0 and has_timestamps and record.timestamp < 0
            require(
                is_old or 0 <= retention_bytes <= behind,
                f"{self.name}: retention deleted {offset}, {now_ms - record.age_counts_from} ms old, "
                f"with {behind} bytes behind it (retention.ms {retention_ms}, bytes {retention_bytes})",
            )
        self.start = start

    def _open_ones(self) -> str:
        found = [each for each in self.transactions.values() if each.outcome is Outcome.OPEN]
        return f"open: {found}" if found else "no transaction is open"

    @staticmethod
    def _span(offsets: list[int]) -> str:
        if not offsets:
            return "nothing"
        return f"{len(offsets)} records, {min(offsets)} to {max(offsets)}"
