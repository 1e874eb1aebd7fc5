"""Truncation, retention, deletion of records, flushing and closing."""

import errno
from dataclasses import replace

import pytest
from tests.unit.storage.support import (
    NOW,
    ROOT,
    MemoryLogs,
    assert_consistent,
    batch,
    read_batches,
    read_records,
)

from barnabas.base.config.log_config import LogConfig
from barnabas.base.errors import InconsistentTopicId, OffsetOutOfRange, StorageError
from barnabas.base.ids import random_uuid
from barnabas.storage.deleted_files import DeletedFiles
from barnabas.storage.log import Log

CONFIG = LogConfig(segment_bytes=500, index_interval_bytes=100, retention_ms=-1)


def filled(memory: MemoryLogs, count: int = 30) -> Log:
    log = memory.create()
    for number in range(count):
        log.append_as_leader(
            batch(1 + number % 3, pid=7, sequence=log.log_end_offset, timestamp=NOW + number), number // 5
        )
    log.maybe_update_high_watermark(log.log_end_offset)
    return log


def is_due(log: Log) -> bool:
    return log.flush_due


@pytest.fixture
def memory() -> MemoryLogs:
    return MemoryLogs(CONFIG)


def test_truncation_at_every_batch_leaves_a_log_that_goes_on(memory: MemoryLogs) -> None:
    log = filled(memory)
    boundaries = [header.base_offset for header, _ in read_batches(log)]
    for offset in reversed(boundaries):
        expected = [record for record in read_records(log) if record.offset < offset]
        assert log.truncate_to(offset)
        assert (log.log_end_offset, log.high_watermark) == (offset, offset)
        assert read_records(log) == expected
        assert_consistent(log)
    log.append_as_leader(batch(1), 9)
    assert_consistent(log)


def test_truncation_lowers_the_recovery_point_and_says_so(memory: MemoryLogs) -> None:
    reported: list[int] = []
    memory.environment.on_truncated = lambda: reported.append(log.recovery_point)
    log = filled(memory)
    log.flush()
    log.truncate_to(6)
    assert (log.recovery_point, reported) == (6, [6])


def test_truncation_beyond_the_end_does_nothing(memory: MemoryLogs) -> None:
    log = filled(memory, 3)
    assert not log.truncate_to(6)
    assert log.log_end_offset == 6


def test_truncation_below_the_first_segment_begins_anew(memory: MemoryLogs) -> None:
    log = filled(memory)
    log.delete_records_before(log.log_end_offset)
    log.delete_old_segments()
    log.truncate_to(3)
    assert (log.log_start_offset, log.log_end_offset, log.size, len(log.segments)) == (3, 3, 0, 1)
    assert log.append_as_leader(batch(1), 0).base_offset == 3


def test_a_log_can_begin_anew_anywhere(memory: MemoryLogs) -> None:
    log = filled(memory)
    log.truncate_fully_and_start_at(1000)
    assert (log.log_start_offset, log.log_end_offset, log.high_watermark) == (1000, 1000, 1000)
    assert (log.producers.entries, log.leader_epochs.entries) == ({}, [])
    log.append_as_leader(batch(2), 3)
    log.close()
    assert [record.offset for record in read_records(memory.open(clean=True))] == [1000, 1001]


def test_deleting_records_moves_the_start_and_files_follow(memory: MemoryLogs) -> None:
    log = filled(memory)
    bases = log.segments.base_offsets
    assert log.delete_records_before(bases[2] + 1) == bases[2] + 1
    assert log.delete_records_before(0) == bases[2] + 1
    assert log.segments.base_offsets == bases
    assert log.delete_old_segments() == 2
    assert log.segments.base_offsets == bases[2:]
    assert log.delete_records_before(-1) == log.high_watermark
    earliest = log.leader_epochs.earliest
    assert earliest is not None
    assert earliest.start_offset == log.high_watermark


@pytest.mark.parametrize("offset", [61, -2])
def test_records_above_the_high_watermark_cannot_be_deleted(memory: MemoryLogs, offset: int) -> None:
    log = filled(memory)
    with pytest.raises(OffsetOutOfRange):
        log.delete_records_before(offset)


def test_retention_by_time_may_take_all_and_leaves_an_empty_log(memory: MemoryLogs) -> None:
    log = filled(memory)
    end = log.log_end_offset
    log.config = replace(CONFIG, retention_ms=1000)
    assert log.delete_old_segments() == 0
    memory.clock.advance(2000)
    assert log.delete_old_segments() > 1
    assert (log.log_start_offset, log.log_end_offset, log.size, len(log.segments)) == (end, end, 0, 1)
    assert log.append_as_leader(batch(1, pid=7, sequence=end), 9).base_offset == end


def test_deleted_files_are_renamed_at_once_and_unlinked_later(memory: MemoryLogs) -> None:
    deleted: list[DeletedFiles] = []
    memory.environment.on_deleted = deleted.append
    log = filled(memory)
    log.flush()
    log.delete_records_before(log.log_end_offset)
    log.delete_old_segments()
    assert deleted[0].delay_ms == CONFIG.file_delete_delay_ms
    assert {path.name for path in deleted[0].paths} == {name for name in memory.names() if ".deleted" in name}
    assert all(path.name.endswith(".deleted") for path in deleted[0].paths)
    deleted[0].run()
    deleted[0].run()
    assert not [name for name in memory.names() if ".deleted" in name]


def test_a_deleted_log_is_renamed_and_refuses_work(memory: MemoryLogs) -> None:
    deleted: list[DeletedFiles] = []
    memory.environment.on_deleted = deleted.append
    log = filled(memory)
    log.delete()
    (name,) = memory.fs.listdir(ROOT)
    assert name.startswith("topic-0.")
    assert name.endswith("-delete")
    with pytest.raises(StorageError):
        log.append_as_leader(batch(1), 0)
    deleted[0].run()
    assert memory.fs.listdir(ROOT) == []


def test_a_flush_that_runs_while_its_log_is_deleted_is_no_failure(memory: MemoryLogs) -> None:
    log = filled(memory)
    plan = log.flush_plan()
    assert plan is not None
    log.delete()
    plan.run()
    assert memory.failures == []


def test_a_flush_counts_only_what_it_covered(memory: MemoryLogs) -> None:
    log = filled(memory, 3)
    plan = log.flush_plan()
    assert plan is not None
    assert log.flush_plan() is None
    log.append_as_leader(batch(1), 0)
    plan.run()
    log.flushed(plan)
    assert (log.recovery_point, log.log_end_offset) == (6, 7)


def test_a_flush_from_before_a_truncation_proves_nothing(memory: MemoryLogs) -> None:
    log = filled(memory, 3)
    plan = log.flush_plan()
    assert plan is not None
    log.truncate_to(1)
    log.append_as_leader(batch(5), 9)
    plan.run()
    log.flushed(plan)
    assert log.recovery_point == 0


def test_the_flush_policy_by_messages(memory: MemoryLogs) -> None:
    log = memory.create()
    log.config = LogConfig(flush_messages=3)
    log.append_as_leader(batch(2), 0)
    assert not is_due(log)
    log.append_as_leader(batch(1), 0)
    assert is_due(log)
    plan = log.due_flush_plan()
    assert plan is not None
    assert plan.up_to == 3
    assert not is_due(log)  # one is on its way
    plan.run()
    log.flushed(plan)
    assert log.due_flush_plan() is None


def test_the_flush_policy_by_time(memory: MemoryLogs) -> None:
    log = memory.create()
    log.config = LogConfig(flush_ms=1000)
    memory.clock.advance(5000)
    assert not is_due(log)
    log.append_as_leader(batch(2), 0)
    assert is_due(log)
    log.flush()
    memory.clock.advance(999)
    log.append_as_leader(batch(2), 0)
    assert not is_due(log)
    memory.clock.advance(1)
    assert is_due(log)


def test_a_failing_sync_moves_nothing_and_takes_the_log_offline(memory: MemoryLogs) -> None:
    log = filled(memory, 3)
    memory.fs.fail_sync(0)
    with pytest.raises(StorageError):
        log.flush()
    assert log.recovery_point == 0
    assert [failure.errno for failure in memory.failures] == [errno.EIO]
    with pytest.raises(StorageError):
        log.append_as_leader(batch(1), 0)


def test_a_full_disk_while_rolling_takes_the_log_offline(memory: MemoryLogs) -> None:
    log = filled(memory, 3)
    memory.fs.fail_write(0)
    with pytest.raises(StorageError):
        log.roll()
    assert len(memory.failures) == 1
    memory.fs.heal()
    assert memory.open(clean=False).log_end_offset == 6


def test_closing_twice_is_harmless(memory: MemoryLogs) -> None:
    log = filled(memory, 3)
    log.close()
    log.close()


def test_the_topic_id_is_given_once(memory: MemoryLogs) -> None:
    log = memory.create()
    topic_id = random_uuid()
    log.assign_topic_id(topic_id)
    log.assign_topic_id(topic_id)
    with pytest.raises(InconsistentTopicId):
        log.assign_topic_id(random_uuid())
    log.close()
    assert memory.open(clean=True).topic_id == topic_id
