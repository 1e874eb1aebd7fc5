"""Opening a log from whatever a stop, a crash or a loss of power left of its files.

The passes:

1. remove `.deleted` files, `.cleaned` ones, and `.swap` ones of a split that was not finished;
2. remove the segments that valid `.swap` files replace;
3. rename the `.swap` files to their final names;
4. load the segments; index files without a log go, a damaged index of aborted transactions is rebuilt;
5. after an unclean stop: scan every segment from the recovery point on, cut the log at the first batch that
   is not whole, drop the segments behind the cut, rebuild indexes, leader epochs and producer state;
6. if the log ends before it should start: begin anew at the log start if there are no records, else the
   checkpointed log start is not that of this log and the records are kept;
7. bring the leader epochs within the log and the producers to its end.

After a clean stop passes 1 to 4 look at names only, and nothing of the log is scanned but its last few
batches. The recovery point is not advanced here: only a flush does that.
"""

import logging
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from barnabas.base.config.log_config import LogConfig
from barnabas.base.descriptors import is_shortage
from barnabas.base.ids import TopicPartition
from barnabas.storage import names
from barnabas.storage.batch_scan import iter_file_headers
from barnabas.storage.checkpoints import MalformedCheckpoint
from barnabas.storage.environment import LogEnvironment
from barnabas.storage.guarded_log import GuardedLog
from barnabas.storage.index_errors import CorruptIndex
from barnabas.storage.index_sums import NO_SUMS, LogSums, noted_indexes, parse_line, sum_of
from barnabas.storage.leader_epochs import LeaderEpochs
from barnabas.storage.leftovers import clear_leftovers, offset_in
from barnabas.storage.local_log import create_segment
from barnabas.storage.log import Log
from barnabas.storage.partition_metadata import MalformedPartitionMetadata, read_topic_id, write_topic_id
from barnabas.storage.producer_recall import recall_batches
from barnabas.storage.producer_snapshots import ProducerSnapshots, rebuild_producers
from barnabas.storage.producer_state import ProducerStates
from barnabas.storage.readable_log import LogParts
from barnabas.storage.segment import Segment
from barnabas.storage.segment_recovery import RecoveredSegment, recover_segment
from barnabas.storage.segments import Segments

_logger = logging.getLogger(__name__)


def open_log(
    directory: Path,
    config: LogConfig,
    environment: LogEnvironment,
    *,
    clean: bool,
    recovery_point: int = 0,
    log_start_offset: int = 0,
    index_sums: str | None = None,
    topic_partition: TopicPartition | None = None,
) -> Log:
    """Load the log in `directory`, after a `clean` stop or not; both offsets are the checkpointed ones.

    `index_sums` is what the index files held at the last clean stop, if that is known.
    """
    if topic_partition is None:
        parsed = names.parse_directory(directory.name)
        if parsed is None:
            raise ValueError(f"{directory} is no directory of a partition")
        topic_partition = parsed.topic_partition
    sums = None if index_sums is None else parse_line(index_sums, directory)
    loader = LogLoader(directory, config, environment, clean, recovery_point, log_start_offset, sums)
    return _kind_of(environment)(directory, topic_partition, config, environment, loader.load())


def _kind_of(environment: LogEnvironment) -> type[Log]:
    return Log if environment.worker is None else GuardedLog


def create_log(
    directory: Path,
    topic_partition: TopicPartition,
    topic_id: UUID | None,
    config: LogConfig,
    environment: LogEnvironment,
) -> Log:
    """Make a new, empty log: a directory, `partition.metadata`, and one empty segment. Nothing is synced.

    Without a descriptor for one of the files nothing is left behind, and no file stays open.
    """
    fs = environment.fs
    fs.mkdir(directory)
    segments = Segments()
    try:
        if topic_id is not None:
            write_topic_id(fs, directory, topic_id)
        segments.add(create_segment(directory, 0, config, environment))
    except OSError as error:
        if is_shortage(error):
            fs.unlink(directory / names.PARTITION_METADATA)
            fs.rmdir(directory)
        raise
    segments.active.release_file()
    parts = LogParts(
        segments,
        ProducerStates(environment.producer_expiration_ms),
        ProducerSnapshots(directory, fs),
        LeaderEpochs(directory, fs),
        topic_id,
        log_start_offset=0,
        log_end_offset=0,
        recovery_point=0,
        is_durable=False,
    )
    return _kind_of(environment)(directory, topic_partition, config, environment, parts)


@dataclass(slots=True)
class LogLoader:
    directory: Path
    config: LogConfig
    environment: LogEnvironment
    clean: bool
    recovery_point: int
    log_start_offset: int
    index_sums: LogSums | None

    def load(self) -> LogParts:
        fs = self.environment.fs
        found = clear_leftovers(self.directory, fs)
        snapshots = ProducerSnapshots(self.directory, fs, _snapshot_offsets(found))
        segments = self._load_segments(found)
        leader_epochs = self._load_leader_epochs(segments)
        suspects = [] if self.clean else segments.from_offset(self.recovery_point)
        self._check_txn_indexes(suspects, segments, leader_epochs, snapshots)
        self._recover(suspects, segments, leader_epochs, snapshots)
        if not self.clean and len(segments) and segments.active.next_offset() < self.recovery_point:
            self._distrust_recovery_point()
            self._recover(list(segments), segments, leader_epochs, snapshots)
        log_end_offset = self._end_of(segments, leader_epochs, snapshots)
        # Where all records are deleted the entry at the end stays: the log start can be derived from it.
        is_deleted = self.log_start_offset == log_end_offset
        leader_epochs.truncate_from_end(log_end_offset + is_deleted)
        leader_epochs.truncate_from_start(self.log_start_offset)
        log_start_offset = max(self.log_start_offset, segments.first.base_offset)
        producers = ProducerStates(self.environment.producer_expiration_ms)
        snapshots.remove_strays(segments.base_offsets)
        rebuild_producers(
            producers,
            snapshots,
            segments,
            log_start_offset,
            log_end_offset,
            self.environment.clock.now_ms(),
            clean=self.clean,
        )
        recall_batches(producers, segments)
        for segment in segments:
            if segment is not segments.active:
                segment.release()
        segments.active.release_file()
        topic_id = self._topic_id()
        return LogParts(
            segments,
            producers,
            snapshots,
            leader_epochs,
            topic_id,
            log_start_offset,
            log_end_offset,
            log_end_offset if self.clean else min(self.recovery_point, log_end_offset),
            # A clean stop syncs nothing of a log without records: the first flush behind it does. So it does
            # for a topic id that is still to be written.
            is_durable=self.clean and log_end_offset > log_start_offset and topic_id is not None,
        )

    def _load_leader_epochs(self, segments: Segments) -> LeaderEpochs:
        """From their file; from the batches if it is damaged, or missing and not all of the log is recovered.

        A list that lacks the earliest epochs would hide records: the log start may be derived from it.
        """
        leader_epochs = LeaderEpochs(self.directory, self.environment.fs)
        try:
            leader_epochs.load()
            if leader_epochs.entries or not segments.size:
                return leader_epochs
            if not self.clean and self.recovery_point <= segments.first.base_offset:
                return leader_epochs
            _logger.warning("%s has no leader epochs: reading them from the batches", self.directory)
        except MalformedCheckpoint as error:
            _logger.warning("reading the leader epochs from the batches: %s", error)
        leader_epochs.clear()
        for segment in segments:
            for _, header in iter_file_headers(segment.file, 0, segment.size):
                if header.partition_leader_epoch > leader_epochs.latest_epoch:
                    leader_epochs.assign(header.partition_leader_epoch, header.base_offset)
        return leader_epochs

    def _distrust_recovery_point(self) -> None:
        """What a flush has covered does not disappear: the recovery point is that of another log."""
        _logger.warning(
            "%s ends before its recovery point %d: all of it is recovered",
            self.directory,
            self.recovery_point,
        )
        self.recovery_point = 0

    def _topic_id(self) -> UUID | None:
        """Returns None if the file is missing or damaged: the topic's metadata has the id.

        A damaged file is removed, so that it is not read again before it is written anew.
        """
        try:
            return read_topic_id(self.environment.fs, self.directory)
        except MalformedPartitionMetadata as error:
            _logger.warning("removing the damaged %s: the metadata store has its topic id", error)
            self.environment.fs.unlink(self.directory / names.PARTITION_METADATA)
            return None

    # ---- pass 4

    def _load_segments(self, found: list[str]) -> Segments:
        fs = self.environment.fs
        bases = sorted(offset_in(name) for name in found if name.endswith(names.LOG))
        known, present = set(bases), set(found)
        for name in found:
            if name.endswith(names.INDEX_SUFFIXES) and offset_in(name) not in known:
                _logger.warning("removing the index %s, which has no log", self.directory / name)
                fs.unlink(self.directory / name)
        segments = Segments()
        for base_offset in bases:
            has_txn_index = names.file_name(base_offset, names.TXN_INDEX) in present
            size = fs.size(self.directory / names.file_name(base_offset, names.LOG))
            segments.add(self._segment(base_offset, size, has_txn_index=has_txn_index))
        return segments

    def _check_txn_indexes(
        self,
        suspects: list[Segment],
        segments: Segments,
        leader_epochs: LeaderEpochs,
        snapshots: ProducerSnapshots,
    ) -> None:
        """Recover segments whose abort index is damaged, which nothing else would notice."""
        for segment in segments:
            if segment in suspects:
                break
            try:
                segment.txn_index.check()
                self._compare(segment)
            except CorruptIndex as error:
                _logger.warning("recovering %s: %s", segment.path(names.LOG), error)
                self._recover_segment(segment, segments, leader_epochs, snapshots)
                segment.write_indexes(sync=True)

    def _compare(self, segment: Segment) -> None:
        """Raise `CorruptIndex` if the index is not what the last clean stop left.

        After a crash only segments that it listed can be compared; others may be newer.
        """
        if self.index_sums is None or not (self.clean or segment.base_offset in self.index_sums):
            return
        expected = self.index_sums.get(segment.base_offset, NO_SUMS).aborted
        found = sum_of(segment.txn_index.entries)
        if found != expected:
            raise CorruptIndex(
                f"{segment.txn_index.path} has {found.entries} entries, other than the {expected.entries} "
                "of the last clean stop"
            )

    def _segment(self, base_offset: int, size: int, *, has_txn_index: bool = False) -> Segment:
        segment = Segment(
            self.directory,
            base_offset,
            self.environment.fs,
            self.environment.open_files,
            size=size,
            index_interval_bytes=self.config.index_interval_bytes,
            created_ms=self.environment.clock.now_ms(),
            has_txn_index=has_txn_index,
        )
        segment.index_sums = noted_indexes(self.index_sums, base_offset, self.config, clean=self.clean)
        return segment

    # ---- passes 5 and 6

    def _recover(
        self,
        suspects: list[Segment],
        segments: Segments,
        leader_epochs: LeaderEpochs,
        snapshots: ProducerSnapshots,
    ) -> None:
        if suspects:
            # Entries from here on are found in the batches; the file may still have some of an older life.
            leader_epochs.truncate_from_end(max(suspects[0].base_offset, 1))
        for number, segment in enumerate(suspects):
            recovered = self._recover_segment(segment, segments, leader_epochs, snapshots)
            later = suspects[number + 1 :]
            if later and (recovered.bytes_cut or self._is_gap(recovered, later[0])):
                for lost in later:
                    _logger.warning("removing %s: the log was truncated before it", lost.path(names.LOG))
                    self._drop(lost, segments, snapshots)
                self.environment.fs.sync_dir(self.directory)
                break
            if later:
                segment.write_indexes(sync=False)

    def _is_gap(self, recovered: RecoveredSegment, following: Segment) -> bool:
        """Whether the end of a segment never reached the disk although the next one did.

        Compaction leaves gaps, too, so a compacted log keeps what is behind one.
        """
        return (
            self.recovery_point <= recovered.next_offset < following.base_offset
            and not self.config.cleanup_compact
            and not recovered.was_compacted
        )

    def _recover_segment(
        self,
        segment: Segment,
        segments: Segments,
        leader_epochs: LeaderEpochs,
        snapshots: ProducerSnapshots,
    ) -> RecoveredSegment:
        producers = ProducerStates(self.environment.producer_expiration_ms)
        before = Segments()
        for earlier in segments:
            if earlier.base_offset < segment.base_offset:
                before.add(earlier)
        if len(before):
            rebuild_producers(
                producers,
                snapshots,
                before,
                self.log_start_offset,
                segment.base_offset,
                self.environment.clock.now_ms(),
                clean=False,
            )
        producers.end_offset = segment.base_offset
        recovered = recover_segment(segment, producers, leader_epochs)
        snapshots.retake(producers)
        return recovered

    def _drop(self, segment: Segment, segments: Segments, snapshots: ProducerSnapshots) -> None:
        segments.remove(segment)
        for path in segment.paths():
            self.environment.fs.unlink(path)
        snapshots.remove(segment.base_offset)

    def _end_of(self, segments: Segments, leader_epochs: LeaderEpochs, snapshots: ProducerSnapshots) -> int:
        log_end_offset = self._end_of_active(segments.active) if len(segments) else None
        if log_end_offset is not None and log_end_offset < self.log_start_offset:
            if segments.size:
                self._distrust_log_start(log_end_offset)
                return log_end_offset
            for segment in segments:
                self._drop(segment, segments, snapshots)
            leader_epochs.clear()
            snapshots.remove_all()
            log_end_offset = None
        if log_end_offset is None:
            segments.add(create_segment(self.directory, self.log_start_offset, self.config, self.environment))
            return self.log_start_offset
        return log_end_offset

    def _end_of_active(self, active: Segment) -> int:
        """Where the last batch ends. What is behind it was preallocated, or is damage: it is cut."""
        next_offset, size = active.find_end()
        if size < active.size:
            _logger.warning(
                "cutting the last %d bytes of %s at %d: no whole batch",
                active.size - size,
                active.path(names.LOG),
                size,
            )
            active.cut(size)
            active.rebuild_indexes()
        return next_offset

    def _distrust_log_start(self, log_end_offset: int) -> None:
        """The entry is of an earlier log of this name, or the records above it were lost with the power.

        Apache Kafka deletes the segments. In the first case that loses acknowledged records; in the second
        keeping them shows some that were deleted. They are kept.
        """
        _logger.warning(
            "%s ends at %d, before its log start %d: the checkpoint is ignored and the records are kept",
            self.directory,
            log_end_offset,
            self.log_start_offset,
        )
        self.log_start_offset = 0


def _snapshot_offsets(found: list[str]) -> list[int]:
    return [offset_in(name) for name in found if name.endswith(names.SNAPSHOT)]
