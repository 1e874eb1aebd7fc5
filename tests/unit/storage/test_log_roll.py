import pytest
from tests.unit.storage.support import NOW, MemoryLogs, assert_consistent, batch, read_records

from barnabas.base.config.log_config import LogConfig

SIZE = len(batch(1))


def bases(memory: MemoryLogs) -> list[int]:
    return [int(name[:20]) for name in memory.names() if name.endswith(".log")]


def test_by_size_a_segment_never_exceeds_its_limit() -> None:
    memory = MemoryLogs(LogConfig(segment_bytes=3 * SIZE))
    log = memory.create()
    rolled = [log.append_as_leader(batch(1), 0).rolled for _ in range(7)]
    assert rolled == [False, False, False, True, False, False, True]
    assert bases(memory) == [0, 3, 6]
    assert all(segment.size <= 3 * SIZE for segment in log.segments)


def test_by_time_the_first_batch_counts_not_the_clock() -> None:
    memory = MemoryLogs(LogConfig(segment_ms=1000))
    log = memory.create()
    log.append_as_leader(batch(1, timestamp=NOW), 0)
    memory.clock.advance(100_000)
    assert not log.append_as_leader(batch(1, timestamp=NOW + 1000), 0).rolled
    assert log.append_as_leader(batch(1, timestamp=NOW + 1001), 0).rolled


def test_by_time_the_clock_counts_for_batches_without_timestamps() -> None:
    memory = MemoryLogs(LogConfig(segment_ms=1000))
    log = memory.create()
    log.append_as_leader(batch(1, timestamp=-1), 0)
    memory.clock.advance(1000)
    assert not log.append_as_leader(batch(1, timestamp=-1), 0).rolled
    memory.clock.advance(1)
    assert log.append_as_leader(batch(1, timestamp=-1), 0).rolled


def test_the_age_of_a_segment_survives_a_restart() -> None:
    memory = MemoryLogs(LogConfig(segment_ms=1000))
    log = memory.create()
    log.append_as_leader(batch(1, timestamp=NOW), 0)
    log.close()
    assert memory.open(clean=True).append_as_leader(batch(1, timestamp=NOW + 1001), 0).rolled


def test_an_empty_segment_does_not_age() -> None:
    memory = MemoryLogs(LogConfig(segment_ms=1))
    log = memory.create()
    memory.clock.advance(1000)
    assert not log.append_as_leader(batch(1), 0).rolled


def test_a_full_index_ends_a_segment() -> None:
    memory = MemoryLogs(LogConfig(segment_index_bytes=48, index_interval_bytes=1))
    log = memory.create()
    for number in range(12):
        log.append_as_leader(batch(1, timestamp=NOW), 0)
        assert len(log.segments.active.index) <= 6, number
    assert bases(memory) == [0, 7]


def test_the_time_index_keeps_room_for_its_last_entry() -> None:
    memory = MemoryLogs(LogConfig(segment_index_bytes=36, index_interval_bytes=1))
    log = memory.create()
    for number in range(12):
        log.append_as_leader(batch(1, timestamp=NOW + number), 0)
    assert max(len(segment.time_index) for segment in log.segments) <= 3


def test_offsets_too_far_from_the_base_go_into_a_new_segment() -> None:
    memory = MemoryLogs()
    log = memory.create()
    log.append_as_follower(batch(1))
    log.append_as_follower((2**31 - 1).to_bytes(8, "big") + batch(1)[8:])
    log.append_as_follower((2**31).to_bytes(8, "big") + batch(1)[8:])
    assert bases(memory) == [0, 2**31]


def test_a_roll_does_not_sync_and_the_next_flush_does() -> None:
    memory = MemoryLogs()
    log = memory.create()
    log.append_as_leader(batch(1), 0)
    syncs = memory.fs.syncs
    log.roll()
    assert memory.fs.syncs == syncs
    assert "00000000000000000000.index" not in memory.names()
    assert log.flush_due
    plan = log.due_flush_plan()
    assert plan is not None
    plan.run()
    log.flushed(plan)
    assert "00000000000000000000.index" in memory.names()
    assert (log.recovery_point, log.flush_due) == (1, False)


def test_rolling_an_empty_segment_changes_nothing() -> None:
    memory = MemoryLogs()
    log = memory.create()
    log.roll()
    log.roll()
    assert bases(memory) == [0]


def test_a_snapshot_is_taken_at_every_roll() -> None:
    memory = MemoryLogs()
    log = memory.create()
    for sequence in range(3):
        log.append_as_leader(batch(1, pid=7, sequence=sequence), 0)
        log.roll()
    assert [name for name in memory.names() if name.endswith(".snapshot")] == [
        f"{offset:020d}.snapshot" for offset in (1, 2, 3)
    ]


def test_preallocated_space_is_given_back_and_never_read() -> None:
    memory = MemoryLogs(LogConfig(preallocate=True, segment_bytes=4096))
    log = memory.create()
    path = memory.path("00000000000000000000.log")
    assert memory.fs.size(path) == 4096
    log.append_as_leader(batch(1), 0)
    assert (memory.fs.size(path), log.size) == (4096, SIZE)
    log.close(clean=False)
    log = memory.open(clean=False)
    assert len(read_records(log)) == 1
    log.roll()
    assert memory.fs.size(path) == SIZE
    assert_consistent(log)


@pytest.mark.parametrize("stop", ["clean", "crash"])
def test_preallocated_space_is_given_back_after_preallocate_is_switched_off(stop: str) -> None:
    memory = MemoryLogs(LogConfig(preallocate=True, segment_bytes=4096))
    log = memory.create()
    log.append_as_leader(batch(1), 0)
    log.config = memory.config = LogConfig(segment_bytes=4096)
    log.close(clean=stop == "clean")
    assert memory.fs.size(memory.path(f"{0:020}.log")) == (len(batch(1)) if stop == "clean" else 4096)
    log = memory.open(clean=stop == "clean")
    log.append_as_leader(batch(1), 0)
    assert memory.fs.size(memory.path(f"{0:020}.log")) == 2 * len(batch(1))
    assert len(read_records(log)) == 2


def test_roll_gives_back_preallocated_space_after_preallocate_is_switched_off() -> None:
    memory = MemoryLogs(LogConfig(preallocate=True, segment_bytes=4096))
    log = memory.create()
    log.append_as_leader(batch(1), 0)
    log.config = LogConfig(segment_bytes=4096)
    log.roll()
    log.append_as_leader(batch(1), 0)
    assert memory.fs.size(memory.path(f"{0:020}.log")) == len(batch(1))
    assert len(read_records(log)) == 2


@pytest.mark.parametrize("records", [0, 1, 60])
@pytest.mark.parametrize("tail", [bytes(7), bytes(61), bytes(4000), batch(1)[:-1]])
def test_bytes_behind_the_last_batch_are_cut_also_after_a_clean_stop(records: int, tail: bytes) -> None:
    memory = MemoryLogs(LogConfig(index_interval_bytes=100))
    log = memory.create()
    for _ in range(records):
        log.append_as_leader(batch(1), 0)
    log.close()
    path = memory.path(f"{0:020}.log")
    memory.fs.write_bytes(path, memory.fs.read_bytes(path) + tail)
    log = memory.open(clean=True)
    assert log.log_end_offset == records
    log.append_as_leader(batch(1), 0)
    assert len(read_records(log)) == records + 1
    assert_consistent(log)
