import pytest

from barnabas.client.admin.group_lag import PartitionLag
from barnabas.client.admin.group_offsets import CommittedOffset
from barnabas.client.admin.group_progress import (
    WINDOW,
    PartitionProgress,
    ProgressMeter,
    total_catch_up,
    total_rate,
)


def _row(current: int | None, end: int | None, partition: int = 0) -> PartitionLag:
    committed = None if current is None else CommittedOffset(current, None, "")
    return PartitionLag("t", partition, committed, end, None)


def _second_look(before: PartitionLag, after: PartitionLag, passed: float = 2.0) -> PartitionProgress:
    meter = ProgressMeter()
    meter.sample([before], 100.0)
    (progress,) = meter.sample([after], 100.0 + passed)
    return progress


def test_first_look_knows_no_rate() -> None:
    (progress,) = ProgressMeter().sample([_row(0, 100)], 5.0)
    assert (progress.rate, progress.catch_up) == (None, None)


def test_rate_is_what_was_committed_between_two_looks() -> None:
    progress = _second_look(_row(0, 100), _row(20, 100))
    assert progress.rate == 10.0
    assert progress.catch_up == 8.0


def test_what_is_produced_meanwhile_makes_catching_up_longer() -> None:
    assert _second_look(_row(0, 100), _row(20, 110)).catch_up == 18.0


@pytest.mark.parametrize("after", [_row(0, 100), _row(5, 110), _row(5, 105)])
def test_group_that_does_not_gain_never_catches_up(after: PartitionLag) -> None:
    assert _second_look(_row(0, 100), after).catch_up is None


def test_group_that_is_done_has_nothing_to_catch_up() -> None:
    (progress,) = ProgressMeter().sample([_row(7, 7)], 0.0)
    assert progress.catch_up == 0.0


def test_partition_without_offsets_has_no_progress() -> None:
    progress = _second_look(_row(None, 100), _row(None, 100))
    assert (progress.rate, progress.catch_up) == (None, None)


def test_rate_is_taken_over_the_window_so_that_pauses_between_commits_do_not_show() -> None:
    meter = ProgressMeter()
    for second in range(6):
        meter.sample([_row(0 if second < 5 else 50, 1000)], float(second))
    (progress,) = meter.sample([_row(50, 1000)], 6.0)
    assert progress.rate == round(50 / 6, 1)


def test_what_happened_before_the_window_is_forgotten() -> None:
    meter = ProgressMeter()
    meter.sample([_row(0, 1000)], 0.0)
    meter.sample([_row(900, 1000)], 1.0)
    (progress,) = meter.sample([_row(900, 1000)], 1.0 + WINDOW)
    assert progress.rate == 0.0


def test_totals() -> None:
    slow = PartitionProgress(_row(0, 10), 1.5, 60.0)
    done = PartitionProgress(_row(10, 10, 1), 0.0, 0.0)
    stuck = PartitionProgress(_row(0, 10, 2), 0.0, None)
    unknown = PartitionProgress(_row(None, 10, 3), None, None)
    assert total_rate([slow, done, unknown]) == 1.5
    assert total_rate([unknown]) is None
    assert total_catch_up([slow, done, unknown]) == 60.0
    assert total_catch_up([slow, stuck]) is None
    assert total_catch_up([unknown]) is None
