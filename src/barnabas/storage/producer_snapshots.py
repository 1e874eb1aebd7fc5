"""The snapshot files of a log, and the state of its producers rebuilt from them.

Invariant: a snapshot at offset N describes the log below N. Kept are those at a segment's base offset and
the latest. Nothing depends on a snapshot being there: what is missing is read from the log.
"""

import logging
from collections.abc import Collection, Iterable
from pathlib import Path

from barnabas.base.filesystem import FileSystem
from barnabas.records.batch import BatchHeader
from barnabas.storage import names
from barnabas.storage.batch_scan import find_batch, iter_file_headers
from barnabas.storage.index_errors import CorruptIndex
from barnabas.storage.producer_snapshot import decode_snapshot, encode_snapshot
from barnabas.storage.producer_state import CompletedTxn, ProducerStates, read_marker
from barnabas.storage.segment import Segment
from barnabas.storage.segments import Segments

_logger = logging.getLogger(__name__)


class ProducerSnapshots:
    def __init__(self, directory: Path, fs: FileSystem, offsets: Iterable[int] = ()) -> None:
        self.directory: Path = directory
        self._fs: FileSystem = fs
        self._offsets: set[int] = set(offsets)
        self._last_taken: int = 0
        self.unsynced: set[int] = set()
        """Written since the last flush."""

    @property
    def offsets(self) -> list[int]:
        return sorted(self._offsets)

    @property
    def latest(self) -> int | None:
        return max(self._offsets, default=None)

    def path(self, offset: int) -> Path:
        return self.directory / names.file_name(offset, names.SNAPSHOT)

    def maybe_take(self, states: ProducerStates, *, sync: bool = False) -> None:
        """Write a snapshot at the end of `states`, unless it has not moved since the last one."""
        offset = states.end_offset
        if offset <= self._last_taken:
            return
        self._fs.write_bytes(self.path(offset), encode_snapshot(states.entries.values()), sync=sync)
        self._offsets.add(offset)
        self._last_taken = offset
        if not sync:
            self.unsynced.add(offset)

    def retake(self, states: ProducerStates) -> None:
        """Write a snapshot at the end of `states` over one that may be there from before a crash."""
        self._last_taken = min(self._last_taken, states.end_offset - 1)
        self.maybe_take(states)

    def remove(self, offset: int) -> None:
        if offset in self._offsets:
            self._offsets.discard(offset)
            self.unsynced.discard(offset)
            self._fs.unlink(self.path(offset))

    def mark_deleted(self, offset: int) -> Path | None:
        """Rename the snapshot of a deleted segment; the file to unlink later, if there was one."""
        if offset not in self._offsets:
            return None
        self._offsets.discard(offset)
        self.unsynced.discard(offset)
        target = Path(f"{self.path(offset)}{names.DELETED}")
        try:
            self._fs.rename(self.path(offset), target)
        except FileNotFoundError:
            return None
        return target

    def remove_all(self) -> None:
        for offset in self.offsets:
            self.remove(offset)
        self._last_taken = 0

    def remove_strays(self, segment_bases: Collection[int]) -> None:
        """Drop snapshots that no segment starts at, save the latest if it is beyond every segment's start."""
        strays = [offset for offset in self.offsets if offset not in segment_bases]
        for offset in strays[:-1]:
            self.remove(offset)
        if strays and segment_bases and strays[-1] < max(segment_bases):
            self.remove(strays[-1])

    def reload(self, states: ProducerStates, log_start_offset: int, end_offset: int, now_ms: int) -> None:
        """Bring `states` to the latest snapshot within the log, dropping those outside of it."""
        for offset in self.offsets:
            if offset > end_offset or offset <= log_start_offset:
                self.remove(offset)
        if states.end_offset == end_offset:
            states.on_log_start(log_start_offset)
            self._last_taken = self.latest or log_start_offset
            return
        while (latest := self.latest) is not None:
            try:
                states.load(decode_snapshot(self._fs.read_bytes(self.path(latest))), latest, now_ms)
            except (CorruptIndex, FileNotFoundError) as error:
                _logger.warning("dropping the producer snapshot %s: %s", self.path(latest), error)
                self.remove(latest)
            else:
                self._last_taken = latest
                return
        states.clear(log_start_offset)
        self._last_taken = log_start_offset

    def on_log_start(self, log_start_offset: int) -> None:
        latest = self.latest
        self._last_taken = log_start_offset if latest is None else latest


def rebuild_producers(
    states: ProducerStates,
    snapshots: ProducerSnapshots,
    segments: Segments,
    log_start_offset: int,
    end_offset: int,
    now_ms: int,
    *,
    clean: bool,
) -> None:
    """Make `states` those of the log below `end_offset`, reading as little of it as the snapshots allow.

    After a clean stop an empty log has nothing to know. One with records has a snapshot, unless it was lost:
    then the log is read, for an open transaction must not be forgotten (Kafka assumes that there was none).
    """
    wanted = {segment.base_offset for segment in list(segments)[-2:]}
    if clean and snapshots.latest is None and not segments.size:
        for offset in sorted({*wanted, end_offset}):
            states.end_offset = offset
            snapshots.maybe_take(states)
        return
    nothing_known = states.is_empty and states.end_offset >= end_offset
    snapshots.reload(states, log_start_offset, end_offset, now_ms)
    if end_offset > states.end_offset and not nothing_known:
        for segment in segments.from_offset(states.end_offset):
            if segment.base_offset >= end_offset:
                break
            states.end_offset = max(segment.base_offset, states.end_offset, log_start_offset)
            if segment.base_offset in wanted:
                snapshots.maybe_take(states)
            _replay(states, segment, states.end_offset, end_offset)
    states.end_offset = end_offset
    snapshots.maybe_take(states)


def _replay(states: ProducerStates, segment: Segment, start: int, end_offset: int) -> None:
    found = find_batch(segment.file, segment.index.lookup(start), segment.size, start)
    if found is None:
        return
    for position, header in iter_file_headers(segment.file, found.position, segment.size):
        if header.last_offset >= end_offset:
            break
        if header.has_producer_id:
            replay_batch(states, segment, position, header)


def replay_batch(
    states: ProducerStates, segment: Segment, position: int, header: BatchHeader
) -> CompletedTxn | None:
    """Apply one stored batch; the records of a marker are read from the log."""
    marker = read_marker(segment.file.read_at(position, header.size)) if header.is_control else None
    txn = states.apply(header, header.base_offset, marker)
    if txn is not None:
        states.complete(txn)
    return txn
