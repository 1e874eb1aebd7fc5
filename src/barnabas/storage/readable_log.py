"""The reading half of a log: its state, and everything that changes none of it.

`Log` adds the writing half. Reads go through the page cache of the system; a slice is a file range, not
bytes.
"""

import functools
import logging
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from barnabas.base.config.log_config import LogConfig
from barnabas.base.descriptors import is_shortage
from barnabas.base.errors import OffsetOutOfRange, StorageBusy, StorageError
from barnabas.base.ids import TopicPartition
from barnabas.base.steps import at_once
from barnabas.records.validation_policy import ValidationPolicy
from barnabas.storage.environment import LogEnvironment
from barnabas.storage.flush_planner import FlushPlanner
from barnabas.storage.leader_epochs import LeaderEpochs
from barnabas.storage.local_log import LocalLog
from barnabas.storage.log_reader import LogReader
from barnabas.storage.log_slice import LogSlice
from barnabas.storage.producer_snapshots import ProducerSnapshots
from barnabas.storage.producer_state import ProducerStates
from barnabas.storage.retention import find_unchecked
from barnabas.storage.segments import Segments
from barnabas.storage.timestamp_check import TimestampCheck
from barnabas.storage.timestamp_lookup import Search, TimestampLookup, TimestampOffset
from barnabas.storage.txn_index import AbortedTxn

_logger = logging.getLogger(__name__)


@dataclass(slots=True)
class LogParts:
    """What loading a log from its files gives."""

    segments: Segments
    producers: ProducerStates
    snapshots: ProducerSnapshots
    leader_epochs: LeaderEpochs
    topic_id: UUID | None
    log_start_offset: int
    log_end_offset: int
    recovery_point: int
    is_durable: bool
    """The directory's own name and its `partition.metadata` are known to be on disk."""


class ReadableLog:
    def __init__(
        self,
        directory: Path,
        topic_partition: TopicPartition,
        config: LogConfig,
        environment: LogEnvironment,
        parts: LogParts,
    ) -> None:
        self.directory: Path = directory
        self.topic_partition: TopicPartition = topic_partition
        self.topic_id: UUID | None = parts.topic_id
        self.log_start_offset: int = parts.log_start_offset
        self.log_end_offset: int = parts.log_end_offset
        self.high_watermark: int = parts.log_start_offset
        self.producers: ProducerStates = parts.producers
        self.leader_epochs: LeaderEpochs = parts.leader_epochs
        self.segments: Segments = parts.segments
        self.is_offline: bool = False
        self.is_closed: bool = False
        self.is_being_cleaned: bool = False
        """Its sealed segments are being compacted: retention waits."""

        self._environment: LogEnvironment = environment
        self._snapshots: ProducerSnapshots = parts.snapshots
        self._local: LocalLog = LocalLog(directory, parts.segments, environment)
        self._reader: LogReader = LogReader(parts.segments, environment.open_segments)
        self._flush_planner: FlushPlanner = FlushPlanner(
            environment.fs,
            self._local,
            parts.leader_epochs,
            parts.snapshots,
            parts.recovery_point,
            environment.clock.now_ms(),
            is_durable=parts.is_durable,
        )
        self.config = config

    @property
    def config(self) -> LogConfig:
        return self._config

    @config.setter
    def config(self, config: LogConfig) -> None:
        self._config: LogConfig = config
        self._policy: ValidationPolicy = _policy_of(config)

    @property
    def size(self) -> int:
        return self.segments.size

    @property
    def recovery_point(self) -> int:
        return self._flush_planner.recovery_point

    @property
    def generation(self) -> int:
        """Changes whenever the log is truncated."""
        return self._flush_planner.generation

    @property
    def is_busy(self) -> bool:
        """A thread works on its files: it cannot be closed."""
        return self.is_being_cleaned or self._flush_planner.is_flushing

    @property
    def last_stable_offset(self) -> int:
        """Never below the log start, which may have passed the beginning of an open transaction."""
        unstable = self.producers.first_unstable_offset
        if unstable is None:
            return self.high_watermark
        return min(self.high_watermark, max(unstable, self.log_start_offset))

    # ---- reading

    def read(self, offset: int, max_bytes: int, *, up_to: int, min_one_batch: bool = True) -> LogSlice | None:
        """The file range with `offset` and what follows below `up_to`; None if there is nothing yet."""
        if self.is_offline:
            raise self._refusal()
        if not self.log_start_offset <= offset <= self.log_end_offset:
            raise OffsetOutOfRange(
                f"offset {offset} is not within [{self.log_start_offset}, {self.log_end_offset}] of "
                f"{self.topic_partition}"
            )
        if offset >= up_to:
            return None
        try:
            return self._reader.read(offset, max_bytes, up_to, self.log_end_offset, min_one_batch)
        except OSError as error:
            raise self._failure("reading", error) from error

    def aborted_transactions(self, start: int, end: int) -> list[AbortedTxn]:
        """Aborted transactions with records in [start, end)."""
        found: list[AbortedTxn] = []
        for segment in self.segments.from_offset(start):
            entries, complete = segment.txn_index.collect(start, end)
            found += entries
            if complete:
                break
        return found

    def offset_for_timestamp(self, timestamp: int) -> TimestampOffset | None:
        """The first record at or after `timestamp`."""
        return at_once(self.search_timestamp(timestamp))

    def offset_of_max_timestamp(self) -> TimestampOffset | None:
        """The first record with the largest timestamp."""
        return at_once(self.search_max_timestamp())

    def search_timestamp(self, timestamp: int) -> Search:
        """The same as `offset_for_timestamp`, in steps."""
        return self._search(self._lookup().find(timestamp, self.log_start_offset))

    def search_max_timestamp(self) -> Search:
        """The same as `offset_of_max_timestamp`, in steps."""
        return self._search(self._lookup().find_largest())

    def _lookup(self) -> TimestampLookup:
        cache, limit = self._environment.open_segments, self._policy.unpacked_limit
        return TimestampLookup(self.segments, cache, limit, self._check_usable)

    def _search(self, search: Search) -> Search:
        self._check_usable()
        try:
            return (yield from search)
        except OSError as error:
            raise self._failure("searching", error) from error

    def _check_usable(self) -> None:
        if self.is_offline or self.is_closed:
            raise self._refusal()

    def end_offset_for_epoch(self, epoch: int) -> tuple[int, int] | None:
        """(epoch, end offset) for the largest epoch up to the requested one; None if that is not known."""
        return self.leader_epochs.end_offset_for(epoch, self.log_end_offset)

    def timestamp_check(self) -> TimestampCheck | None:
        """What has to be run, in a thread, before retention can delete the next segment by its time."""
        if self.is_being_cleaned or self.is_offline or self.is_closed:
            return None
        try:
            segment = find_unchecked(list(self.segments), self._config, **self._retention_bounds())
            if segment is None:
                return None
            return TimestampCheck(segment, self._policy.unpacked_limit)
        except OSError as error:
            raise self._failure("looking for old segments of", error) from error

    def _retention_bounds(self) -> dict[str, int]:
        return {
            "log_start_offset": self.log_start_offset,
            "high_watermark": self.high_watermark,
            "log_end_offset": self.log_end_offset,
            "now_ms": self._environment.clock.now_ms(),
        }

    # ---- a failing disk

    def take_offline(self) -> None:
        """The directory failed, here or under another log: refuse everything from now on."""
        self.is_offline = True

    def _failure(self, action: str, error: OSError, *, is_half_done: bool = False) -> StorageError:
        """What to raise: the directory goes offline, unless only descriptors were short.

        An operation that `is_half_done` leaves the log in a state that no request may meet: the log is
        refused until the next start, whatever the reason.
        """
        _logger.error("%s %s failed: %s", action, self.directory, error)
        if is_shortage(error) and not is_half_done:
            return StorageBusy(f"{action} {self.topic_partition} failed: {error}")
        self.take_offline()
        if not is_shortage(error):
            self._environment.on_failure(error)
        return StorageError(f"{action} {self.topic_partition} failed: {error}")

    def _refusal(self) -> StorageError:
        state = "is closed" if self.is_closed else "is in a log directory that is offline"
        return StorageError(f"the log of {self.topic_partition} {state}")


@functools.lru_cache(maxsize=256)
def _policy_of(config: LogConfig) -> ValidationPolicy:
    return ValidationPolicy(
        compression_type=config.compression_type,
        gzip_level=config.compression_gzip_level,
        lz4_level=config.compression_lz4_level,
        zstd_level=config.compression_zstd_level,
        timestamp_type=config.message_timestamp_type,
        before_max_ms=config.message_timestamp_before_max_ms,
        after_max_ms=config.message_timestamp_after_max_ms,
        max_message_bytes=config.max_message_bytes,
        compact=config.cleanup_compact,
    )
