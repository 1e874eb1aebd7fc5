"""Checks one segment: checksums, order of offsets, and whether its indexes match the log.

One pass reads the log and its indexes together. The active segment may grow meanwhile: a truncated batch at
its end counts only if the file does not grow, and its indexes may be behind.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from barnabas.base.errors import KafkaError
from barnabas.base.filesystem import FileSystem, LogFile
from barnabas.cli.dump import Unreadable
from barnabas.cli.dump.indexes import IndexFile, read_offset_index, read_time_index
from barnabas.records.batch import BatchHeader
from barnabas.records.record import decode_records
from barnabas.storage import names
from barnabas.storage.batch_scan import VerifiedScan

_STEP = 4 << 20
_RETRIES = 2

Progress = Callable[[int], None]


@dataclass(slots=True)
class SegmentReport:
    """The result of a pass over one segment."""

    size: int
    batches: int = 0
    records: int = 0
    first_offset: int | None = None
    next_offset: int = 0
    gaps: int = 0
    """Batches that do not begin where the one before ended: usual in a compacted log."""
    leader_epoch: int = -1
    problems: list[str] = field(default_factory=list)


class SegmentCheck:
    def __init__(self, log: Path, *, is_active: bool, decodes: bool, progress: Progress) -> None:
        self._log: Path = log
        self._base_offset: int = names.offset_of(log.name) or 0
        self._is_active: bool = is_active
        self._decodes: bool = decodes
        self._progress: Progress = progress

    def run(self) -> SegmentReport:
        """Raises FileNotFoundError if the segment was deleted meanwhile."""
        file = FileSystem().open(self._log, read_only=True)
        try:
            report, flaw = self._scan(file)
            for _ in range(_RETRIES):
                if not flaw or not self._is_active or file.size() == report.size:
                    break
                report, flaw = self._scan(file)
        finally:
            file.close()
        if flaw:
            report.problems.insert(0, flaw)
        return report

    def _scan(self, file: LogFile) -> tuple[SegmentReport, str]:
        report = SegmentReport(file.size(), next_offset=self._base_offset)
        offsets, times = self._indexes(report)
        index = _IndexWalk(offsets, times, report.problems)
        scan = VerifiedScan(file, report.size, self._base_offset)
        reported = 0
        try:
            for position, header, batch in scan:
                self._count(report, header)
                index.visit(position, header)
                if self._decodes:
                    _decode(position, batch, report.problems)
                if position - reported >= _STEP:
                    self._progress(position - reported)
                    reported = position
        except KafkaError as error:
            return report, f"{self._log.name}: {error.message}"
        self._progress(report.size - reported)
        if scan.flaw:
            return report, f"{self._log.name}: at {scan.valid_bytes}: {scan.flaw}"
        if not self._is_active:
            index.finish(scan.valid_bytes)
        return report, ""

    def _count(self, report: SegmentReport, header: BatchHeader) -> None:
        if report.first_offset is None:
            report.first_offset = header.base_offset
        elif header.base_offset != report.next_offset:
            report.gaps += 1
        report.batches += 1
        report.records += header.record_count
        report.next_offset = header.next_offset
        if header.partition_leader_epoch < report.leader_epoch:
            report.problems.append(
                f"{self._log.name}: leader epoch {header.partition_leader_epoch} at offset "
                f"{header.base_offset} follows {report.leader_epoch}"
            )
        report.leader_epoch = max(report.leader_epoch, header.partition_leader_epoch)

    def _indexes(self, report: SegmentReport) -> tuple[IndexFile | None, IndexFile | None]:
        return (
            self._index(names.INDEX, read_offset_index, report),
            self._index(names.TIME_INDEX, read_time_index, report),
        )

    def _index(
        self, suffix: str, read: Callable[[str, int], IndexFile], report: SegmentReport
    ) -> IndexFile | None:
        path = self._log.with_suffix(suffix)
        try:
            index = read(str(path), self._base_offset)
        except Unreadable as error:
            # A broker need not write the indexes of its active segment before it is closed.
            if path.exists() or not self._is_active:
                report.problems.append(str(error) if path.exists() else f"{path.name}: missing")
            return None
        pairs = index.entries
        if any(pair[0] >= after[0] or pair[1] >= after[1] for pair, after in pairwise(pairs)):
            report.problems.append(f"{path.name}: its entries do not ascend")
            return None
        if not self._is_active:
            try:
                index.check()
            except Unreadable as error:
                report.problems.append(str(error))
        return index


class _IndexWalk:
    """Checks both indexes of a segment while its batches are read. Reports one problem for each index."""

    def __init__(self, offsets: IndexFile | None, times: IndexFile | None, problems: list[str]) -> None:
        self._offsets: IndexFile | None = offsets
        self._times: IndexFile | None = times
        self._problems: list[str] = problems
        self._slot: int = 0
        self._time_slot: int = 0

    def visit(self, position: int, header: BatchHeader) -> None:
        self._visit_offsets(position, header.last_offset)
        self._visit_times(header.max_timestamp, header.last_offset)

    def _visit_offsets(self, position: int, last_offset: int) -> None:
        index = self._offsets
        if index is None or self._slot >= len(index.entries):
            return
        offset, indexed = index.entries[self._slot]
        if indexed > position:
            return
        self._slot += 1
        if indexed < position or offset != last_offset:
            what = "no batch" if indexed < position else f"a batch that ends at {last_offset}"
            self._problems.append(f"{Path(index.path).name}: offset {offset} -> {indexed}, where {what} is")
            self._offsets = None

    def _visit_times(self, timestamp: int, last_offset: int) -> None:
        index = self._times
        if index is None:
            return
        entries = index.entries
        while self._time_slot < len(entries) and entries[self._time_slot][1] < last_offset:
            self._time_slot += 1
        if self._time_slot < len(entries) and timestamp > entries[self._time_slot][0]:
            stated, offset = entries[self._time_slot]
            self._problems.append(
                f"{Path(index.path).name}: timestamp {stated} -> offset {offset}, "
                f"but offset {last_offset} has {timestamp}"
            )
            self._times = None

    def finish(self, valid_bytes: int) -> None:
        """Called after the last batch of a closed segment."""
        index = self._offsets
        if index is not None and self._slot < len(index.entries):
            offset, position = index.entries[self._slot]
            self._problems.append(
                f"{Path(index.path).name}: offset {offset} -> {position}, where the log ends at {valid_bytes}"
            )


def _decode(position: int, batch: memoryview, problems: list[str]) -> None:
    try:
        decode_records(batch)
    except KafkaError as error:
        problems.append(f"at {position}: {error.message}")
