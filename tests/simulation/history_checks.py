"""Checks of a whole history against the logs at its end.

- `lost-record`: an acknowledged record (acks=all) is not in the log at its offset.
- `replaced-record`: another record is at that offset.
- `duplicate-record`: a record of an idempotent producer is in the log twice.
- `foreign-record`: a record that was never written, or that was refused, is in the log.
- `reads-differ`: two readers got different records at one offset, or one that is not in the log.
- `offset-went-back`: a write began after another was acknowledged, and got a lower offset.
- `uncommitted-read`: a read_committed reader got a record of a transaction that was not committed.
- `lost-transaction`: a record of a committed transaction is not visible to read_committed readers.
- `group-offset-went-back`: a group's committed offset is lower than one that was acknowledged or read before.
- `acknowledged-below-min-isr`: a write (acks=all) was acknowledged although fewer replicas than
  `min.insync.replicas` were in sync all the time.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tests.simulation.history import ALL, GroupCommit, GroupRead, History, Outcome, Write
from tests.simulation.invariants import StoredBatch
from tests.simulation.violation import Violation

from barnabas.base.ids import TopicPartition


@dataclass(frozen=True, slots=True)
class FinalLog:
    """A partition at the end: what a reader of everything gets, and one of committed records."""

    records: Mapping[int, bytes]
    committed: Mapping[int, bytes]
    start: int = 0


Logs = Mapping[TopicPartition, FinalLog]


def check_history(history: History, logs: Logs) -> list[Violation]:
    return [violation for check in _CHECKS for violation in check(history, logs)]


def _lost_or_replaced(history: History, logs: Logs) -> Iterator[Violation]:
    for write in history.acknowledged():
        if write.acks != ALL or write.offset < 0:
            continue
        log = logs[write.partition]
        for offset, value in enumerate(write.values, write.offset):
            found = log.records.get(offset)
            where = f"{value!r} of {write.client}, acknowledged at offset {offset} of {write.partition}"
            if offset < log.start or found == value:
                continue
            elif found is None:
                yield Violation("lost-record", f"{where}, is not there", write.ended)
            else:
                yield Violation("replaced-record", f"{where}: {found!r} is there", write.ended)


def _duplicates_and_foreign(history: History, logs: Logs) -> Iterator[Violation]:
    known = {(write.partition, value): write for write in history.writes for value in write.values}
    for partition, log in logs.items():
        seen: dict[bytes, int] = {}
        for offset, value in log.records.items():
            write = known.get((partition, value))
            if write is None:
                yield Violation(
                    "foreign-record", f"no producer wrote {value!r}, offset {offset} of {partition}"
                )
            elif write.outcome is Outcome.FAILED:
                details = f"{value!r} at offset {offset} of {partition}: its write was refused"
                yield Violation("foreign-record", details, write.ended)
            elif value in seen and write.is_idempotent:
                details = f"{value!r} is at offsets {seen[value]} and {offset} of {partition}"
                yield Violation("duplicate-record", details, write.ended)
            seen[value] = offset


def _different_reads(history: History, logs: Logs) -> Iterator[Violation]:
    for read in history.reads:
        log = logs[read.partition]
        found = log.records.get(read.offset)
        if read.offset >= log.start and found != read.value:
            details = f"{read.client} read {read.value!r} at offset {read.offset} of {read.partition}"
            yield Violation("reads-differ", f"{details}, the log has {found!r}", read.time)


def _offsets_back(history: History, logs: Logs) -> Iterator[Violation]:
    """Compares each write with those that were acknowledged before it began."""
    for partition in logs:
        done = sorted(
            (
                each
                for each in history.acknowledged()
                if each.partition == partition and each.offset >= 0 and each.acks == ALL
            ),
            key=lambda each: each.ended,
        )
        highest = _Highest((each.ended, each.offset) for each in done)
        for write in done:
            before = highest.before(write.began)
            if before > write.offset:
                details = f"{write.values[0]!r} got offset {write.offset} of {partition} after {before}"
                yield Violation("offset-went-back", details, write.ended)


class _Highest:
    """The highest value up to a time."""

    def __init__(self, values: Iterable[tuple[float, int]]) -> None:
        self._times: list[float] = []
        self._highest: list[int] = []
        for time, value in values:
            self._times.append(time)
            self._highest.append(max(value, self._highest[-1] if self._highest else value))

    def before(self, time: float, default: int = -1) -> int:
        index = bisect_right(self._times, time)
        return self._highest[index - 1] if index else default


def _transactions(history: History, logs: Logs) -> Iterator[Violation]:
    written = {value: write for write in history.writes for value in write.values}
    for read in history.reads:
        write = written.get(read.value)
        transaction = None if write is None else write.transaction
        if read.is_committed and transaction is not None and transaction.commit is Outcome.FAILED:
            details = f"{read.client} read {read.value!r} of transaction {transaction.number}"
            yield Violation("uncommitted-read", f"{details}, which was not committed", read.time)
    for write in history.acknowledged():
        if write.transaction is None or write.offset < 0:
            continue
        log = logs[write.partition]
        visible = [log.committed.get(offset) for offset, _ in enumerate(write.values, write.offset)]
        if write.transaction.commit is Outcome.DONE and visible != list(write.values):
            if write.offset >= log.start:
                details = f"{write.values!r} of transaction {write.transaction.number} at {write.offset}"
                yield Violation("lost-transaction", f"{details} of {write.partition} reads {visible!r}")
        elif write.transaction.commit is Outcome.FAILED and any(each in write.values for each in visible):
            details = f"{write.values!r} of transaction {write.transaction.number}, which was not committed"
            yield Violation("uncommitted-read", f"{details}, can be read in {write.partition}")


def _group_offsets_back(history: History, _: Logs) -> Iterator[Violation]:
    known: dict[tuple[str, TopicPartition], list[GroupCommit | GroupRead]] = {}
    may_be_late = {(each.group, each.partition, each.offset) for each in history.commits if each.is_repeated}
    for commit in history.commits:
        if commit.outcome is Outcome.DONE:
            known.setdefault((commit.group, commit.partition), []).append(commit)
    for read in history.group_reads:
        known.setdefault((read.group, read.partition), []).append(read)
    for (group, partition), entries in known.items():
        entries.sort(key=_end_of)
        highest = _Highest((_end_of(each), each.offset) for each in entries)
        for each in entries:
            before = highest.before(each.began)
            is_late = (group, partition, each.offset) in may_be_late
            if isinstance(each, GroupRead) and before > each.offset and not is_late:
                details = f"{group} on {partition} reads {each.offset} after {before}"
                yield Violation("group-offset-went-back", details, each.time)


def _end_of(entry: GroupCommit | GroupRead) -> float:
    return entry.ended if isinstance(entry, GroupCommit) else entry.time


_CHECKS: tuple[Callable[[History, Logs], Iterator[Violation]], ...] = (
    _lost_or_replaced,
    _duplicates_and_foreign,
    _different_reads,
    _offsets_back,
    _transactions,
    _group_offsets_back,
)


def check_equal_logs(
    partition: TopicPartition, logs: Mapping[int, Sequence[StoredBatch]]
) -> Iterator[Violation]:
    """At the end all replicas are in sync: up to the end of the shortest, they are equal byte by byte."""
    end = min(log[-1].last_offset + 1 if log else 0 for log in logs.values())
    start = max(log[0].base_offset if log else 0 for log in logs.values())
    bytes_of = {
        number: [each.data for each in log if start <= each.base_offset and each.last_offset < end]
        for number, log in logs.items()
    }
    first, *others = bytes_of
    for other in others:
        if bytes_of[other] != bytes_of[first]:
            details = f"brokers {first} and {other} in {partition} below offset {end}, at the end"
            yield Violation("replicas-differ", details)


@dataclass(slots=True)
class IsrSizes:
    """How many replicas were in sync, as the metadata store says, from which time on."""

    changes: list[tuple[float, int]] = field(default_factory=list)

    def note(self, time: float, size: int) -> None:
        if not self.changes or self.changes[-1][1] != size:
            self.changes.append((time, size))

    def most_within(self, began: float, ended: float) -> int:
        """The largest number at any moment of an interval."""
        first = max(bisect_right(self.changes, (began, 1 << 30)) - 1, 0)
        return max((size for time, size in self.changes[first:] if time <= ended), default=0)


def check_min_isr(
    writes: Iterable[Write], sizes: Mapping[TopicPartition, IsrSizes], minimum: int
) -> list[Violation]:
    found = []
    for write in writes:
        if write.acks == ALL and write.outcome is Outcome.DONE:
            size = sizes[write.partition].most_within(write.began, write.ended)
            if size < minimum:
                details = f"{write.values[0]!r} in {write.partition}, {size} of {minimum} replicas in sync"
                found.append(Violation("acknowledged-below-min-isr", details, write.ended))
    return found
