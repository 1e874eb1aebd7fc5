import pytest
from benchmarks.medians import median, median_ratio, percentile


def test_percentile_is_the_nearest_rank() -> None:
    values = [float(n) for n in range(100, 0, -1)]
    assert percentile(values, 50) == 50
    assert percentile(values, 99) == 99
    assert percentile(values, 100) == 100


def test_percentile_of_a_single_value_is_that_value() -> None:
    assert percentile([7.0], 1) == 7.0
    assert percentile([7.0], 99) == 7.0


def test_percentile_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError):
        percentile([], 50)


def test_one_bad_round_does_not_move_the_median() -> None:
    assert median([100.0, 101.0, 3.0, 99.0, 102.0]) == 100.0


def test_ratio_is_of_the_medians() -> None:
    assert median_ratio([20.0, 30.0, 1000.0], [10.0, 10.0, 0.1]) == 3.0


def test_ratio_to_nothing_is_refused() -> None:
    with pytest.raises(ValueError):
        median_ratio([1.0], [0.0])
