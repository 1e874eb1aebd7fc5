import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.client.admin.offset_reset import (
    Adjustment,
    NewOffset,
    NothingToShift,
    PartitionFacts,
    ShiftBy,
    Strategy,
    ToCurrent,
    ToEarliest,
    ToLatest,
    ToOffset,
    ToOffsets,
    ToTime,
    decide,
)

FACTS = PartitionFacts(start=10, end=50, committed=30, at_time=20)
PARTITION = ("t", 0)


def _decided(strategy: Strategy, facts: PartitionFacts = FACTS) -> NewOffset:
    (new,) = decide(strategy, {PARTITION: facts})
    return new


@pytest.mark.parametrize(
    ("strategy", "expected"),
    [
        (ToEarliest(), 10),
        (ToLatest(), 50),
        (ToCurrent(), 30),
        (ToOffset(25), 25),
        (ToOffset(10), 10),
        (ToOffset(50), 50),
        (ShiftBy(5), 35),
        (ShiftBy(-5), 25),
        (ToTime(1), 20),
        (ToOffsets({PARTITION: 44}), 44),
    ],
)
def test_strategy_gives_its_offset(strategy: Strategy, expected: int) -> None:
    new = _decided(strategy)
    assert (new.offset, new.adjustment, new.committed) == (expected, None, 30)


@pytest.mark.parametrize("strategy", [ToOffset(51), ShiftBy(100), ToOffsets({PARTITION: 51})])
def test_offset_behind_the_end_becomes_the_end(strategy: Strategy) -> None:
    new = _decided(strategy)
    assert (new.offset, new.adjustment) == (50, Adjustment.HIGHER_THAN_END)
    assert new.requested is not None
    assert new.requested > 50


@pytest.mark.parametrize("strategy", [ToOffset(9), ShiftBy(-100), ToOffsets({PARTITION: -1})])
def test_offset_before_the_start_becomes_the_start(strategy: Strategy) -> None:
    new = _decided(strategy)
    assert (new.offset, new.adjustment) == (10, Adjustment.LOWER_THAN_START)


def test_time_after_all_records_becomes_the_end() -> None:
    new = _decided(ToTime(99), PartitionFacts(start=10, end=50))
    assert (new.offset, new.adjustment) == (50, Adjustment.NO_RECORD_THAT_LATE)


def test_current_of_a_partition_without_a_committed_offset_is_the_end() -> None:
    assert _decided(ToCurrent(), PartitionFacts(start=10, end=50)).offset == 50


def test_shift_needs_a_committed_offset() -> None:
    with pytest.raises(NothingToShift, match="Cannot shift offset for partition t-0 since"):
        _decided(ShiftBy(1), PartitionFacts(start=0, end=5))


def test_plan_is_in_order_of_topics_and_numbers() -> None:
    facts = dict.fromkeys([("b", 10), ("b", 2), ("a", 0)], FACTS)
    assert [(new.topic, new.partition) for new in decide(ToLatest(), facts)] == [
        ("a", 0),
        ("b", 2),
        ("b", 10),
    ]


_OFFSETS = st.integers(0, 1 << 40)


@given(st.tuples(_OFFSETS, _OFFSETS).map(sorted), _OFFSETS, st.integers(-(1 << 41), 1 << 41))
def test_new_offset_is_always_within_the_log(bounds: list[int], committed: int, number: int) -> None:
    facts = PartitionFacts(bounds[0], bounds[1], committed)
    for strategy in (ToOffset(number), ShiftBy(number), ToOffsets({PARTITION: number})):
        assert bounds[0] <= _decided(strategy, facts).offset <= bounds[1]
