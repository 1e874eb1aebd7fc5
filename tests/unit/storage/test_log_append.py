import errno
from dataclasses import replace

import pytest
from tests.unit.storage.support import (
    NOW,
    MemoryLogs,
    assert_consistent,
    batch,
    marker,
    read_batches,
    read_records,
)

from barnabas.base.config.log_config import LogConfig
from barnabas.base.errors import CorruptMessage, InvalidRecord, RecordListTooLarge, StorageError
from barnabas.base.ids import TopicPartition
from barnabas.records.batch import BatchHeader
from barnabas.records.record import decode_records
from barnabas.storage.append_info import AppendOrigin


def headers(memory: MemoryLogs, *, recovery_point: int = 0) -> list[BatchHeader]:
    return [header for header, _ in read_batches(memory.open(clean=False, recovery_point=recovery_point))]


def test_offsets_follow_each_other_and_the_leader_epoch_is_stamped() -> None:
    log = MemoryLogs().create()
    first = log.append_as_leader(batch(3), 5)
    second = log.append_as_leader(batch(2), 6)
    assert (first.base_offset, first.last_offset, second.base_offset, second.last_offset) == (0, 2, 3, 4)
    assert [(h.base_offset, h.partition_leader_epoch) for h, _ in read_batches(log)] == [(0, 5), (3, 6)]
    assert (first.leader_epoch_changed, second.leader_epoch_changed) == (True, True)
    assert log.leader_epochs.entries == [(5, 0), (6, 3)]
    assert log.log_end_offset == 5


def test_the_bytes_behind_the_first_sixteen_are_stored_as_they_came() -> None:
    log = MemoryLogs().create()
    data = batch(3)
    log.append_as_leader(batch(1), 0)
    log.append_as_leader(memoryview(data), 7)
    assert read_batches(log)[1][1][16:] == data[16:]


def test_an_append_is_one_write() -> None:
    memory = MemoryLogs()
    log = memory.create()
    before = memory.fs.writes
    log.append_as_leader(batch(3), 0)
    assert memory.fs.writes == before + 1


def test_a_repeated_batch_is_answered_with_its_first_offset() -> None:
    log = MemoryLogs().create()
    log.append_as_leader(batch(1), 0)
    data = batch(2, pid=7, sequence=0)
    first = log.append_as_leader(data, 0)
    again = log.append_as_leader(data, 0)
    assert (again.base_offset, again.last_offset, again.duplicate) == (
        first.base_offset,
        first.last_offset,
        True,
    )
    assert log.log_end_offset == 3


def test_a_repetition_is_recognised_after_a_clean_stop_and_after_a_crash() -> None:
    memory = MemoryLogs()
    log = memory.create()
    data = batch(2, pid=7, sequence=0)
    log.append_as_leader(data, 0)
    log.close()
    log = memory.open(clean=True)
    assert log.append_as_leader(data, 0).duplicate
    log.append_as_leader(batch(1, pid=7, sequence=2), 0)
    log.close(clean=False)
    log = memory.open(clean=False)
    assert log.append_as_leader(batch(1, pid=7, sequence=2), 0).duplicate
    assert log.append_as_leader(batch(1, pid=7, sequence=3), 0).base_offset == 3


def test_log_append_time_is_given_back_and_stored() -> None:
    memory = MemoryLogs(LogConfig(message_timestamp_type="LogAppendTime"))
    log = memory.create()
    memory.clock.advance(5000)
    info = log.append_as_leader(batch(2, timestamp=NOW), 0)
    assert info.log_append_time == NOW + 5000
    assert [record.timestamp for record in read_records(log)] == [NOW + 5000] * 2


def test_create_time_has_no_log_append_time() -> None:
    assert MemoryLogs().create().append_as_leader(batch(), 0).log_append_time == -1


def test_a_changed_configuration_counts_at_once() -> None:
    log = MemoryLogs().create()
    log.config = replace(log.config, compression_type="gzip")
    log.append_as_leader(batch(2), 0)
    assert read_batches(log)[0][0].compression == 1


def test_a_wrong_checksum_leaves_no_trace() -> None:
    memory = MemoryLogs()
    log = memory.create()
    data = bytearray(batch(2))
    data[-1] ^= 1
    with pytest.raises(CorruptMessage):
        log.append_as_leader(data, 0)
    assert (log.log_end_offset, log.size, memory.failures) == (0, 0, [])


def test_a_batch_larger_than_a_segment_is_refused() -> None:
    log = MemoryLogs(LogConfig(segment_bytes=500)).create()
    with pytest.raises(RecordListTooLarge):
        log.append_as_leader(batch(1, size=600), 0)


def test_a_control_batch_is_the_coordinators_to_write() -> None:
    log = MemoryLogs().create()
    with pytest.raises(InvalidRecord):
        log.append_as_leader(marker(7, commit=True), 0)
    log.append_as_leader(marker(7, commit=True), 0, origin=AppendOrigin.COORDINATOR)
    assert log.log_end_offset == 1


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EIO])
@pytest.mark.parametrize("partial_bytes", [0, 1, 40, 70])
def test_a_failing_disk_makes_nothing_visible_and_takes_the_log_offline(
    error: int, partial_bytes: int
) -> None:
    memory = MemoryLogs()
    log = memory.create()
    log.append_as_leader(batch(2, pid=7, sequence=0), 0)
    memory.fs.fail_write(0, error=error, partial_bytes=partial_bytes)
    with pytest.raises(StorageError):
        log.append_as_leader(batch(2, pid=7, sequence=2), 1)
    assert (log.log_end_offset, log.producers.entries[7].last_sequence) == (2, 1)
    assert [failure.errno for failure in memory.failures] == [error]
    with pytest.raises(StorageError):
        log.append_as_leader(batch(), 0)
    with pytest.raises(StorageError):
        log.read(0, 100, up_to=2)
    memory.fs.heal()
    assert [header.last_offset for header in headers(memory)] == [1]


def test_a_follower_keeps_the_leaders_offsets_and_epochs() -> None:
    leader, follower = MemoryLogs().create(), MemoryLogs().create(TopicPartition("copy", 0))
    for epoch in (0, 0, 2):
        leader.append_as_leader(batch(2, pid=7, sequence=leader.log_end_offset), epoch)
    part = leader.read(0, 1 << 20, up_to=6)
    assert part is not None
    info = follower.append_as_follower(part.read() + batch(1)[:-5])
    assert info is not None
    assert (info.base_offset, info.last_offset) == (0, 5)
    assert read_batches(follower) == read_batches(leader)
    assert follower.leader_epochs.entries == [(0, 0), (2, 4)]
    assert_consistent(follower)


def test_a_follower_refuses_offsets_it_has_and_bytes_it_cannot_trust() -> None:
    log = MemoryLogs().create()
    data = batch(2)
    log.append_as_follower(data)
    with pytest.raises(InvalidRecord):
        log.append_as_follower(data)
    broken = bytearray(b"\x00" * 7 + b"\x02" + data[8:])
    broken[-1] ^= 1
    with pytest.raises(CorruptMessage):
        log.append_as_follower(broken)
    assert log.append_as_follower(data[:30]) is None
    assert log.log_end_offset == 2


def test_a_follower_may_skip_offsets_that_the_leader_no_longer_has() -> None:
    log = MemoryLogs().create()
    log.append_as_follower((1 << 40).to_bytes(8, "big") + batch(2)[8:])
    assert log.log_end_offset == (1 << 40) + 2
    assert log.segments.active.base_offset == 1 << 40
    assert [record.offset for record in read_records(log)] == [1 << 40, (1 << 40) + 1]


def test_markers_move_the_last_stable_offset_and_fill_the_abort_index() -> None:
    log = MemoryLogs().create()
    for pid, commit in ((7, False), (8, True)):
        log.append_as_leader(batch(2, pid=pid, sequence=0, transactional=True), 0)
        log.maybe_update_high_watermark(log.log_end_offset)
        assert log.last_stable_offset == log.log_end_offset - 2
        log.append_as_leader(marker(pid, commit=commit), 0, origin=AppendOrigin.COORDINATOR)
        log.maybe_update_high_watermark(log.log_end_offset)
        assert log.last_stable_offset == log.log_end_offset
    assert [
        (txn.producer_id, txn.first_offset, txn.last_offset) for txn in log.aborted_transactions(0, 6)
    ] == [(7, 0, 2)]
    assert log.aborted_transactions(3, 6) == []


def test_a_log_holds_back_nothing_above_the_high_watermark() -> None:
    log = MemoryLogs().create()
    log.append_as_leader(batch(3), 0)
    assert log.last_stable_offset == 0
    assert log.maybe_update_high_watermark(99)
    assert not log.maybe_update_high_watermark(3)
    assert (log.high_watermark, log.last_stable_offset) == (3, 3)


def test_last_stable_offset_is_never_below_the_log_start() -> None:
    log = MemoryLogs().create()
    log.append_as_leader(batch(3, pid=7, sequence=0, transactional=True), 0)
    log.maybe_update_high_watermark(3)

    log.delete_records_before(2)

    assert log.last_stable_offset == 2


def test_records_can_be_decoded_from_a_slice() -> None:
    log = MemoryLogs().create()
    log.append_as_leader(batch(2), 0)
    part = log.read(1, 1000, up_to=2)
    assert part is not None
    assert [record.offset for record in decode_records(part.read())] == [0, 1]
