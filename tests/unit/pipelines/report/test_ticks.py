import pytest

from barnabas.pipelines.report.charts.ticks import number_ticks, short, time_label, time_ticks

NINE = 1_794_819_600.0  # 2026-11-16 09:00 UTC


@pytest.mark.parametrize(
    ("highest", "ticks"),
    [(0, [0, 1]), (9, [0, 2, 4, 6, 8, 10]), (400, [0, 100, 200, 300, 400]), (0.03, [0, 0.01, 0.02, 0.03])],
)
def test_numbers_are_round_and_reach_the_highest(highest: float, ticks: list[float]) -> None:
    assert number_ticks(highest) == pytest.approx(ticks)


def test_times_are_round_and_not_too_many() -> None:
    ticks = time_ticks(NINE + 7, NINE + 6 * 3600)
    assert ticks[0] == NINE + 3600
    assert len(ticks) <= 9
    assert time_label(ticks[0], ticks) == "10:00"


def test_midnight_of_several_days_is_a_day() -> None:
    midnight = NINE + 15 * 3600
    assert time_label(midnight, (NINE, NINE + 86_400)) == "Nov 17"


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0"), (7, "7"), (0.125, "0.12"), (1234, "1,234"), (12_345, "12.3k"), (2e6, "2M")]
)
def test_numbers_are_short(number: float, text: str) -> None:
    assert short(number) == text
