"""Which records of the dirty part stay: judged once, from the newest record to the oldest.

The first record that is met of a key is its newest, so it stays, and all that are met later go. If the keys
do not fit into memory the judgement ends at `decided_from`; below it only keys that are known to be newer are
held against a record, and another round continues from there.

A verdict takes a byte a batch, and a byte a record where some records stay and some go. These bytes lie on a
stack, newest batch first: the copy of the segment, from its start, takes them off its end.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from barnabas.base.filesystem import FileSystem
from barnabas.records.batch import BatchHeader
from barnabas.records.record import unpack
from barnabas.storage.cleaning.chunks import ChunkReader, SegmentChunk, checked_batch
from barnabas.storage.cleaning.job import CleaningJob, SourceSegment
from barnabas.storage.cleaning.record_walk import read_keys
from barnabas.storage.cleaning.seen_keys import SeenKeys
from barnabas.storage.cleaning.sources import open_source
from barnabas.storage.cleaning.transactions import CleanedTransactions

UNJUDGED, DROP, KEEP_ALL, KEEP_SOME, NOT_RECORDS = range(5)
WITH_TOMBSTONE = 0x10
"""Added to a verdict: among the records that stay is one without value."""


@dataclass(slots=True)
class Verdicts:
    """On the batches of one segment, in the order of the file."""

    by_batch: bytearray
    marks: bytearray = field(default_factory=bytearray)

    def take_marks(self, count: int) -> bytearray:
        marks = self.marks[-count:]
        del self.marks[-count:]
        return marks


class Judgement:
    def __init__(
        self, job: CleaningJob, fs: FileSystem, seen: SeenKeys, progress: Callable[[int], None]
    ) -> None:
        self._job: CleaningJob = job
        self._fs: FileSystem = fs
        self._seen: SeenKeys = seen
        self._progress: Callable[[int], None] = progress
        self._starts: dict[int, list[tuple[int, int, int]]] = {}
        """Of each segment's chunks: position, size, number of the first batch."""
        self.verdicts: dict[int, Verdicts] = {}
        self.decided_from: int = job.first_dirty_offset
        self.keyless_records: int = 0

    def scan(self, dirty: Sequence[SourceSegment], most_batches: int) -> int:
        """Read the headers of dirty segments from the oldest on; returns how many of them are to be judged.

        Transactions can only be followed forward: batches that an abort removes are recognised here.
        """
        # Of one that ended before, the marker is not met here: the producer's next would be taken for it.
        start = dirty[0].base_offset if dirty else 0
        transactions = CleanedTransactions(txn for txn in self._job.aborted if txn.last_offset >= start)
        batches = 0
        for number, segment in enumerate(dirty):
            flags = bytearray()
            starts = self._starts[segment.base_offset] = []
            for chunk in self._reader(segment):
                starts.append((chunk.position, chunk.size, len(flags)))
                for at, header in chunk.batches:
                    flags.append(self._first_look(transactions, chunk, at, header))
            self.verdicts[segment.base_offset] = Verdicts(flags)
            batches += len(flags)
            if batches > most_batches:
                return number + 1
        return len(dirty)

    def _first_look(
        self, transactions: CleanedTransactions, chunk: SegmentChunk, at: int, header: BatchHeader
    ) -> int:
        if header.is_control:
            transactions.is_discardable(header, checked_batch(chunk, at, header))
            return NOT_RECORDS
        return NOT_RECORDS if transactions.is_aborted(header) else UNJUDGED

    def judge(self, dirty: Sequence[SourceSegment], upper: int) -> None:
        """Judge every batch below `upper`, until all are or memory is full."""
        for segment in reversed(dirty):
            if segment.base_offset >= upper:
                continue
            reader = self._reader(segment)
            verdicts = self.verdicts[segment.base_offset]
            for position, size, first in reversed(self._starts[segment.base_offset]):
                chunk = reader.read(position, size)
                for number in range(len(chunk.batches) - 1, -1, -1):
                    at, header = chunk.batches[number]
                    if verdicts.by_batch[first + number] != UNJUDGED or header.base_offset >= upper:
                        continue
                    if header.last_offset < self._job.first_dirty_offset:
                        return
                    verdicts.by_batch[first + number] = self._judge(chunk, at, header, verdicts)
                    if self._seen.is_full:
                        self.decided_from = max(header.base_offset, self._job.first_dirty_offset)
                        return

    def _judge(self, chunk: SegmentChunk, at: int, header: BatchHeader, verdicts: Verdicts) -> int:
        count = header.record_count
        batch = checked_batch(chunk, at, header)
        keys, tombstones = read_keys(unpack(batch, header), count)
        fresh = self._seen.add(keys)
        if None in keys:
            self.keyless_records += keys.count(None)
        if not fresh:
            return DROP
        expired = bool(tombstones) and horizon_has_passed(header, self._job.now_ms)
        if len(fresh) == count and not expired:
            return KEEP_ALL | (WITH_TOMBSTONE if tombstones else 0)
        marks = bytearray(count)
        newest = dict(zip(keys, range(count), strict=True))
        for key in fresh:
            marks[newest[key]] = 1
        with_tombstone = False
        for number in tombstones:
            if expired:
                marks[number] = 0
            with_tombstone |= marks[number] == 1
        verdicts.marks += marks
        self._seen.marks += count
        return KEEP_SOME | (WITH_TOMBSTONE if with_tombstone else 0)

    def _reader(self, segment: SourceSegment) -> ChunkReader:
        return ChunkReader(
            open_source(self._fs, self._job, segment), segment.size, self._job.io_bytes, self._progress
        )


def horizon_has_passed(header: BatchHeader, now_ms: int) -> bool:
    """Whether the tombstones of a batch were there long enough; with bit 6 the base timestamp says it."""
    return header.has_delete_horizon and header.base_timestamp <= now_ms
