"""What of a log can be cleaned, and whether it is worth it. A pure decision over what its segments say.

Offsets: below the first dirty offset every key has one record already (checkpointed after a cleaning); from
the first uncleanable offset on nothing is touched: the active segment, what is not yet stable or not yet
synced, and segments with a record that `min.compaction.lag.ms` still protects.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from barnabas.base.config.log_config import LONG_MAX, LogConfig

_logger = logging.getLogger(__name__)


class Candidate(Protocol):
    """A segment, opened or looked at from outside."""

    @property
    def base_offset(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def is_synced(self) -> bool: ...
    @property
    def largest_timestamp(self) -> int: ...
    @property
    def first_batch_timestamp(self) -> int: ...


@dataclass(frozen=True, slots=True)
class CleanableRange:
    first_dirty_offset: int
    end_offset: int
    """The base offset of the first segment that is left alone."""
    clean_bytes: int
    cleanable_bytes: int
    is_overdue: bool
    """`max.compaction.lag.ms` has passed for a record, whatever the ratio is."""

    @property
    def ratio(self) -> float:
        total = self.clean_bytes + self.cleanable_bytes
        return self.cleanable_bytes / total if total else 0.0

    def is_worth_cleaning(self, config: LogConfig) -> bool:
        if self.is_overdue and self.cleanable_bytes > 0:
            return True
        return self.ratio > config.min_cleanable_dirty_ratio


def find_cleanable(
    segments: Sequence[Candidate],
    config: LogConfig,
    *,
    first_dirty_offset: int,
    last_stable_offset: int,
    now_ms: int,
) -> CleanableRange:
    """What can be cleaned of a log with these segments, the active one last."""
    sealed = segments[:-1]
    dirty = sealed[_floor(segments, first_dirty_offset) :]
    bound = min(last_stable_offset, segments[-1].base_offset)
    for segment in dirty:
        is_too_young = (
            config.min_compaction_lag_ms > 0
            and segment.largest_timestamp > now_ms - config.min_compaction_lag_ms
        )
        if is_too_young or not segment.is_synced:
            bound = min(bound, segment.base_offset)
            break
    bound = max(bound, first_dirty_offset)
    end_offset = segments[_floor(segments, bound)].base_offset
    return CleanableRange(
        first_dirty_offset,
        end_offset,
        sum(segment.size for segment in segments if segment.base_offset < first_dirty_offset),
        sum(segment.size for segment in dirty if segment.base_offset < end_offset),
        _is_overdue(dirty, config, now_ms),
    )


def valid_first_dirty_offset(
    name: object, checkpoint: int | None, config: LogConfig, log_start_offset: int, log_end_offset: int
) -> int:
    """The checkpointed offset, or the log start if there is none or it cannot be right."""
    if checkpoint is None:
        return log_start_offset
    if checkpoint < log_start_offset:
        if not config.cleanup_delete:  # retention moves the start of a log that also deletes
            _logger.warning(
                "%s starts at %d: cleaning begins there, not at %d", name, log_start_offset, checkpoint
            )
        return log_start_offset
    if checkpoint > log_end_offset:
        _logger.warning(
            "%s was cleaned up to %d but ends at %d: all of it counts as dirty",
            name,
            checkpoint,
            log_end_offset,
        )
        return log_start_offset
    return checkpoint


def _floor(segments: Sequence[Candidate], offset: int) -> int:
    """The number of the segment that would hold `offset`."""
    number = 0
    while number + 1 < len(segments) and segments[number + 1].base_offset <= offset:
        number += 1
    return number


def _is_overdue(dirty: Sequence[Candidate], config: LogConfig, now_ms: int) -> bool:
    if config.max_compaction_lag_ms >= LONG_MAX:
        return False
    latest = now_ms - config.max_compaction_lag_ms
    return any(0 < segment.first_batch_timestamp < latest for segment in dirty)
