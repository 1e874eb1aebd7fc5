"""Retention by time does not delete by what a header claims alone."""

from collections.abc import Sequence

import pytest
from tests.unit.storage.support import NOW, MemoryLogs, batch

from barnabas.base.config.log_config import LogConfig
from barnabas.records.batch import HEADER_SIZE, LOG_APPEND_TIME, parse_header
from barnabas.records.builder import assemble, build_batch
from barnabas.records.compression import CODEC_NAMES, NONE
from barnabas.records.record import Record
from barnabas.storage import names
from barnabas.storage.log import Log

DAY = 86_400_000
WEEK = 7 * DAY


def lying(times: Sequence[int], codec: int = NONE, claimed: int | None = None) -> bytes:
    """A batch whose header claims the timestamp of its last record, or `claimed`, as its largest."""
    records = [Record(index, time, None, b"v") for index, time in enumerate(times)]
    true = build_batch(records, compression=codec)
    stated = times[-1] if claimed is None else claimed
    return assemble(parse_header(true)._replace(max_timestamp=stated), true[HEADER_SIZE:])


def between(codec: int = NONE) -> bytes:
    """A batch whose header claims the timestamp of its last record, and the one before it is later."""
    return lying((NOW - 9 * DAY, NOW - 1, NOW - 8 * DAY), codec)


def make_log(logs: MemoryLogs, *batches: bytes) -> Log:
    """A log with a segment for each batch, all written now, and an empty one behind them."""
    log = logs.create()
    for each in batches:
        log.append_as_leader(each, 0)
        logs.fs.set_modified_ms(log.segments.active.path(names.LOG), NOW)
        log.roll()
    log.maybe_update_high_watermark(log.log_end_offset)
    return log


def check(log: Log) -> None:
    """Run the check that retention waits for."""
    found = log.timestamp_check()
    assert found is not None
    found.run()
    found.apply()


@pytest.fixture
def logs() -> MemoryLogs:
    return MemoryLogs(LogConfig(retention_ms=WEEK))


def test_a_claim_of_old_records_in_a_young_file_is_not_enough(logs: MemoryLogs) -> None:
    log = make_log(logs, batch(timestamp=NOW - 8 * DAY))
    assert log.delete_old_segments() == 0
    check(log)
    assert log.delete_old_segments() == 1
    assert log.timestamp_check() is None


@pytest.mark.parametrize("codec", range(len(CODEC_NAMES)))
def test_a_record_that_is_younger_than_its_header_claims_is_kept(logs: MemoryLogs, codec: int) -> None:
    log = make_log(logs, between(codec))
    check(log)
    assert log.delete_old_segments() == 0
    assert log.timestamp_check() is None
    logs.clock.advance(8 * DAY)
    assert log.delete_old_segments() == 1


def test_records_behind_a_young_one_are_looked_at_too(logs: MemoryLogs) -> None:
    first = lying([NOW - 9 * DAY, NOW - DAY, NOW - 8 * DAY])
    log = logs.create()
    log.append_as_leader(first, 0)
    log.append_as_leader(between(), 0)
    logs.fs.set_modified_ms(log.segments.active.path(names.LOG), NOW)
    log.maybe_update_high_watermark(log.log_end_offset)
    check(log)
    logs.clock.advance(WEEK - DAY // 2)  # the first batch is too old now, the second is not
    assert log.delete_old_segments() == 0
    logs.clock.advance(DAY)
    assert log.delete_old_segments() == 1


def test_a_claim_of_younger_records_than_there_are_does_not_keep_them(logs: MemoryLogs) -> None:
    log = make_log(logs, lying([NOW - 2, NOW - 1], claimed=NOW + 1_800_000))
    logs.clock.advance(WEEK)
    assert log.timestamp_check() is None  # the file is not too old yet
    logs.clock.advance(1)
    assert log.delete_old_segments() == 0
    check(log)
    assert log.delete_old_segments() == 1


def test_records_from_the_future_are_kept_until_they_are_old(logs: MemoryLogs) -> None:
    log = make_log(logs, batch(timestamp=NOW + 1_800_000))
    logs.clock.advance(WEEK + 1)
    check(log)
    assert log.delete_old_segments() == 0
    assert log.timestamp_check() is None
    logs.clock.advance(1_800_000)
    assert log.delete_old_segments() == 1


def test_an_old_file_needs_no_check(logs: MemoryLogs) -> None:
    log = make_log(logs, batch(timestamp=NOW - 8 * DAY))
    logs.clock.advance(8 * DAY)
    assert log.delete_old_segments() == 1


def test_the_check_goes_on_with_the_next_segment(logs: MemoryLogs) -> None:
    log = make_log(logs, batch(timestamp=NOW - 9 * DAY), batch(timestamp=NOW - 8 * DAY), between())
    for expected in (1, 1, 0):
        check(log)
        assert log.delete_old_segments() == expected
    assert (log.log_start_offset, log.timestamp_check()) == (2, None)


def test_records_appended_later_are_not_covered_by_a_check(logs: MemoryLogs) -> None:
    log = logs.create()
    log.append_as_leader(batch(timestamp=NOW - 8 * DAY), 0)
    log.maybe_update_high_watermark(1)
    logs.fs.set_modified_ms(log.segments.active.path(names.LOG), NOW)
    found = log.timestamp_check()
    assert found is not None
    log.append_as_leader(batch(timestamp=NOW - 8 * DAY), 0)
    log.maybe_update_high_watermark(2)
    logs.fs.set_modified_ms(log.segments.active.path(names.LOG), NOW)
    found.run()
    found.apply()
    assert log.delete_old_segments() == 0


def test_a_batch_that_cannot_be_read_is_as_young_as_its_file(logs: MemoryLogs) -> None:
    unreadable = assemble(parse_header(batch(timestamp=NOW - 8 * DAY)), b"\x7f" * 20)
    log = make_log(logs, unreadable)
    check(log)
    assert log.delete_old_segments() == 0
    logs.clock.advance(WEEK + 1)
    assert log.delete_old_segments() == 1


def test_an_append_time_is_the_brokers_own(logs: MemoryLogs) -> None:
    stamped = build_batch(
        [Record(0, NOW, None, b"v")], timestamp_type=LOG_APPEND_TIME, log_append_time=NOW - 8 * DAY
    )
    log = logs.create()
    log.append_as_follower(stamped)
    logs.fs.set_modified_ms(log.segments.active.path(names.LOG), NOW)
    log.roll()
    log.maybe_update_high_watermark(1)
    check(log)
    assert log.delete_old_segments() == 1


def test_an_abandoned_check_finds_nothing(logs: MemoryLogs) -> None:
    log = make_log(logs, build_batch([Record(i, NOW - 8 * DAY, None, b"v") for i in range(3000)]))
    found = log.timestamp_check()
    assert found is not None
    found.abandon()
    found.run()
    found.apply()
    assert log.delete_old_segments() == 0
