import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.spark.planning import Offsets
from barnabas.spark.planning.data_loss import DataLoss, Loss, out_of_range, plan_ranges, readable, report
from barnabas.spark.planning.ranges import OffsetRange

A, B = ("t", 0), ("t", 1)


def _read(start: Offsets, end: Offsets, earliest: Offsets) -> list[OffsetRange]:
    return readable(plan_ranges(start, end, earliest).ranges, earliest)


def _losses(start: Offsets, end: Offsets, earliest: Offsets) -> list[str]:
    return [str(each) for each in plan_ranges(start, end, earliest).losses]


def test_nothing_is_lost_where_the_log_still_has_it() -> None:
    planned = plan_ranges({A: 5, B: 7}, {A: 9, B: 7}, {A: 0, B: 7})
    assert planned.ranges == [OffsetRange("t", 0, 5, 9)]
    assert planned.losses == []


def test_what_aged_out_is_named_and_the_rest_is_read() -> None:
    planned = plan_ranges({A: 5}, {A: 150}, {A: 100})
    assert _read({A: 5}, {A: 150}, {A: 100}) == [OffsetRange("t", 0, 100, 150)]
    assert [str(each) for each in planned.losses] == ["t-0: offsets 5..99 are lost (log starts at 100)"]


def test_a_batch_names_only_its_own_losses() -> None:
    assert _losses({A: 5}, {A: 10}, {A: 100}) == ["t-0: offsets 5..9 are lost (log starts at 100)"]
    assert _losses({A: 9}, {A: 10}, {A: 100}) == ["t-0: offset 9 is lost (log starts at 100)"]
    assert _losses({A: 10}, {A: 10}, {A: 100}) == []


@pytest.mark.parametrize("earliest", [{A: 9, B: 0}, {B: 0}])
def test_a_partition_stays_in_its_task_when_another_one_is_lost(earliest: Offsets) -> None:
    """Expired as a whole, or deleted."""
    assert _read({A: 5, B: 5}, {A: 9, B: 9}, earliest) == [
        OffsetRange("t", 0, 9, 9),
        OffsetRange("t", 1, 5, 9),
    ]


def test_a_shrunk_log_is_named() -> None:
    planned = plan_ranges({A: 100}, {A: 40}, {A: 0})
    assert planned.ranges == []
    assert str(planned.losses[0]).startswith("t-0: offsets 40..99 are lost (log ends at 40")


def test_deleted_partitions_are_named() -> None:
    assert _losses({A: 5, B: 6}, {A: 5}, {A: 0}) == [
        "t-1: offsets from 6 on are lost (the partition was deleted)"
    ]
    assert _losses({A: 5}, {A: 9}, {}) == ["t-0: offsets 5..8 are lost (the partition was deleted)"]
    assert _losses({A: 5}, {A: 5}, {}) == []


def test_a_new_partition_is_read_from_its_start() -> None:
    planned = plan_ranges({A: 5}, {A: 5, B: 3}, {A: 0, B: 0})
    assert planned.ranges == [OffsetRange("t", 1, 0, 3)]
    assert planned.losses == []


def test_a_new_partition_that_does_not_begin_at_zero_has_lost_something() -> None:
    planned = plan_ranges({}, {B: 30}, {B: 10})
    assert _read({}, {B: 30}, {B: 10}) == [OffsetRange("t", 1, 10, 30)]
    assert [str(each) for each in planned.losses] == ["t-1: offsets 0..9 are lost (log starts at 10)"]


@given(st.integers(0, 50), st.integers(0, 50), st.integers(0, 50))
def test_every_offset_of_a_known_partition_is_read_or_lost(first: int, stop: int, earliest: int) -> None:
    planned = plan_ranges({A: first}, {A: stop}, {A: earliest})
    kept = _read({A: first}, {A: stop}, {A: earliest})
    read = {offset for each in kept for offset in range(each.start, each.stop)}
    lost = {offset for each in planned.losses for offset in range(each.first, each.stop or 0)}
    assert not read & lost
    assert read | lost == set(range(first, stop)) | set(range(stop, first))


@pytest.mark.parametrize(
    ("requested", "stop", "log_start", "log_end", "text"),
    [
        (5, 150, 100, 200, "t-0: offsets 5..99 are lost (log starts at 100)"),
        (5, 50, 100, 200, "t-0: offsets 5..49 are lost (log starts at 100)"),
        (60, 80, 0, 40, "t-0: offsets 40..79 are lost (log ends at 40"),
    ],
)
def test_a_brokers_refusal_in_offsets(
    requested: int, stop: int, log_start: int, log_end: int, text: str
) -> None:
    assert str(out_of_range(A, requested, stop, log_start, log_end)).startswith(text)


def test_loss_fails_or_warns() -> None:
    warned: list[str] = []
    losses = [Loss(A, 5, 100, "log starts at 100"), Loss(B, 1, None, "the partition was deleted")]
    with pytest.raises(
        DataLoss, match=r"set the source option failOnDataLoss to false. Reason: t-0: offsets 5..99"
    ):
        report(losses, fails=True, warn=warned.append)
    assert warned == []
    report(losses, fails=False, warn=warned.append)
    assert "t-0: offsets 5..99 are lost (log starts at 100); t-1: offsets from 1 on are lost" in warned[0]
    report([], fails=True, warn=warned.append)
