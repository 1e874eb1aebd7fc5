"""Checks all files of a partition, and all partitions of a directory, for `barnabas log check`."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from barnabas.base.filesystem import FileSystem
from barnabas.cli.dump import Unreadable
from barnabas.cli.dump.segment_check import Progress, SegmentCheck, SegmentReport
from barnabas.cli.dump.snapshots import CorruptSnapshot, read_aborted, read_snapshot
from barnabas.storage import names
from barnabas.storage.leader_epochs import LeaderEpochs


@dataclass(frozen=True, slots=True)
class PartitionReport:
    name: str
    segments: int
    size: int
    batches: int
    records: int
    start_offset: int | None
    """Of the first batch; None in an empty log."""
    end_offset: int
    gaps: int
    problems: tuple[str, ...]


def partition_directories(path: Path) -> list[Path]:
    """`path` itself if it has segments, or the partitions in it, without those marked for deletion."""
    try:
        entries = sorted(path.iterdir())
        if any(entry.name.endswith(names.LOG) for entry in entries):
            return [path]
        return [
            entry
            for entry in entries
            if (parsed := names.parse_directory(entry.name)) is not None
            and not parsed.mark
            and entry.is_dir()
        ]
    except OSError as error:
        raise Unreadable(f"Cannot read {path}: {error.strerror or error}") from None


def segment_files(directory: Path) -> list[Path]:
    """The `.log` files of a partition in the order of their offsets."""
    try:
        found = [each for each in directory.glob(f"*{names.LOG}") if names.offset_of(each.name) is not None]
    except OSError as error:
        raise Unreadable(f"Cannot read {directory}: {error.strerror or error}") from None
    return sorted(found, key=lambda each: names.offset_of(each.name) or 0)


def log_size(directories: list[Path]) -> int:
    """Bytes of all segments, for a progress bar. Segments deleted meanwhile count as 0."""
    total = 0
    for directory in directories:
        for log in segment_files(directory):
            try:
                total += log.stat().st_size
            except OSError:
                continue
    return total


def check_partition(directory: Path, *, decodes: bool, progress: Progress) -> PartitionReport:
    logs = segment_files(directory)
    reports: list[SegmentReport] = []
    problems: list[str] = []
    for log in logs:
        try:
            check = SegmentCheck(log, is_active=log == logs[-1], decodes=decodes, progress=progress)
            report = check.run()
        except FileNotFoundError:
            continue  # deleted by retention meanwhile
        except OSError as error:
            problems.append(f"{log.name}: {error.strerror or error}")
            continue
        problems += _order_problems(log, reports, report) + report.problems
        reports.append(report)
    problems += _other_problems(directory)
    firsts = [report.first_offset for report in reports if report.first_offset is not None]
    return PartitionReport(
        name=directory.absolute().name,
        segments=len(reports),
        size=sum(report.size for report in reports),
        batches=sum(report.batches for report in reports),
        records=sum(report.records for report in reports),
        start_offset=firsts[0] if firsts else None,
        end_offset=reports[-1].next_offset if reports else 0,
        gaps=sum(report.gaps for report in reports),
        problems=tuple(problems),
    )


def _order_problems(log: Path, before: list[SegmentReport], report: SegmentReport) -> list[str]:
    if not before:
        return []
    problems = []
    base_offset = names.offset_of(log.name) or 0
    if base_offset < before[-1].next_offset:
        problems.append(
            f"{log.name}: begins before offset {before[-1].next_offset}, where the last one ended"
        )
    return problems


def _other_problems(directory: Path) -> list[str]:
    problems = []
    for path, problem in _unreadable_files(directory):
        if path.exists():  # else it was deleted by its broker meanwhile
            problems.append(problem)
    try:
        LeaderEpochs(directory, FileSystem()).load()
    except OSError as error:
        problems.append(f"{names.LEADER_EPOCHS}: {error}")
    return problems


def _unreadable_files(directory: Path) -> Iterator[tuple[Path, str]]:
    for path in sorted(directory.glob(f"*{names.SNAPSHOT}")):
        try:
            read_snapshot(str(path))
        except CorruptSnapshot as error:
            yield path, f"{path.name}: {error}"
        except Unreadable as error:
            yield path, str(error)
    for path in sorted(directory.glob(f"*{names.TXN_INDEX}")):
        base_offset = names.offset_of(path.name) or 0
        try:
            for txn in read_aborted(str(path)):
                if txn.last_offset < base_offset:
                    yield path, f"{path.name}: a transaction ends at {txn.last_offset}, before the segment"
        except Unreadable as error:
            yield path, str(error)
