"""What of a log is cleaned, and when."""

import dataclasses
from dataclasses import dataclass

import pytest

from barnabas.base.config.log_config import LogConfig
from barnabas.storage.cleaning.cleanable import CleanableRange, find_cleanable, valid_first_dirty_offset

CONFIG = LogConfig(cleanup_compact=True, cleanup_delete=False, min_cleanable_dirty_ratio=0.5)
NOW = 1_000_000


@dataclass
class Segment:
    base_offset: int
    size: int = 100
    is_synced: bool = True
    largest_timestamp: int = 0
    first_batch_timestamp: int = -1


def find(*segments: Segment, config: LogConfig = CONFIG, dirty: int = 0, stable: int = 999) -> CleanableRange:
    return find_cleanable(segments, config, first_dirty_offset=dirty, last_stable_offset=stable, now_ms=NOW)


def test_active_segment_is_never_cleaned() -> None:
    found = find(Segment(0), Segment(10), Segment(20))
    assert (found.end_offset, found.clean_bytes, found.cleanable_bytes) == (20, 0, 200)
    assert find(Segment(0)).cleanable_bytes == 0


def test_nothing_is_dirty_when_the_checkpoint_is_at_the_active_segment() -> None:
    found = find(Segment(0), Segment(10), Segment(20), dirty=20)
    assert (found.clean_bytes, found.cleanable_bytes) == (200, 0)


def test_checkpoint_divides_clean_from_dirty() -> None:
    found = find(Segment(0, 300), Segment(10), Segment(20), dirty=10)
    assert (found.clean_bytes, found.cleanable_bytes, found.ratio) == (300, 100, 0.25)
    assert not found.is_worth_cleaning(CONFIG)
    assert found.is_worth_cleaning(dataclasses.replace(CONFIG, min_cleanable_dirty_ratio=0.2))


def test_segment_with_the_last_stable_offset_is_left_alone() -> None:
    assert find(Segment(0), Segment(10), Segment(20), stable=15).end_offset == 10


def test_segment_that_is_not_synced_is_left_alone() -> None:
    assert find(Segment(0), Segment(10, is_synced=False), Segment(20)).end_offset == 10


def test_records_younger_than_the_least_lag_are_left_alone() -> None:
    config = dataclasses.replace(CONFIG, min_compaction_lag_ms=1000)
    young = Segment(10, largest_timestamp=NOW - 999)
    assert find(Segment(0), young, Segment(20), config=config).end_offset == 10
    old = Segment(10, largest_timestamp=NOW - 1000)
    assert find(Segment(0), old, Segment(20), config=config).end_offset == 20


def test_records_older_than_the_greatest_lag_are_cleaned_whatever_the_ratio() -> None:
    config = dataclasses.replace(CONFIG, max_compaction_lag_ms=1000)
    clean = Segment(0, 10_000)
    overdue = find(clean, Segment(10, first_batch_timestamp=NOW - 1001), Segment(20), config=config, dirty=10)
    assert overdue.is_worth_cleaning(config)
    in_time = find(clean, Segment(10, first_batch_timestamp=NOW - 1000), Segment(20), config=config, dirty=10)
    assert not in_time.is_worth_cleaning(config)


@pytest.mark.parametrize(("checkpoint", "expected"), [(None, 5), (3, 5), (7, 7), (20, 20), (21, 5)])
def test_checkpoint_outside_of_the_log_counts_from_its_start(checkpoint: int | None, expected: int) -> None:
    assert valid_first_dirty_offset("t-0", checkpoint, CONFIG, 5, 20) == expected
