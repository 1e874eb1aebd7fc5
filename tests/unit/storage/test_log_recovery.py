import logging
import random
import zlib

import pytest
from tests.unit.storage.support import (
    MemoryLogs,
    assert_consistent,
    batch,
    marker,
    read_batches,
    read_records,
)

from barnabas.base.config.log_config import LogConfig
from barnabas.base.errors import UnsupportedForMessageFormat
from barnabas.storage.append_info import AppendOrigin
from barnabas.storage.log import Log

CONFIG = LogConfig(segment_bytes=500, index_interval_bytes=100)
FIRST = "00000000000000000000"
LEFTOVERS = (
    f"{FIRST}.log.deleted",
    "00000000000000000004.snapshot.deleted",
    "leader-epoch-checkpoint.tmp",
    f"{FIRST}.log.cleaned",
    f"{FIRST}.index.cleaned",
    "00000000000000000009.log.swap",
)


def filled(memory: MemoryLogs, count: int = 12) -> Log:
    log = memory.create()
    for number in range(count):
        log.append_as_leader(batch(1 + number % 3, pid=7, sequence=log.log_end_offset), number // 5)
    return log


def contents(memory: MemoryLogs) -> dict[str, bytes]:
    return {name: memory.fs.read_bytes(memory.path(name)) for name in memory.names()}


def overwrite(memory: MemoryLogs, name: str, data: bytes | bytearray) -> None:
    memory.fs.write_bytes(memory.path(name), data)


def test_the_log_is_cut_at_every_byte_of_the_last_batch() -> None:
    memory = MemoryLogs()
    filled(memory, 3).close(clean=False)
    whole = memory.fs.read_bytes(memory.path(f"{FIRST}.log"))
    last = len(read_batches(memory.open(clean=False))[-1][1])
    for cut in range(1, last + 1):
        overwrite(memory, f"{FIRST}.log", whole[:-cut])
        log = memory.open(clean=False)
        assert log.log_end_offset == 3
        assert log.size == len(whole) - last == memory.fs.size(memory.path(f"{FIRST}.log"))
        assert log.producers.entries[7].last_sequence == 2


def test_the_log_is_cut_at_every_flipped_byte_of_the_last_batch() -> None:
    memory = MemoryLogs()
    filled(memory, 3).close(clean=False)
    whole = memory.fs.read_bytes(memory.path(f"{FIRST}.log"))
    last = len(read_batches(memory.open(clean=False))[-1][1])
    outside_crc = range(12, 16)  # the leader epoch; damage there cannot be detected
    for at in range(last):
        damaged = bytearray(whole)
        damaged[len(whole) - last + at] ^= 0x55
        overwrite(memory, f"{FIRST}.log", damaged)
        log = memory.open(clean=False)
        if at in outside_crc:
            assert log.log_end_offset == 6
        else:
            assert log.log_end_offset == 3 or (at < 8 and log.log_end_offset > 3)


@pytest.mark.parametrize(
    "garbage", [bytes(1), bytes(61), bytes(4000), b"\xff" * 100, random.Random(1).randbytes(500)]
)
def test_garbage_behind_the_last_batch_is_cut(garbage: bytes) -> None:
    memory = MemoryLogs()
    log = filled(memory)
    expected = read_records(log)
    log.close(clean=False)
    path = memory.path(f"{FIRST}.log")
    overwrite(memory, f"{FIRST}.log", memory.fs.read_bytes(path) + garbage)
    log = memory.open(clean=False)
    assert read_records(log) == expected
    log.append_as_leader(batch(1, pid=7, sequence=log.log_end_offset), 9)
    assert_consistent(log)


def test_segments_behind_a_cut_are_dropped() -> None:
    memory = MemoryLogs(CONFIG)
    log = filled(memory, 30)
    bases = log.segments.base_offsets
    log.close(clean=False)
    name = f"{bases[1]:020d}.log"
    overwrite(memory, name, memory.fs.read_bytes(memory.path(name))[:-1])
    log = memory.open(clean=False)
    assert log.segments.base_offsets == bases[:2]
    assert not [name for name in memory.names() if name.endswith(".log") and int(name[:20]) > bases[1]]
    assert_consistent(log)


def test_only_segments_from_the_recovery_point_on_are_scanned() -> None:
    memory = MemoryLogs(CONFIG)
    log = filled(memory, 30)
    log.flush()
    bases = log.segments.base_offsets
    log.close(clean=False)
    damaged = bytearray(memory.fs.read_bytes(memory.path(f"{FIRST}.log")))
    damaged[-1] ^= 1
    overwrite(memory, f"{FIRST}.log", damaged)
    log = memory.open(clean=False, recovery_point=bases[2])
    assert log.segments.base_offsets == bases
    assert log.recovery_point == bases[2]


def test_after_a_clean_stop_nothing_is_scanned_and_nothing_written() -> None:
    memory = MemoryLogs(CONFIG)
    log = filled(memory, 30)
    end = log.log_end_offset
    log.close()
    before, reads, writes = contents(memory), memory.fs.reads, memory.fs.writes
    log = memory.open(clean=True)
    # two indexes, epochs, snapshot, metadata, and the headers of the last batches of the last two segments
    assert memory.fs.reads - reads <= 10
    assert (log.log_end_offset, log.recovery_point) == (end, end)
    log.close()
    assert memory.fs.writes == writes
    assert contents(memory) == before


def test_recovery_rebuilds_exactly_what_was_there() -> None:
    memory = MemoryLogs(CONFIG)
    log = filled(memory, 30)
    log.close()
    before = contents(memory)
    for name in before:
        if name.endswith((".index", ".timeindex", ".snapshot", "-checkpoint")):
            memory.fs.unlink(memory.path(name))
    memory.open(clean=False).close()
    after = contents(memory)
    derived = {name for name in before if not name.endswith(".snapshot")}
    assert {name: after[name] for name in derived} == {name: before[name] for name in derived}


@pytest.mark.parametrize("name", [f"{FIRST}.index", f"{FIRST}.timeindex"])
@pytest.mark.parametrize(
    "damage", [None, b"", b"1234567", b"\xff" * 24], ids=["missing", "empty", "torn", "absurd"]
)
def test_a_bad_index_of_a_sealed_segment_is_rebuilt_when_it_is_needed(
    name: str, damage: bytes | None, caplog: pytest.LogCaptureFixture
) -> None:
    memory = MemoryLogs(CONFIG)
    log = filled(memory, 30)
    expected = read_records(log)
    log.close()
    good = memory.fs.read_bytes(memory.path(name))
    memory.fs.unlink(memory.path(name))
    if damage is not None:
        overwrite(memory, name, damage)
    if damage == b"" and name.endswith(".index"):
        memory.fs.unlink(memory.path(f"{FIRST}.timeindex"))  # an empty index alone is a sparse one
    with caplog.at_level(logging.WARNING):
        log = memory.open(clean=True)
        assert read_records(log) == expected
        assert log.offset_for_timestamp(0) is not None
    if damage != b"" or name.endswith(".index"):
        assert "rebuilding" in caplog.text
        assert memory.fs.read_bytes(memory.path(name)) == good


def test_leftovers_of_deletion_and_cleaning_are_removed() -> None:
    memory = MemoryLogs(CONFIG)
    log = filled(memory)
    expected = read_records(log)
    log.close()
    before = memory.names()
    for name in LEFTOVERS:
        overwrite(memory, name, b"leftover")
    assert read_records(memory.open(clean=False)) == expected
    assert set(memory.names()) == set(before)


def test_an_index_without_a_log_is_removed() -> None:
    memory = MemoryLogs()
    filled(memory).close()
    overwrite(memory, "00000000000000000099.index", b"12345678")
    memory.open(clean=True)
    assert "00000000000000000099.index" not in memory.names()


def test_an_interrupted_swap_is_finished() -> None:
    memory = MemoryLogs(CONFIG)
    log = filled(memory, 30)
    bases = log.segments.base_offsets
    expected = read_records(log)
    log.close()
    merged = b"".join(memory.fs.read_bytes(memory.path(f"{base:020d}.log")) for base in bases[:2])
    overwrite(memory, f"{FIRST}.log.swap", merged)
    log = memory.open(clean=False)
    assert log.segments.base_offsets == [bases[0], *bases[2:]]
    assert read_records(log) == expected
    assert not [name for name in memory.names() if name.endswith(".swap")]
    assert_consistent(log)


def test_an_old_message_format_is_refused_not_cut() -> None:
    memory = MemoryLogs()
    memory.create().close()
    message = bytes.fromhex("01 00 0000017000000000 ffffffff 00000001 78")  # magic 1, no key, value "x"
    old = (0).to_bytes(8, "big") + (len(message) + 4).to_bytes(4, "big")
    old += zlib.crc32(message).to_bytes(4, "big") + message
    overwrite(memory, f"{FIRST}.log", old * 3)
    with pytest.raises(UnsupportedForMessageFormat):
        memory.open(clean=False)
    assert memory.fs.size(memory.path(f"{FIRST}.log")) == 3 * len(old)


def test_a_torn_snapshot_is_replaced_by_reading_the_log() -> None:
    memory = MemoryLogs(CONFIG)
    log = filled(memory, 30)
    log.close()
    for name in memory.names():
        if name.endswith(".snapshot"):
            overwrite(memory, name, b"\x00\x01torn")
    log = memory.open(clean=True)
    assert_consistent(log)


def test_transactions_are_recovered_with_their_abort_index() -> None:
    memory = MemoryLogs(CONFIG)
    log = memory.create()
    for number in range(6):
        for sequence in range(2):
            log.append_as_leader(batch(1, pid=7, sequence=2 * number + sequence, transactional=True), 0)
        log.append_as_leader(marker(7, commit=number % 2 == 0), 0, origin=AppendOrigin.COORDINATOR)
    log.append_as_leader(batch(1, pid=7, sequence=12, transactional=True), 0)
    aborted = log.aborted_transactions(0, 100)
    assert len(aborted) == 3
    log.close(clean=False)
    for name in memory.names():
        if name.endswith((".txnindex", ".snapshot")):
            memory.fs.unlink(memory.path(name))
    log = memory.open(clean=False)
    assert log.aborted_transactions(0, 100) == aborted
    log.maybe_update_high_watermark(log.log_end_offset)
    assert log.last_stable_offset == log.log_end_offset - 1


def test_a_damaged_abort_index_is_rebuilt_even_after_a_clean_stop() -> None:
    memory = MemoryLogs()
    log = memory.create()
    log.append_as_leader(batch(1, pid=7, sequence=0, transactional=True), 0)
    log.append_as_leader(marker(7, commit=False), 0, origin=AppendOrigin.COORDINATOR)
    expected = log.aborted_transactions(0, 2)
    log.close()
    overwrite(memory, f"{FIRST}.txnindex", b"short")
    assert memory.open(clean=True).aborted_transactions(0, 2) == expected


@pytest.mark.parametrize("clean", [True, False])
def test_log_start_beyond_the_end_keeps_the_records(clean: bool) -> None:
    memory = MemoryLogs()
    filled(memory, 3).close()
    log = memory.open(clean=clean, log_start_offset=100)
    assert (log.log_start_offset, log.log_end_offset, len(read_records(log))) == (0, 6, 6)
    assert_consistent(log)


def test_recovery_point_beyond_the_end_recovers_every_segment() -> None:
    memory = MemoryLogs(LogConfig(segment_bytes=200))
    log = filled(memory, 6)
    assert len(log.segments) > 2
    log.close()
    path = f"{FIRST}.log"
    overwrite(memory, path, memory.fs.read_bytes(memory.path(path))[:-1])
    log = memory.open(clean=False, recovery_point=1000)
    assert log.log_end_offset < 3
    assert_consistent(log)


@pytest.mark.parametrize("damage", [b"", b"0\n0\n", b"0\n1\nx\n", b"0\n2\n1 0\n0 2\n", None])
def test_lost_leader_epochs_are_read_from_the_batches_after_a_clean_stop(damage: bytes | None) -> None:
    memory = MemoryLogs()
    log = filled(memory, 3)
    log.append_as_leader(batch(1), 4)
    expected = list(log.leader_epochs.entries)
    log.close()
    if damage is None:
        memory.fs.unlink(memory.path("leader-epoch-checkpoint"))
    else:
        overwrite(memory, "leader-epoch-checkpoint", damage)
    assert memory.open(clean=True).leader_epochs.entries == expected


@pytest.mark.parametrize("damage", [b"", b"0\n0\n", b"0\n1\nx\n", None])
def test_lost_leader_epochs_are_read_from_the_batches_below_the_recovery_point(damage: bytes | None) -> None:
    memory = MemoryLogs()
    log = filled(memory, 3)
    log.roll()
    recovery_point = log.log_end_offset
    log.append_as_leader(batch(1), 4)
    expected = list(log.leader_epochs.entries)
    assert expected[0].start_offset == 0
    log.flush()
    if damage is None:
        memory.fs.unlink(memory.path("leader-epoch-checkpoint"))
    else:
        overwrite(memory, "leader-epoch-checkpoint", damage)
    assert memory.open(clean=False, recovery_point=recovery_point).leader_epochs.entries == expected


def test_an_empty_log_that_ends_before_its_start_begins_anew_there() -> None:
    memory = MemoryLogs()
    memory.create().close()
    log = memory.open(clean=False, log_start_offset=100)
    assert (log.log_start_offset, log.log_end_offset, log.size) == (100, 100, 0)
    assert log.append_as_leader(batch(1), 0).base_offset == 100


def test_an_empty_directory_is_an_empty_log() -> None:
    memory = MemoryLogs()
    memory.fs.mkdir(memory.path("x").parent)
    log = memory.open(clean=False)
    assert (log.log_end_offset, log.topic_id) == (0, None)
    log.append_as_leader(batch(1), 0)


def test_records_from_the_middle_of_the_log_that_never_reached_the_disk_end_it_there() -> None:
    memory = MemoryLogs(CONFIG)
    log = filled(memory, 30)
    bases = log.segments.base_offsets
    log.close(clean=False)
    overwrite(memory, f"{bases[2]:020d}.log", b"")
    log = memory.open(clean=False)
    assert log.segments.base_offsets == bases[:3]
    assert log.log_end_offset == bases[2]
    assert_consistent(log)


def test_a_compacted_log_keeps_what_is_behind_a_gap() -> None:
    memory = MemoryLogs(LogConfig(cleanup_compact=True, cleanup_delete=False))
    log = memory.create()
    log.append_as_follower(batch(2))
    log.roll(100)
    log.append_as_follower((100).to_bytes(8, "big") + batch(2)[8:])
    log.close(clean=False)
    log = memory.open(clean=False)
    assert [record.offset for record in read_records(log)] == [0, 1, 100, 101]


def test_everything_in_flight_at_a_crash_is_recognised_when_it_is_sent_again() -> None:
    """Also when the five batches lie on both sides of a roll."""
    memory = MemoryLogs(LogConfig(segment_bytes=500, index_interval_bytes=100))
    log = memory.create()
    sent = [(batch(2, pid=7, sequence=2 * number), 2 * number) for number in range(12)]
    for data, offset in sent:
        assert log.append_as_leader(data, 0).base_offset == offset
    assert len(log.segments) > 2
    log.close(clean=False)

    reopened = memory.open(clean=False)
    for data, offset in sent[-5:]:
        info = reopened.append_as_leader(data, 1)
        assert info.duplicate
        assert info.base_offset == offset
    assert reopened.append_as_leader(batch(1, pid=7, sequence=24), 1).base_offset == 24


def test_batches_of_an_older_epoch_are_not_recalled() -> None:
    memory = MemoryLogs()
    log = memory.create()
    for number in range(3):
        log.append_as_leader(batch(1, pid=7, epoch=0, sequence=number), 0)
    log.append_as_leader(batch(1, pid=7, epoch=1, sequence=0), 0)
    log.close(clean=False)

    entry = memory.open(clean=False).producers.entries[7]
    assert [each.last_sequence for each in entry.batches] == [0]
