import contextlib
import logging
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.runtime.replayed_shard import (
    NOW,
    ReplayedShard,
    batch_of,
    commit,
    group,
    marker,
)

from barnabas.base.errors import CorruptMessage, InvalidRecord, KafkaError
from barnabas.group.record_codec import encode_record
from barnabas.group.records import GroupRecord
from barnabas.group.survivors import GroupSurvivors
from barnabas.records.batch import HEADER_SIZE, iter_headers
from barnabas.records.builder import build_batch
from barnabas.records.record import Record

EVERYTHING = 1 << 40


def survivors_of(*batches: bytes) -> GroupSurvivors:
    survivors = GroupSurvivors()
    survivors.feed(b"".join(batches), 0, EVERYTHING)
    return survivors


def replayed(survivors: GroupSurvivors) -> ReplayedShard:
    shard = ReplayedShard()
    for _ in survivors.replay_into(shard):
        pass
    return shard


@dataclass(frozen=True)
class Written:
    """One batch: of records, or the end of a transaction."""

    records: tuple[GroupRecord, ...]
    producer_id: int = -1
    compression: int = 0
    ends_with: bool | None = None
    """Whether a marker commits, if this is one."""

    def encode(self, base_offset: int) -> bytes:
        if self.ends_with is not None:
            return marker(self.producer_id, base_offset, commit=self.ends_with)
        return batch_of(self.records, base_offset, producer_id=self.producer_id, compression=self.compression)

    @property
    def size(self) -> int:
        return 1 if self.ends_with is not None else len(self.records)

    def replay_into(self, shard: ReplayedShard) -> None:
        if self.ends_with is not None:
            shard.end(self.producer_id, commit=self.ends_with)
        for record in self.records:
            shard.replay(record, producer_id=self.producer_id)


names = st.sampled_from(["a", "b", "c" * 70])
maybe_numbers = st.none() | st.integers(0, 9)
commits = st.builds(commit, names, maybe_numbers, st.integers(0, 1))
groups = st.builds(group, names, maybe_numbers)
producer_ids = st.integers(0, 2)
batches = st.one_of(
    st.builds(
        Written,
        st.lists(commits | groups, min_size=1, max_size=5).map(tuple),
        compression=st.sampled_from([0, 0, 0, 1, 3, 4]),
        ends_with=st.none(),
        producer_id=st.just(-1),
    ),
    st.builds(
        Written,
        st.lists(commits, min_size=1, max_size=3).map(tuple),
        producer_ids,
        st.sampled_from([0, 0, 3]),
        st.none(),
    ),
    st.builds(Written, st.just(()), producer_ids, st.just(0), st.booleans()),
)


def encode_log(log: list[Written]) -> bytes:
    encoded, offset = [], 0
    for written in log:
        encoded.append(written.encode(offset))
        offset += written.size
    return b"".join(encoded)


@given(st.lists(batches, max_size=25), st.permutations([0, 1, 2]))
def test_survivors_give_the_state_that_replaying_everything_gives(
    log: list[Written], enders: list[int]
) -> None:
    everything = ReplayedShard()
    for written in log:
        written.replay_into(everything)
    loaded = replayed(survivors_of(encode_log(log)))
    assert loaded.committed() == everything.committed()
    assert loaded.uncommitted() == everything.uncommitted()
    assert list(loaded.groups.items()) == list(everything.groups.items())
    for producer_id in enders:
        loaded.end(producer_id, commit=True)
        everything.end(producer_id, commit=True)
        assert loaded.committed() == everything.committed()


@given(st.lists(batches, min_size=1, max_size=12), st.integers(1, 400))
def test_chunks_of_any_size_give_the_same(log: list[Written], size: int) -> None:
    encoded = encode_log(log)
    starts = {header.base_offset: position for position, header in iter_headers(encoded)}
    largest = max(header.size for _, header in iter_headers(encoded))
    pieces = GroupSurvivors()
    offset = 0
    while offset in starts:
        start = starts[offset]
        offset = pieces.feed(encoded[start : start + max(size, largest)], offset, EVERYTHING)
    whole = survivors_of(encoded)
    assert pieces.record_count == whole.record_count == offset
    assert replayed(pieces).records == replayed(whole).records


def test_only_the_newest_value_of_a_key_is_replayed() -> None:
    survivors = survivors_of(
        batch_of([commit("a", 1), commit("b", 1)], 0),
        batch_of([commit("a", 2)], 2),
        batch_of([commit("a", 3)], 3),
    )
    assert survivors.record_count == 4
    assert len(survivors) == 2
    shard = replayed(survivors)
    assert sorted(shard.records) == [(commit("a", 3), -1), (commit("b", 1), -1)]
    assert len(survivors) == 0


def test_a_tombstone_removes_what_was_there_and_is_not_replayed() -> None:
    survivors = survivors_of(
        batch_of([commit("a", 1), group("a", 1)]),
        batch_of([commit("a", None), group("a", None), commit("b", None)], 2),
    )
    assert replayed(survivors).records == []


def test_groups_come_before_offsets_and_in_the_order_they_were_written() -> None:
    survivors = survivors_of(
        batch_of([group("a", 1), commit("a", 5), group("b", 1), group("c", 1)]), batch_of([group("a", 2)], 4)
    )
    assert [record for record, _ in replayed(survivors).records] == [
        group("b", 1),
        group("c", 1),
        group("a", 2),
        commit("a", 5),
    ]


def test_an_open_transaction_is_replayed_as_pending() -> None:
    survivors = survivors_of(batch_of([commit("a", 1)]), batch_of([commit("a", 2)], 1, producer_id=7))
    assert replayed(survivors).records == [(commit("a", 1), -1), (commit("a", 2), 7)]


def test_a_pending_offset_that_was_overtaken_is_replayed_first() -> None:
    survivors = survivors_of(batch_of([commit("a", 2)], producer_id=7), batch_of([commit("a", 3)], 1))
    assert replayed(survivors).records == [(commit("a", 2), 7), (commit("a", 3), -1)]


@pytest.mark.parametrize(("is_commit", "offset"), [(True, 2), (False, 1)])
def test_a_marker_decides_about_a_transaction(is_commit: bool, offset: int) -> None:
    survivors = survivors_of(
        batch_of([commit("a", 1)]),
        batch_of([commit("a", 2)], 1, producer_id=7),
        marker(7, 2, commit=is_commit),
    )
    assert replayed(survivors).records == [(commit("a", offset), -1)]


def test_a_commit_written_after_a_transactions_counts_though_the_marker_came_last() -> None:
    survivors = survivors_of(
        batch_of([commit("a", 2)], producer_id=7), batch_of([commit("a", 3)], 1), marker(7, 2, commit=True)
    )
    assert replayed(survivors).committed() == {("a", "topic", 0): commit("a", 3).value}


def test_a_tombstone_takes_pending_offsets_with_it() -> None:
    survivors = survivors_of(
        batch_of([commit("a", 2)], producer_id=7), batch_of([commit("a", None)], 1), marker(7, 2, commit=True)
    )
    assert replayed(survivors).records == []


def test_a_group_in_a_transactional_batch_takes_effect_at_once() -> None:
    survivors = survivors_of(batch_of([group("a", 4)], producer_id=7), marker(7, 1, commit=False))
    assert replayed(survivors).records == [(group("a", 4), -1)]


def test_a_commit_of_kafka_0_8_is_overwritten_by_one_of_today() -> None:
    key, _ = encode_record(commit("a", 1))
    legacy = Record(0, NOW, b"\x00\x00" + key[2:], b"\x00\x00" + bytes(8) + b"\x00\x00" + bytes(8))
    assert len(replayed(survivors_of(build_batch([legacy]))).offsets) == 1
    later = batch_of([commit("a", 2)], 1), batch_of([commit("a", None)], 2)
    assert replayed(survivors_of(build_batch([legacy]), *later)).records == []


def test_records_with_headers_are_read() -> None:
    key, value = encode_record(commit("a", 1))
    records = [
        Record(0, NOW, key, value, (("h", b"v"), ("n", None))),
        Record(0, NOW, *encode_record(commit("b", 2))),
    ]
    assert len(replayed(survivors_of(build_batch(records))).offsets) == 2


def test_a_batch_that_compaction_emptied_is_passed_over() -> None:
    emptied = build_batch(
        [], base_offset=3, keep_offsets=True, last_offset=9, producer_id=5, producer_epoch=0
    )
    survivors = GroupSurvivors()
    assert survivors.feed(emptied + batch_of([commit("a", 1)], 10), 0, EVERYTHING) == 11
    assert len(replayed(survivors).offsets) == 1


def test_batches_outside_the_requested_offsets_are_skipped() -> None:
    log = b"".join(batch_of([commit(name, 1)], offset) for offset, name in enumerate("abcd"))
    survivors = GroupSurvivors()
    assert survivors.feed(log, 1, 3) == 3
    assert sorted(replayed(survivors).offsets) == [("b", "topic", 0), ("c", "topic", 0)]


def test_a_cut_batch_waits_for_the_next_chunk() -> None:
    first, second = batch_of([commit("a", 1)]), batch_of([commit("b", 1)], 1)
    for cut in (1, HEADER_SIZE, len(second) - 1):
        survivors = GroupSurvivors()
        assert survivors.feed(first + second[:cut], 0, EVERYTHING) == 1
        assert survivors.feed(second, 1, EVERYTHING) == 2
        assert len(survivors) == 2


def test_unknown_types_are_skipped_with_one_warning(caplog: pytest.LogCaptureFixture) -> None:
    unknown = [Record(0, NOW, b"\x00\x0b\x00\x01" + name, b"\x00\x00") for name in (b"a", b"b")]
    known = Record(0, NOW, *encode_record(commit("a", 1)))
    with caplog.at_level(logging.WARNING, logger="coordinator"):
        shard = replayed(survivors_of(build_batch([*unknown, known])))
    assert len(shard.records) == 1
    assert [record.getMessage() for record in caplog.records] == [
        "2 records of the unknown type 11 were skipped"
    ]


@pytest.mark.parametrize("producer_id", [-1, 7])
def test_a_record_that_cannot_be_decoded_fails_the_load(producer_id: int) -> None:
    key, _ = encode_record(commit("a", 1))
    batch = build_batch(
        [Record(0, NOW, key, b"\x00\x63")], producer_id=producer_id, transactional=producer_id > 0
    )
    with pytest.raises(CorruptMessage, match=key.hex()):
        replayed(survivors_of(batch))


def test_a_record_that_was_overwritten_need_not_be_readable() -> None:
    key, _ = encode_record(commit("a", 1))
    survivors = survivors_of(build_batch([Record(0, NOW, key, b"\x00\x63")]), batch_of([commit("a", 2)], 1))
    assert replayed(survivors).records == [(commit("a", 2), -1)]


@pytest.mark.parametrize("key", [None, b"", b"\x00"])
@pytest.mark.parametrize("producer_id", [-1, 7])
def test_a_record_without_a_key_fails_the_load(key: bytes | None, producer_id: int) -> None:
    batch = build_batch([Record(0, NOW, key, b"value")], producer_id=producer_id)
    with pytest.raises((InvalidRecord, CorruptMessage)):
        survivors_of(batch)


@given(st.lists(batches, min_size=1, max_size=4), st.data())
def test_damaged_bytes_are_read_or_refused(log: list[Written], data: st.DataObject) -> None:
    damaged = bytearray(encode_log(log))
    for _ in range(3):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(KafkaError):
        survivors = survivors_of(bytes(damaged))
        replayed(survivors)
