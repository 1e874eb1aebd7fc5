from dataclasses import dataclass, replace

import pytest

from barnabas.base.config.log_config import LogConfig
from barnabas.storage.retention import count_deletable

KEEP_ALL = LogConfig(retention_ms=-1, retention_bytes=-1)


@dataclass(frozen=True)
class Facts:
    base_offset: int
    size: int
    largest_timestamp: int
    is_timestamp_checked: bool = True
    modified_ms: int = 0


SEGMENTS = [Facts(0, 100, 1000), Facts(10, 100, 2000), Facts(20, 100, 3000), Facts(30, 50, 4000)]


def count(config: LogConfig, *, start: int = 0, high_watermark: int = 40, now_ms: int = 5000) -> int:
    return count_deletable(
        SEGMENTS,
        config,
        log_start_offset=start,
        high_watermark=high_watermark,
        log_end_offset=40,
        now_ms=now_ms,
    )


def test_nothing_goes_without_a_limit() -> None:
    assert count(KEEP_ALL) == 0


@pytest.mark.parametrize(
    ("limit", "expected"), [(350, 0), (251, 0), (250, 1), (150, 2), (149, 2), (50, 3), (0, 4)]
)
def test_by_size_the_log_keeps_at_least_the_limit(limit: int, expected: int) -> None:
    assert count(replace(KEEP_ALL, retention_bytes=limit)) == expected


@pytest.mark.parametrize(("limit", "expected"), [(4000, 0), (3999, 1), (2999, 2), (999, 4), (1000, 3)])
def test_by_time_a_segment_goes_when_its_youngest_record_is_too_old(limit: int, expected: int) -> None:
    assert count(replace(KEEP_ALL, retention_ms=limit)) == expected


@pytest.mark.parametrize(("start", "expected"), [(9, 0), (10, 1), (29, 2), (30, 3), (40, 3)])
def test_segments_below_the_log_start_go_but_never_the_last(start: int, expected: int) -> None:
    assert count(KEEP_ALL, start=start) == expected


def test_nothing_at_or_above_the_high_watermark_goes() -> None:
    assert count(replace(KEEP_ALL, retention_ms=0), high_watermark=29) == 2


def test_a_young_segment_keeps_the_older_behind_it() -> None:
    young_first = [Facts(0, 100, 9000), *SEGMENTS[1:]]
    config = replace(KEEP_ALL, retention_ms=1)
    assert (
        count_deletable(
            young_first, config, log_start_offset=0, high_watermark=40, log_end_offset=40, now_ms=5000
        )
        == 0
    )


def test_an_empty_last_segment_stays() -> None:
    empty_last = [*SEGMENTS[:3], Facts(40, 0, 0)]
    config = replace(KEEP_ALL, retention_ms=0)
    assert (
        count_deletable(
            empty_last, config, log_start_offset=0, high_watermark=40, log_end_offset=40, now_ms=5000
        )
        == 3
    )


def test_a_compacted_log_loses_only_what_is_below_its_start() -> None:
    config = LogConfig(retention_ms=0, retention_bytes=0, cleanup_delete=False, cleanup_compact=True)
    assert count(config, start=10) == 1
