"""The dump of each kind of file for kafka-dump-log, and the report of mismatches."""

import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from barnabas.cli.dump import Unreadable
from barnabas.cli.dump.decoders import Decoder
from barnabas.cli.dump.indexes import (
    TimeIndexErrors,
    base_offset_of,
    check_times,
    neighbour,
    offset_mismatches,
    read_offset_index,
    read_time_index,
)
from barnabas.cli.dump.segment_file import SegmentFile
from barnabas.cli.dump.segment_text import Depth, SegmentText
from barnabas.cli.dump.snapshots import (
    RAFT_SNAPSHOT,
    CorruptSnapshot,
    aborted_line,
    producer_line,
    raft_snapshot_line,
    read_aborted,
    read_snapshot,
)
from barnabas.storage import names


class FileDumps:
    """Prints the files and collects mismatches for `report`."""

    def __init__(
        self,
        *,
        decoder: Decoder | None,
        with_records: bool,
        skips_metadata: bool,
        verifies_only: bool,
        checks_sanity: bool,
        max_message_size: int,
        max_bytes: int | None,
    ) -> None:
        self._depth: Depth = Depth(with_records, decoder, skips_metadata)
        self._verifies_only: bool = verifies_only
        self._checks_sanity: bool = checks_sanity
        self._max_message_size: int = max_message_size
        self._max_bytes: int | None = max_bytes
        self._mismatches: dict[str, dict[int, int]] = {}
        self._time_errors: dict[str, TimeIndexErrors] = {}
        self._gaps: dict[str, dict[int, int]] = {}
        self._kinds: Mapping[str, Callable[[str], None]] = {
            names.LOG: self._dump_log,
            RAFT_SNAPSHOT: self._dump_log,
            names.INDEX: self._dump_index,
            names.TIME_INDEX: self._dump_time_index,
            names.SNAPSHOT: self._dump_snapshot,
            names.TXN_INDEX: self._dump_txn_index,
        }

    def dump(self, path: str) -> None:
        print(f"Dumping {path}")
        _, dot, suffix = path.rpartition("/")[2].rpartition(".")
        kind = self._kinds.get(dot + suffix)
        if kind is None:
            _complain([f"Ignoring unknown file {path}"])
        else:
            kind(path)

    def _dump_log(self, path: str) -> None:
        if path.endswith(RAFT_SNAPSHOT):
            print(raft_snapshot_line(path))
        else:
            print(f"Log starting offset: {base_offset_of(path)}")
        if self._max_bytes is not None and self._max_bytes < 0:
            raise Unreadable(f"Invalid size: {self._max_bytes} in read from {path}")
        with SegmentFile(path) as file:
            text = SegmentText(file, self._depth, self._max_bytes)
            write = sys.stdout.write
            try:
                for lines in text:
                    write(lines)
            finally:
                if text.gaps:
                    self._gaps[_absolute(path)] = text.gaps

    def _dump_index(self, path: str) -> None:
        with SegmentFile(neighbour(path, names.LOG)) as log:
            index = read_offset_index(path, base_offset_of(path))
            if not index.stored:
                print(f"{path} is empty.")
                return
            if self._checks_sanity:
                index.check()
                print(f"{path} passed sanity check.")
                return
            for offset, position, found in offset_mismatches(index, log, self._max_message_size):
                if found != offset:
                    self._mismatches.setdefault(_absolute(path), {})[offset] = found
                if not self._verifies_only:
                    print(f"offset: {offset} position: {position}")

    def _dump_time_index(self, path: str) -> None:
        base_offset = base_offset_of(path)
        with SegmentFile(neighbour(path, names.LOG)) as log:
            offsets_path = neighbour(path, names.INDEX)
            offsets = read_offset_index(offsets_path, base_offset) if Path(offsets_path).exists() else None
            index = read_time_index(path, base_offset)
            if self._checks_sanity:
                index.check()
                print(f"{path} passed sanity check.")
                return
            errors = self._time_errors.setdefault(_absolute(path), TimeIndexErrors())
            for timestamp, offset in check_times(index, offsets, log, errors):
                if not self._verifies_only:
                    print(f"timestamp: {timestamp} offset: {offset}")

    def _dump_snapshot(self, path: str) -> None:
        try:
            for entry in read_snapshot(path):
                print(producer_line(entry))
        except CorruptSnapshot as error:
            _complain([str(error)])

    def _dump_txn_index(self, path: str) -> None:
        base_offset_of(path)
        for txn in read_aborted(path):
            print(aborted_line(txn))

    # --- what does not fit together -----------------------------------------------------------------

    def report(self) -> None:
        for path, mismatches in self._mismatches.items():
            _complain([f"Mismatches in :{path}"])
            _complain(
                f"  Index offset: {offset}, log offset: {found}"
                for offset, found in sorted(mismatches.items(), reverse=True)
            )
        self._report_times(
            "Found timestamp mismatch in :",
            "  Index timestamp: {}, log timestamp: {}",
            lambda errors: errors.mismatches,
        )
        self._report_times(
            "Found out of order timestamp in :",
            "  Index timestamp: {}, Previously indexed timestamp: {}",
            lambda errors: errors.out_of_order,
        )
        self._report_times(
            "The following indexed offsets are not found in :",
            "Indexed offset: {}, found log offset: {}",
            lambda errors: errors.not_found,
        )
        for path, gaps in self._gaps.items():
            _complain([f"Non-consecutive offsets in {path}"])
            _complain(f"  {before} is followed by {offset}" for before, offset in sorted(gaps.items()))

    def _report_times(
        self, title: str, line: str, pick: Callable[[TimeIndexErrors], list[tuple[int, int]]]
    ) -> None:
        for path, errors in self._time_errors.items():
            if pairs := pick(errors):
                _complain([title + path])
                _complain(line.format(stated, found) for stated, found in pairs)


def _complain(lines: Iterable[str]) -> None:
    sys.stdout.flush()
    for line in lines:
        print(line, file=sys.stderr)


def _absolute(path: str) -> str:
    """As Java makes it: `.` and `..` stay."""
    return path if path.startswith("/") else f"{Path.cwd()}/{path}"
