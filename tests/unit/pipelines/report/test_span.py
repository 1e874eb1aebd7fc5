"""Which hours the page draws, and that one event with a wrong clock neither widens nor slows it."""

from pathlib import Path

import pandas as pd
import pytest

from barnabas.pipelines.report.charts.ticks import time_ticks
from barnabas.pipelines.report.figures import Figures, read_figures
from barnabas.pipelines.report.page import page
from barnabas.pipelines.report.span import Span, bucket_for, span_of

NINE = 1_794_819_600  # 2026-11-16 09:00 UTC
HOUR = 3600
YEARS = 56 * 365 * 86_400


def hours(first: int, count: int) -> set[str]:
    times = pd.to_datetime([first + HOUR * number for number in range(count)], unit="s", utc=True)
    return {f"date={each:%Y-%m-%d}/hour={each.hour}" for each in times}


def test_the_span_is_from_the_first_hour_to_the_end_of_the_last() -> None:
    assert span_of(hours(NINE, 2) | hours(NINE + 30 * HOUR, 1)) == Span(NINE, NINE + 31 * HOUR)
    assert span_of({"date=someday/hour=3", "plain"}) is None


def test_an_hour_far_from_the_others_is_left_out_and_named() -> None:
    found = span_of(hours(NINE, 6) | {"date=1970-01-01/hour=0"})
    assert found == Span(NINE, NINE + 6 * HOUR, (0,))
    assert "1 hour" in found.remark
    assert "1970-01-01" in found.remark
    assert bucket_for(found.seconds) == 300


def test_the_newest_of_equal_parts_is_drawn() -> None:
    found = span_of({"date=1970-01-01/hour=0"} | hours(NINE, 1))
    assert found is not None
    assert found.first == NINE


@pytest.mark.parametrize("seconds", [HOUR, 86_400, 86_400 * 400, YEARS])
def test_no_span_makes_more_points_than_a_plot_can_show(seconds: int) -> None:
    assert seconds / bucket_for(seconds) <= 150
    assert len(time_ticks(0, seconds)) <= 10


def test_rows_outside_the_span_are_on_no_plot(tmp_path: Path) -> None:
    times = pd.to_datetime([0, NINE, NINE + 300], unit="s", utc=True)
    (tmp_path / "latency").mkdir()
    frame = pd.DataFrame({"time": times, "p50": [1, 1, 1], "p95": [2, 2, 2], "p99": [3, 3, 3]})
    frame.to_parquet(tmp_path / "latency" / "part.parquet")
    figures = read_figures(tmp_path, 300, span_of(hours(NINE, 6) | {"date=1970-01-01/hour=0"}))
    assert figures.times == [NINE, NINE + 300]
    assert "1970-01-01" in page(figures)


def test_the_rows_are_looked_at_once_and_not_for_every_point(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = pd.DataFrame({"time": [0.0, float(YEARS)], "p50": [1, 1], "p95": [2, 2], "p99": [3, 3]})
    looks, timed = [], Figures._timed

    def counted(figures: Figures) -> list[pd.DataFrame]:
        looks.append(1)
        return timed(figures)

    monkeypatch.setattr(Figures, "_timed", counted)
    assert len(Figures(86_400, latency=frame).times) == 56 * 365 + 1
    assert len(looks) <= 2
