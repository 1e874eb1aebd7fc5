"""Offsets committed in transactions: pending until the marker, and the newest of all commits wins."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.unit.group.offsets.offsets_shard import OffsetsShard

from barnabas.group.records import CommittedOffset, OffsetCommit


def test_a_pending_offset_counts_once_its_transaction_is_committed() -> None:
    shard = OffsetsShard()
    shard.put("g", "orders", 0, 5, producer_id=40)
    assert shard.groups.find("g") is not None
    assert shard.offset("g", "orders", 0) == -1
    assert shard.offsets.has_offsets("g")
    shard.offsets.replay_end_marker(40, commit=True)
    assert shard.offset("g", "orders", 0) == 5


def test_an_aborted_transaction_leaves_the_offset_as_it_was() -> None:
    shard = OffsetsShard()
    shard.put("g", "orders", 0, 5)
    shard.put("g", "orders", 0, 6, producer_id=40)
    shard.offsets.replay_end_marker(40, commit=False)
    assert shard.offset("g", "orders", 0) == 5


def test_a_commit_that_came_later_is_not_overwritten_by_the_marker() -> None:
    shard = OffsetsShard()
    shard.put("g", "orders", 0, 5, producer_id=40)
    shard.put("g", "orders", 0, 9)
    shard.offsets.replay_end_marker(40, commit=True)
    assert shard.offset("g", "orders", 0) == 9


def test_of_two_transactions_the_later_record_wins_whichever_ends_last() -> None:
    for order in ((40, 41), (41, 40)):
        shard = OffsetsShard()
        shard.put("g", "orders", 0, 5, producer_id=40)
        shard.put("g", "orders", 0, 6, producer_id=41)
        for producer_id in order:
            shard.offsets.replay_end_marker(producer_id, commit=True)
        assert shard.offset("g", "orders", 0) == 6


def test_a_marker_of_a_stranger_changes_nothing() -> None:
    shard = OffsetsShard()
    shard.offsets.replay_end_marker(40, commit=True)
    assert len(shard.offsets) == 0


class _KafkasRule:
    """The same by record offsets, as Kafka keeps them."""

    def __init__(self) -> None:
        self.committed: dict[int, tuple[int, int]] = {}
        self.pending: dict[int, dict[int, tuple[int, int]]] = {}

    def commit(self, at: int, partition: int, producer_id: int) -> None:
        store = self.committed if producer_id < 0 else self.pending.setdefault(producer_id, {})
        store[partition] = (at, at)

    def delete(self, partition: int) -> None:
        self.committed.pop(partition, None)
        for pending in self.pending.values():
            pending.pop(partition, None)

    def end(self, producer_id: int, commit: bool) -> None:
        for partition, (at, offset) in self.pending.pop(producer_id, {}).items():
            existing = self.committed.get(partition)
            if commit and (existing is None or at > existing[0]):
                self.committed[partition] = (at, offset)

    def is_open(self, partition: int) -> bool:
        return any(partition in pending for pending in self.pending.values())


_steps = st.lists(
    st.one_of(
        st.tuples(st.just("commit"), st.integers(0, 2), st.integers(-1, 3)),
        st.tuples(st.just("delete"), st.integers(0, 2)),
        st.tuples(st.just("end"), st.integers(0, 3), st.booleans()),
    ),
    max_size=40,
)


@given(_steps)
def test_any_mix_of_commits_transactions_and_deletions_ends_as_record_offsets_say(
    steps: list[Any],
) -> None:
    shard, rule = OffsetsShard(), _KafkasRule()
    for at, step in enumerate(steps):
        if step[0] == "commit":
            rule.commit(at, step[1], step[2])
            shard.put("g", "orders", step[1], at, producer_id=step[2])
        elif step[0] == "delete":
            rule.delete(step[1])
            shard.replay(OffsetCommit("g", "orders", step[1], None))
        else:
            rule.end(step[1], step[2])
            shard.offsets.replay_end_marker(step[1], commit=step[2])
        expected = {("g", "orders", partition): value[1] for partition, value in rule.committed.items()}
        assert shard.all_offsets() == expected
        assert len(shard.offsets) == len(expected)
        is_open = any(map(rule.is_open, range(3)))
        assert shard.offsets.has_offsets("g") == bool(expected or is_open)
        deleted = {record.partition for record in shard.offsets.delete_all("g")}
        assert deleted == {p for p in range(3) if rule.is_open(p) or ("g", "orders", p) in expected}


def test_a_value_keeps_all_its_fields_through_a_transaction() -> None:
    shard = OffsetsShard()
    value = CommittedOffset(5, 3, "note", 123)
    shard.replay(OffsetCommit("g", "orders", 0, value), producer_id=40)
    shard.offsets.replay_end_marker(40, commit=True)
    assert shard.offsets.delete_all("g") == [OffsetCommit("g", "orders", 0, None)]
    assert shard.offset("g", "orders", 0) == 5
