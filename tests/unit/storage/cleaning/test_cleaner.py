"""What compaction keeps and what it drops."""

import dataclasses
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.storage.cleaning.support import CONFIG, RESOURCES, Compacted, rows
from tests.unit.storage.support import NOW, marker

from barnabas.base.errors import CorruptMessage
from barnabas.records.batch import LOG_APPEND_TIME
from barnabas.records.record import Record, decode_records
from barnabas.storage import names
from barnabas.storage.cleaning.job import CleaningAborted


def test_newest_value_of_each_key_stays_with_its_offset() -> None:
    log = Compacted()
    log.append(rows(("a", "1"), ("b", "1"), ("a", "2")))
    log.append(rows(("c", "1"), ("b", "2")))
    log.seal()
    log.append(rows(("a", "active")))
    stats = log.clean()
    assert log.values() == [(2, "a", "2"), (3, "c", "1"), (4, "b", "2"), (5, "a", "active")]
    assert (stats.records_read, stats.records_written, stats.end_offset) == (5, 3, 5)


def test_active_segment_is_not_held_against_older_records() -> None:
    log = Compacted()
    log.append(rows(("a", "1")))
    log.seal()
    log.append(rows(("a", "2")))
    log.clean()
    assert log.values() == [(0, "a", "1"), (1, "a", "2")]


def test_records_without_key_go() -> None:
    log = Compacted()
    log.append(rows((None, "1"), ("a", "1"), (None, "2")))
    log.seal()
    stats = log.clean()
    assert log.values() == [(1, "a", "1")]
    assert stats.keyless_records == 2


def test_a_second_cleaning_drops_clean_records_with_newer_ones_in_the_dirty_part() -> None:
    log = Compacted()
    log.append(rows(("a", "1"), ("b", "1")))
    log.seal()
    log.clean()
    log.append(rows(("a", "2"), ("c", "1")))
    log.seal()
    log.clean()
    assert log.values() == [(1, "b", "1"), (2, "a", "2"), (3, "c", "1")]


@pytest.mark.parametrize("codec", range(5))
def test_batches_of_every_codec_keep_what_stays_as_it_was(codec: int) -> None:
    log = Compacted()
    records = [
        Record(n, NOW + 7 * n, b"k%d" % (n % 40), b"v%d" % n * 9, (("h", b"x"), ("none", None)))
        for n in range(100)
    ]
    log.append(records, compression=codec, leader_epoch=3)
    log.seal()
    log.clean()
    (header, data), *others = log.batches()
    assert not others
    assert decode_records(data) == records[60:]
    assert (header.base_offset, header.last_offset, header.record_count) == (0, 99, 40)
    assert (header.compression, header.partition_leader_epoch) == (codec, 3)
    assert (header.base_timestamp, header.max_timestamp) == (NOW, NOW + 7 * 99)


def test_max_timestamp_is_that_of_the_records_that_stay() -> None:
    log = Compacted()
    log.append(
        [Record(0, NOW + 500, b"a", b"1"), Record(1, NOW + 100, b"b", b"1"), Record(2, NOW, b"c", b"1")]
    )
    log.append(rows(("a", "2"), timestamp=NOW + 50))
    log.seal()
    log.clean()
    assert [header.max_timestamp for header in log.headers()] == [NOW + 100, NOW + 50]
    found = log.log.offset_for_timestamp(NOW + 60)
    assert found is not None
    assert found.offset == 1


def test_log_append_time_stays() -> None:
    log = Compacted()
    log.append(rows(("a", "1"), ("b", "1")), timestamp_type=LOG_APPEND_TIME, log_append_time=NOW + 9)
    log.append(rows(("a", "2")))
    log.seal()
    log.clean()
    assert [record.timestamp for record in log.records()] == [NOW + 9, NOW]
    assert log.headers()[0].timestamp_type == LOG_APPEND_TIME


def test_batches_that_stay_whole_are_copied_byte_for_byte() -> None:
    log = Compacted()
    for number in range(30):
        log.append(rows((f"k{number}", "v"), (f"j{number}", "v")), compression=number % 5)
    log.append(rows(("k3", "new")))
    log.seal()
    before = [data for _, data in log.batches()]
    log.clean()
    after = [data for _, data in log.batches()]
    assert [data for data in before if data not in after] == [before[3]]


# ---- tombstones


def test_tombstone_gets_its_horizon_when_first_cleaned_and_goes_when_that_has_passed() -> None:
    log = Compacted()
    log.append(rows(("a", "1"), ("b", "1")))
    log.append(rows(("a", None), ("c", "1")))
    log.seal()
    log.clean()
    assert log.values() == [(1, "b", "1"), (2, "a", None), (3, "c", "1")]
    header = log.headers()[-1]
    assert header.has_delete_horizon
    assert header.base_timestamp == NOW + CONFIG.delete_retention_ms
    assert [record.timestamp for record in log.records()] == [NOW + 1, NOW, NOW + 1]

    log.logs.clock.advance(CONFIG.delete_retention_ms - 1)
    log.append(rows(("x", "1")))
    log.seal()
    log.clean()
    assert (2, "a", None) in log.values()

    log.logs.clock.advance(1)
    log.append(rows(("y", "1")))
    log.seal()
    log.clean()
    assert log.values() == [(1, "b", "1"), (3, "c", "1"), (4, "x", "1"), (5, "y", "1")]
    assert log.headers()[1].base_timestamp == NOW + CONFIG.delete_retention_ms


def test_superseded_tombstone_goes_at_once() -> None:
    log = Compacted()
    log.append(rows(("a", None)))
    log.append(rows(("a", "2")))
    log.seal()
    log.clean()
    assert log.values() == [(1, "a", "2")]
    assert not log.headers()[0].has_delete_horizon


# ---- what stays though empty


def test_last_batch_of_a_producer_stays_for_its_sequence() -> None:
    log = Compacted()
    log.append(rows(("a", "1"), ("a", "2")), producer_id=7, producer_epoch=1, base_sequence=0)
    log.append(rows(("a", "3"), ("b", "1")), producer_id=7, producer_epoch=1, base_sequence=2)
    log.append(rows(("a", "4"), ("b", "2")))
    log.seal()
    log.clean()
    first, second = log.headers()
    assert (first.base_offset, first.last_offset, first.record_count) == (2, 3, 0)
    assert (first.producer_id, first.producer_epoch, first.last_sequence) == (7, 1, 3)
    assert second.record_count == 2
    log.log.close()
    reopened = log.logs.open(clean=False)
    assert reopened.producers.entries[7].last_sequence == 3


def test_last_batch_of_the_cleaned_part_stays() -> None:
    log = Compacted()
    log.append(rows(("a", "1")))
    log.append(rows((None, "x")))
    log.seal()
    log.clean()
    assert [(header.last_offset, header.record_count) for header in log.headers()] == [(0, 1), (1, 0)]


# ---- transactions


def _transaction(log: Compacted, pid: int, key: str, *, commit: bool) -> None:
    log.append(rows((key, f"{pid}")), producer_id=pid, producer_epoch=0, base_sequence=0, transactional=True)
    end(log, pid, commit=commit)


def end(log: Compacted, pid: int, *, commit: bool) -> None:
    data = bytearray(marker(pid, commit=commit))
    data[:8] = log.log.log_end_offset.to_bytes(8, "big")
    log.append_bytes(bytes(data))


def test_aborted_records_go_and_do_not_hide_older_values() -> None:
    log = Compacted()
    log.append(rows(("a", "old")))
    _transaction(log, 5, "a", commit=False)
    _transaction(log, 6, "b", commit=True)
    log.append(rows(("z", "1")))
    log.seal()
    log.clean()
    committed = [
        (record.offset, record.value)
        for header, data in log.batches()
        if not header.is_control
        for record in decode_records(data)
    ]
    assert committed == [(0, b"old"), (3, b"6"), (5, b"1")]
    # Both producers are known, so their last batches stay, and the abort's index entry with its marker.
    assert [(header.base_offset, header.record_count) for header in log.headers()] == [
        (0, 1), (1, 0), (2, 1), (3, 1), (4, 1), (5, 1)
    ]  # fmt: skip
    assert [txn.producer_id for txn in log.log.aborted_transactions(0, 6)] == [5]


def test_commit_after_an_abort_that_is_clean_already_hides_older_values() -> None:
    log = Compacted()
    log.append(rows(("a", "old")))
    _transaction(log, 5, "b", commit=False)
    log.seal()
    log.clean()
    log.append(rows(("a", "new")), producer_id=5, producer_epoch=0, base_sequence=1, transactional=True)
    end(log, 5, commit=True)
    log.append(rows(("z", "1")))
    log.seal()
    log.clean()
    records = [each for each in log.values() if each[1] in ("a", "z")]
    assert [value for _, _, value in records] == ["new", "1"]


def test_marker_without_records_gets_a_horizon_and_goes_after_it() -> None:
    log = Compacted()
    _transaction(log, 5, "a", commit=True)
    log.append(rows(("a", "newer")))
    log.seal()
    log.log.producers.entries.clear()  # expired
    log.clean()
    assert [header.is_control for header in log.headers()] == [True, False]
    log.append(rows(("b", "1")))
    log.seal()
    log.clean()
    assert log.headers()[0].has_delete_horizon
    log.logs.clock.advance(CONFIG.delete_retention_ms)
    log.append(rows(("c", "1")))
    log.seal()
    log.clean()
    assert not any(header.is_control for header in log.headers())


# ---- segments and indexes


def test_small_segments_are_joined_and_their_indexes_find_everything() -> None:
    log = Compacted()
    for number in range(60):
        log.append(rows((f"k{number % 7}", f"{number}" * 20), timestamp=NOW + 1000 * number))
        if number % 3 == 2:
            log.seal()
    log.seal()
    segments = len(log.log.segments)
    log.clean()
    assert len(log.log.segments) < segments / 2
    for record in log.records():
        part = log.log.read(record.offset, 1, up_to=log.log.log_end_offset)
        assert part is not None
        assert part.base_offset == record.offset
        found = log.log.offset_for_timestamp(record.timestamp)
        assert found is not None
        assert found.offset == record.offset
    assert log.log.size == sum(segment.size for segment in log.log.segments)


def test_offset_in_a_gap_reads_the_next_batch() -> None:
    log = Compacted()
    for number in range(10):
        log.append(rows(("same", f"{number}")))
    log.seal()
    log.clean()
    part = log.log.read(3, 1 << 20, up_to=10)
    assert part is not None
    assert part.base_offset == 9


def test_a_range_that_is_being_read_outlives_the_swap() -> None:
    log = Compacted()
    log.append(rows(("a", "1"), ("a", "2")))
    log.seal()
    part = log.log.read(0, 1 << 20, up_to=2)
    assert part is not None
    log.clean()
    assert len(decode_records(part.read())) == 2


def test_nothing_is_swapped_where_nothing_changes() -> None:
    log = Compacted()
    log.append(rows(("a", "1"), ("b", "1")))
    log.seal()
    swapped: list[object] = []
    log.clean(swapped.append)
    assert swapped == []
    assert log.checkpoint == 2
    assert not [name for name in log.fs.listdir(log.log.directory) if name.endswith(names.CLEANED)]


def test_cleaned_segment_has_the_age_of_the_last_one_it_replaces() -> None:
    log = Compacted()
    for number in range(2):
        log.append(rows(("a", "1")))
        log.fs.set_modified_ms(log.log.segments.active.path(names.LOG), 1000 * (number + 1))
        log.seal()
    log.clean()
    assert log.fs.modified_ms(log.log.segments.first.path(names.LOG)) == 2000


def test_snapshots_go_with_the_segments_they_belong_to() -> None:
    log = Compacted()
    for sequence in range(4):
        log.append(rows(("a", "1")), producer_id=1, producer_epoch=0, base_sequence=sequence)
        log.seal()
    log.clean()
    found = {name for name in log.fs.listdir(log.log.directory) if name.endswith(names.SNAPSHOT)}
    assert found == {names.file_name(4, names.SNAPSHOT)}


# ---- limits and failures


def test_a_batch_larger_than_the_buffer_is_cleaned() -> None:
    log = Compacted(config=dataclasses.replace(CONFIG, segment_bytes=1 << 20))
    log.append([Record(0, NOW, b"a", bytes(200_000)), Record(1, NOW, b"a", b"new")])
    log.seal()
    log.clean()
    assert log.values() == [(1, "a", "new")]


@pytest.mark.parametrize("memory", [300, 2000])
def test_keys_that_do_not_fit_into_memory_take_several_rounds(memory: int) -> None:
    rng = random.Random(memory)
    log = Compacted(resources=dataclasses.replace(RESOURCES, memory=memory))
    expected: dict[str, tuple[int, str]] = {}
    for number in range(120):
        key = f"key-{rng.randrange(70)}"
        log.append(rows((key, f"{number}")))
        expected[key] = (number, f"{number}")
    log.seal()
    assert log.clean_all() > 1
    assert sorted(log.values()) == sorted((offset, key, value) for key, (offset, value) in expected.items())


def test_damaged_batch_ends_the_cleaning_and_nothing_is_changed() -> None:
    log = Compacted()
    log.append(rows(("a", "1"), ("a", "2")))
    log.seal()
    path = log.log.segments.first.path(names.LOG)
    content = bytearray(log.fs.read_bytes(path))
    content[-3] ^= 1
    log.fs.write_bytes(path, content)
    with pytest.raises(CorruptMessage):
        log.clean()
    assert log.fs.read_bytes(path) == content
    assert not [name for name in log.fs.listdir(log.log.directory) if name.endswith(names.CLEANED)]


def test_a_log_that_changed_meanwhile_is_not_swapped() -> None:
    log = Compacted()
    log.append(rows(("a", "1"), ("a", "2")))
    log.seal()
    log.append(rows(("a", "3")))
    with pytest.raises(CleaningAborted):
        log.clean(lambda _: log.log.truncate_fully_and_start_at(0))


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.lists(
                st.tuples(st.sampled_from("abcdefgh"), st.one_of(st.none(), st.text("xyz", max_size=80))),
                min_size=1,
                max_size=20,
            ),
            st.integers(0, 4),
            st.booleans(),
        ),
        min_size=1,
        max_size=25,
    ),
    st.sampled_from([400, 1 << 20]),
)
def test_every_key_has_its_newest_value_and_nothing_else(
    batches: list[tuple[list[tuple[str, str | None]], int, bool]], memory: int
) -> None:
    log = Compacted(resources=dataclasses.replace(RESOURCES, memory=memory))
    newest: dict[str, tuple[int, str | None]] = {}
    for pairs, codec, seal in batches:
        start = log.log.log_end_offset
        log.append(rows(*pairs), compression=codec)
        newest |= {key: (start + number, value) for number, (key, value) in enumerate(pairs)}
        if seal:
            log.seal()
            log.clean_all()
    log.seal()
    log.clean_all()
    assert log.values() == sorted((offset, key, value) for key, (offset, value) in newest.items())
    log.log.close()
    reopened = log.logs.open(clean=False)
    assert reopened.log_end_offset == log.log.log_end_offset
