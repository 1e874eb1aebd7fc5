"""Which segments a log no longer keeps. A pure decision over what the segments say of themselves.

Segments are judged from the oldest on, and the first that stays keeps all later ones. In this order, each
over what the one before it left: those wholly below the log start offset; with `cleanup.policy=delete` also
those by whose removal the log still holds `retention.bytes`, then those whose largest timestamp is older
than `retention.ms`. Nothing at or above the high watermark goes. All segments may go if the last one has
records: a new, empty one follows.

The largest timestamp of a segment is what the headers of its batches claim, and producers wrote those. So
no segment goes by a claim alone: either its file is older than `retention.ms` too, or its records were
looked at (`timestamp_check`). `find_unchecked` names the segment that stays for want of that, and one that
stays although its file is old: a produced header is believed up to an hour ahead of the clock.
"""

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from barnabas.base.config.log_config import LogConfig


class Judged(Protocol):
    @property
    def base_offset(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def largest_timestamp(self) -> int: ...
    @property
    def is_timestamp_checked(self) -> bool: ...
    @property
    def modified_ms(self) -> int: ...


_S = TypeVar("_S", bound=Judged)
_BELIEVED_AHEAD_MS = 3_600_000
"""Later claims than that, counted from the append, were compared with the records when they were produced."""


def count_deletable(
    segments: Sequence[Judged],
    config: LogConfig,
    *,
    log_start_offset: int,
    high_watermark: int,
    log_end_offset: int,
    now_ms: int,
) -> int:
    """How many of the oldest segments are to be deleted."""
    bounds = [segment.base_offset for segment in segments[1:]] + [log_end_offset]

    def extend(count: int, is_deletable: Callable[[int], bool]) -> int:
        while (
            count < len(segments)
            and bounds[count] <= high_watermark
            and not (count == len(segments) - 1 and segments[count].size == 0)
            and is_deletable(count)
        ):
            count += 1
        return count

    count = extend(0, lambda i: i + 1 < len(segments) and bounds[i] <= log_start_offset)
    if not config.cleanup_delete:
        return count
    if config.retention_bytes >= 0:
        surplus = sum(segment.size for segment in segments[count:]) - config.retention_bytes
        start = count

        def is_surplus(i: int) -> bool:
            return surplus - sum(segment.size for segment in segments[start : i + 1]) >= 0

        count = extend(count, is_surplus)
    if config.retention_ms >= 0:
        count = extend(count, lambda i: _is_expired(segments[i], now_ms - config.retention_ms))
    return count


def _is_expired(segment: Judged, oldest_ms: int) -> bool:
    return segment.largest_timestamp < oldest_ms and (
        segment.is_timestamp_checked or segment.modified_ms < oldest_ms
    )


def find_unchecked(
    segments: Sequence[_S],
    config: LogConfig,
    *,
    log_start_offset: int,
    high_watermark: int,
    log_end_offset: int,
    now_ms: int,
) -> _S | None:
    """The oldest segment that stays only because its records were not looked at."""
    count = count_deletable(
        segments,
        config,
        log_start_offset=log_start_offset,
        high_watermark=high_watermark,
        log_end_offset=log_end_offset,
        now_ms=now_ms,
    )
    if count == len(segments) or not config.cleanup_delete or config.retention_ms < 0:
        return None
    segment = segments[count]
    end = segments[count + 1].base_offset if count + 1 < len(segments) else log_end_offset
    if end > high_watermark or segment.size == 0 or segment.is_timestamp_checked:
        return None
    return segment if _is_doubtful(segment, now_ms - config.retention_ms) else None


def _is_doubtful(segment: Judged, oldest_ms: int) -> bool:
    """Whether the claim and the file's age disagree, so that the records decide."""
    claimed = segment.largest_timestamp
    if claimed < oldest_ms:
        return True
    modified_ms = segment.modified_ms
    return modified_ms < oldest_ms and claimed <= modified_ms + _BELIEVED_AHEAD_MS
