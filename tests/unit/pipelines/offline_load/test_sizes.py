import pytest

from barnabas.pipelines.offline_load.sizes import USUAL_RATIO, Slice, layout, ratio_of


def test_the_ratio_is_what_the_last_batches_had() -> None:
    assert ratio_of([(1000, 250), (3000, 750)]) == 0.25
    assert ratio_of([]) == ratio_of([(0, 10)]) == USUAL_RATIO


def test_a_small_batch_is_one_file_per_hour() -> None:
    chosen = layout([Slice(10, 1000), Slice(5, 500)], 1_000_000, 0.5)
    assert (chosen.files_per_hour, chosen.tasks) == (1, 2)


def test_a_large_hour_is_cut_near_the_target() -> None:
    chosen = layout([Slice(1000, 10_000_000)], 1_000_000, 0.5)
    assert chosen.files_per_hour == 5
    assert chosen.records_per_file == pytest.approx(200)


def test_a_little_more_than_the_target_is_not_two_files() -> None:
    assert layout([Slice(100, 1_050_000)], 1_000_000, 1.0).files_per_hour == 1
