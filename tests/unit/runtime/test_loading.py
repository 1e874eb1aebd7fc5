import shutil
from pathlib import Path

import pytest
from tests.unit.runtime.replayed_shard import ReplayedShard, batch_of, commit, group
from tests.unit.storage.support import GOLDEN, MemoryLogs

from barnabas.base.clock import ManualClock
from barnabas.base.config.log_config import LogConfig
from barnabas.base.errors import CorruptMessage, StorageError
from barnabas.base.filesystem import FileSystem
from barnabas.group.records import GroupRecord
from barnabas.group.survivors import GroupSurvivors
from barnabas.runtime.loading import Loading, SliceableLog
from barnabas.storage.append_info import AppendOrigin
from barnabas.storage.environment import LogEnvironment
from barnabas.storage.log import Log
from barnabas.storage.log_loader import open_log

BUFFER = 5 << 20
SMALL_SEGMENTS = LogConfig(segment_bytes=700, index_interval_bytes=150)


def consume_all(loading: Loading) -> int:
    slices = 0
    while (piece := loading.next_slice()) is not None:
        loading.consume(piece)
        slices += 1
    return slices


def load(log: SliceableLog, buffer_size: int = BUFFER) -> ReplayedShard:
    loading, shard = Loading(log, buffer_size, ManualClock(), GroupSurvivors()), ReplayedShard()
    consume_all(loading)
    for _ in loading.finish(shard):
        pass
    return shard


def append(log: Log, *records: GroupRecord) -> None:
    log.append_as_leader(batch_of(records), 0, origin=AppendOrigin.COORDINATOR)


def log_of_commits(count: int, memory: MemoryLogs | None = None) -> Log:
    log = (memory or MemoryLogs(SMALL_SEGMENTS)).create()
    for number in range(count):
        append(
            log, *(commit(f"group-{number % 7}", number, partition) for partition in range(1 + number % 3))
        )
    return log


@pytest.mark.parametrize("buffer_size", [1, 150, 400, 1000, BUFFER])
def test_a_log_of_many_segments_is_loaded_whole(buffer_size: int) -> None:
    log = log_of_commits(60)
    assert len(list(log.segments.from_offset(0))) > 5
    loading, shard = Loading(log, buffer_size, ManualClock(), GroupSurvivors()), ReplayedShard()
    consume_all(loading)
    for _ in loading.finish(shard):
        pass
    assert loading.record_count == log.log_end_offset
    expected = {
        (f"group-{number % 7}", "topic", partition): commit("", number).value
        for number in range(60)
        for partition in range(1 + number % 3)
    }
    assert shard.committed() == expected


def test_an_empty_log_has_nothing_to_load() -> None:
    log = MemoryLogs(SMALL_SEGMENTS).create()
    assert Loading(log, BUFFER, ManualClock(), GroupSurvivors()).next_slice() is None
    assert load(log).records == []


def test_loading_goes_beyond_the_high_watermark() -> None:
    log = log_of_commits(1)
    assert log.high_watermark < log.log_end_offset
    assert len(load(log).offsets) == 1


def test_loading_begins_at_the_start_of_the_log() -> None:
    log = log_of_commits(60)
    log.maybe_update_high_watermark(log.log_end_offset)
    log.delete_records_before(log.log_end_offset)
    append(log, commit("late", 1))
    assert list(load(log).offsets) == [("late", "topic", 0)]


def test_a_start_that_moves_on_while_loading_is_followed() -> None:
    log = log_of_commits(60)
    loading = Loading(log, 150, ManualClock(), GroupSurvivors())
    piece = loading.next_slice()
    assert piece is not None
    loading.consume(piece)
    log.maybe_update_high_watermark(log.log_end_offset)
    log.delete_records_before(log.log_end_offset - 1)
    assert consume_all(loading) >= 1
    assert loading.next_slice() is None


def test_what_is_appended_while_loading_is_loaded_too() -> None:
    log = log_of_commits(3)
    loading, shard = Loading(log, BUFFER, ManualClock(), GroupSurvivors()), ReplayedShard()
    piece = loading.next_slice()
    assert piece is not None
    append(log, commit("late", 1))
    loading.consume(piece)
    consume_all(loading)
    for _ in loading.finish(shard):
        pass
    assert ("late", "topic", 0) in shard.offsets


def test_finishing_gives_others_a_turn_every_few_milliseconds() -> None:
    clock = ManualClock()

    class SlowShard(ReplayedShard):
        def replay(self, record: GroupRecord, *, producer_id: int = -1) -> None:
            clock.advance(2)
            super().replay(record, producer_id=producer_id)

    log = MemoryLogs().create()
    append(log, *(group(f"group-{number}", 1) for number in range(9)))
    loading, shard = Loading(log, BUFFER, clock, GroupSurvivors()), SlowShard()
    consume_all(loading)
    turns = [len(shard.records) for _ in loading.finish(shard)]
    assert turns == [3, 6, 9]


def test_a_disk_that_fails_is_an_error_of_storage() -> None:
    memory = MemoryLogs(SMALL_SEGMENTS)
    loading = Loading(log_of_commits(3, memory), BUFFER, ManualClock(), GroupSurvivors())
    piece = loading.next_slice()
    assert piece is not None
    memory.fs.reads_fail = True
    with pytest.raises(StorageError):
        loading.consume(piece)


def test_a_slice_without_a_whole_batch_is_corrupt() -> None:
    loading = Loading(log_of_commits(3), BUFFER, ManualClock(), GroupSurvivors())
    piece = loading.next_slice()
    assert piece is not None
    piece.size = 80
    with pytest.raises(CorruptMessage, match="no whole batch"):
        loading.consume(piece)


def test_the_groups_of_apache_kafka_are_loaded(tmp_path: Path) -> None:
    directory = tmp_path / "__consumer_offsets-0"
    shutil.copytree(GOLDEN / "log-dir" / "__consumer_offsets-0", directory)
    environment = LogEnvironment(FileSystem(), ManualClock())
    log = open_log(directory, LogConfig(), environment, clean=True, recovery_point=25, log_start_offset=0)
    seen: list[GroupRecord] = []

    class Witness:
        def replay(self, record: GroupRecord, *, producer_id: int = -1) -> None:
            seen.append(record)

    loading = Loading(log, BUFFER, ManualClock(), GroupSurvivors())
    consume_all(loading)
    for _ in loading.finish(Witness()):
        pass
    log.close()
    assert loading.record_count == 25
    assert [type(record).__name__ for record in seen] == [
        "ClassicGroupMetadata",
        "ConsumerGroupTargetAssignmentMetadata",
        "ConsumerGroupMetadata",
        *["OffsetCommit"] * 13,
    ]
    assert {record.group_id for record in seen} == {"golden-classic", "golden-consumer", "golden-standalone"}
