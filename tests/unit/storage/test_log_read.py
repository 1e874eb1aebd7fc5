import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.storage.support import NOW, MemoryLogs, batch, marker, read_batches

from barnabas.base.config.log_config import LogConfig
from barnabas.base.errors import OffsetOutOfRange, StorageError
from barnabas.records.batch import HEADER_SIZE, iter_headers, parse_header
from barnabas.records.builder import assemble, build_batch
from barnabas.records.compression import ZSTD
from barnabas.records.record import Record
from barnabas.storage.append_info import AppendOrigin
from barnabas.storage.log import Log
from barnabas.storage.timestamp_lookup import Search, TimestampOffset

CONFIG = LogConfig(segment_bytes=700, index_interval_bytes=150)


def log_of(counts: list[int]) -> Log:
    log = MemoryLogs(CONFIG).create()
    for count in counts:
        log.append_as_leader(batch(count), 0)
    return log


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(1, 5), min_size=1, max_size=40),
    st.integers(0, 200),
    st.integers(0, 200),
    st.integers(0, 2000),
    st.booleans(),
)
def test_a_read_gives_the_batch_of_the_offset_and_never_reaches_its_limit(
    counts: list[int], offset: int, up_to: int, max_bytes: int, min_one: bool
) -> None:
    log = log_of(counts)
    offset, up_to = offset % (log.log_end_offset + 1), up_to % (log.log_end_offset + 1)
    batches = read_batches(log)
    readable = [
        data for header, data in batches if header.last_offset >= offset and header.last_offset < up_to
    ]
    part = log.read(offset, max_bytes, up_to=up_to, min_one_batch=min_one)
    if not readable:
        assert part is None
        return
    assert part is not None
    data = part.read()
    assert len(data) == part.size
    assert b"".join(readable).startswith(data)
    whole = list(iter_headers(data, allow_partial=True))
    if min_one or max_bytes >= len(readable[0]):
        assert part.base_offset == whole[0][1].base_offset <= offset
        assert part.size <= max(max_bytes, len(readable[0]))
        assert part.next_offset_hint <= up_to
        assert all(header.last_offset < part.next_offset_hint for _, header in whole)
    else:
        assert part.size == 0


def test_every_offset_of_a_log_can_be_read_after_a_restart() -> None:
    memory = MemoryLogs(CONFIG)
    log = memory.create()
    for count in (3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5):
        log.append_as_leader(batch(count), 0)
    expected = {
        offset: data
        for header, data in read_batches(log)
        for offset in range(header.base_offset, header.next_offset)
    }
    log.close()
    log = memory.open(clean=True)
    for offset, data in expected.items():
        part = log.read(offset, 1, up_to=log.log_end_offset)
        assert part is not None
        assert part.read() == data


def test_the_tail_is_found_without_touching_the_disk() -> None:
    memory = MemoryLogs()
    log = memory.create()
    for _ in range(5):
        log.append_as_leader(batch(2), 0)
    reads = memory.fs.reads
    assert log.read(8, 100, up_to=10) is not None
    assert log.read(3, 100, up_to=10) is not None
    assert memory.fs.reads == reads


def test_a_repeated_limit_is_searched_once() -> None:
    memory = MemoryLogs()
    log = memory.create()
    for _ in range(20):
        log.append_as_leader(batch(2), 0)
    log.read(30, 1000, up_to=17)
    assert log.read(32, 1000, up_to=33) is None  # offset 32's batch ends at 33
    assert log.read(0, 10_000, up_to=18) is not None
    reads = memory.fs.reads
    part = log.read(0, 10_000, up_to=18)
    assert part is not None
    assert memory.fs.reads == reads + 1  # the scan for offset 0 alone
    assert [header.last_offset for _, header in iter_headers(part.read())][-1] == 17


def test_outside_the_log_there_is_an_error_and_at_its_end_nothing() -> None:
    log = log_of([3, 3])
    assert log.read(6, 100, up_to=6) is None
    log.maybe_update_high_watermark(6)
    log.delete_records_before(2)
    for offset in (-1, 1, 7):
        with pytest.raises(OffsetOutOfRange):
            log.read(offset, 100, up_to=6)


def test_a_slice_survives_the_deletion_of_its_segment() -> None:
    log = log_of([1] * 20)
    part = log.read(0, 100, up_to=20)
    log.maybe_update_high_watermark(20)
    log.delete_records_before(20)
    assert log.delete_old_segments() > 0
    assert part is not None
    assert len(part.read()) == part.size


def test_an_unreadable_disk_takes_the_log_offline() -> None:
    memory = MemoryLogs()
    log = memory.create()
    for _ in range(20):
        log.append_as_leader(batch(1), 0)
    memory.fs.reads_fail = True
    with pytest.raises(StorageError):
        log.read(0, 100, up_to=20)
    assert len(memory.failures) == 1


@pytest.mark.parametrize("compression", range(5))
def test_a_timestamp_leads_to_the_first_record_that_reaches_it(compression: int) -> None:
    memory = MemoryLogs(CONFIG)
    log = memory.create()
    for number in range(30):
        stamps = [NOW + 10 * number, NOW + 10 * number + 7, NOW + 10 * number + 3]
        records = [Record(i, stamp, None, b"x" * 20) for i, stamp in enumerate(stamps)]
        log.append_as_leader(build_batch(records, compression=compression), 4)
    assert len(log.segments) > 2
    for reopened in (False, True):
        if reopened:
            log.close()
            log = memory.open(clean=True)
        assert log.offset_for_timestamp(NOW - 5) == (0, NOW, 4)
        assert log.offset_for_timestamp(NOW + 101) == (31, NOW + 107, 4)
        assert log.offset_for_timestamp(NOW + 107) == (31, NOW + 107, 4)
        assert log.offset_for_timestamp(NOW + 108) == (33, NOW + 110, 4)
        assert log.offset_for_timestamp(NOW + 298) is None
        assert log.offset_of_max_timestamp() == (88, NOW + 297, 4)


def test_a_timestamp_lookup_respects_the_log_start() -> None:
    log = log_of([4, 4])
    log.maybe_update_high_watermark(8)
    log.delete_records_before(2)
    assert log.offset_for_timestamp(NOW) == (2, NOW + 2, 0)


def test_an_empty_log_has_no_timestamps() -> None:
    log = MemoryLogs().create()
    assert log.offset_for_timestamp(0) is None
    assert log.offset_of_max_timestamp() is None


def finish(search: Search) -> TimestampOffset | None:
    """Run the rest of a search that was begun."""
    try:
        while True:
            work = search.send(None)
            if work is not None:
                search.send(work())
    except StopIteration as done:
        found: TimestampOffset | None = done.value
        return found


def test_a_search_goes_on_when_segments_are_deleted_under_it() -> None:
    logs = MemoryLogs(LogConfig(segment_bytes=120, retention_bytes=0))
    log = logs.create()
    for number in range(6):
        log.append_as_leader(batch(timestamp=NOW + number), 0)
    assert len(log.segments) > 3
    search, largest = log.search_timestamp(NOW + 5), log.search_max_timestamp()
    assert next(search) is None
    log.maybe_update_high_watermark(4)
    assert log.delete_old_segments() > 1
    for _ in range(2):
        log.append_as_leader(batch(timestamp=NOW), 0)
    assert finish(search) == (5, NOW + 5, 0)
    assert finish(largest) == (5, NOW + 5, 0)
    assert not log.is_offline


def test_a_search_in_a_log_that_is_closed_under_it_fails_and_nothing_else() -> None:
    logs = MemoryLogs(LogConfig(segment_bytes=120))
    log = logs.create()
    for number in range(4):
        log.append_as_leader(batch(timestamp=NOW + number), 0)
    search = log.search_timestamp(NOW + 3)
    assert next(search) is None
    log.delete()
    with pytest.raises(StorageError):
        finish(search)
    assert not logs.failures


def test_the_largest_timestamp_is_that_of_a_record_not_a_claim() -> None:
    log = MemoryLogs(LogConfig(segment_bytes=300)).create()
    true = batch(timestamp=NOW - 10)
    claim = assemble(parse_header(true)._replace(max_timestamp=NOW + 1000), true[HEADER_SIZE:])
    for each in (batch(timestamp=NOW), claim, batch(timestamp=NOW + 3), claim, batch(timestamp=NOW + 3)):
        log.append_as_leader(each, 0)
    assert log.offset_of_max_timestamp() == (2, NOW + 3, 0)


def test_a_batch_too_large_to_be_unpacked_is_found_by_its_first_offset() -> None:
    log = MemoryLogs(LogConfig(max_message_bytes=5000)).create()
    log.append_as_leader(batch(), 0)
    huge = build_batch([Record(i, NOW + 5 + i, None, bytes(90_000)) for i in range(4)], compression=ZSTD)
    log.append_as_leader(huge, 0)
    assert log.offset_for_timestamp(NOW + 7) == (1, NOW + 8, 0)


def test_end_offsets_of_epochs() -> None:
    log = MemoryLogs().create()
    for epoch in (1, 1, 4):
        log.append_as_leader(batch(2), epoch)
    assert log.end_offset_for_epoch(1) == (1, 4)
    assert log.end_offset_for_epoch(3) == (1, 4)
    assert log.end_offset_for_epoch(4) == (4, 6)
    assert log.end_offset_for_epoch(5) is None


def test_only_transactions_that_reach_into_the_slice_count_as_aborted_in_it() -> None:
    log = MemoryLogs(LogConfig(index_interval_bytes=200)).create()
    for sequence in range(200):
        log.append_as_leader(batch(1, pid=7, sequence=sequence, transactional=True), 0)
        log.append_as_leader(marker(7, commit=False), 0, origin=AppendOrigin.COORDINATOR)
    log.maybe_update_high_watermark(log.log_end_offset)
    end = log.last_stable_offset
    for offset in (0, 101, 250, 398):
        part = log.read(offset, 1000, up_to=end)
        assert part is not None
        found = log.aborted_transactions(part.base_offset, part.next_offset_hint)
        whole = [header for _, header in iter_headers(part.read(), allow_partial=True)]
        needed = [
            txn
            for txn in log.aborted_transactions(0, end)
            if txn.first_offset <= whole[-1].last_offset and txn.last_offset >= whole[0].base_offset
        ]
        assert found[: len(needed)] == needed
        assert len(found) <= len(needed) + 4
