import re
from html.parser import HTMLParser
from pathlib import Path

import pandas as pd
import pytest

from barnabas.pipelines.report.figures import Figures, over_time, read_figures
from barnabas.pipelines.report.highlights import highlights
from barnabas.pipelines.report.page import page
from barnabas.pipelines.report.span import bucket_for

T = 1_794_819_600.0  # 2026-11-16 09:00 UTC
NASTY = "<script>&/\"x'"


@pytest.fixture
def figures() -> Figures:
    times = [T, T + 300, T + 900]
    return Figures(
        300,
        traffic=pd.DataFrame(
            {
                "time": [*times, T],
                "service": ["web", "web", "web", NASTY],
                "requests": [100, 200, 50, 40],
                "errors": [1, 2, 25, 0],
            }
        ),
        latency=pd.DataFrame(
            {"time": times, "p50": [10, 11, 12], "p95": [50, 60, 900], "p99": [70, 80, 2000]}
        ),
        services=pd.DataFrame(
            {
                "service": ["web", NASTY],
                "requests": [350, 40],
                "errors": [28, 0],
                "p50": [1, 1],
                "p95": [2, 2],
                "p99": [3, 3],
            }
        ),
        pages=pd.DataFrame({"page": ["/", NASTY], "views": [30, 10], "clicks": [1, 2], "users": [9, 9]}),
        sessions=pd.DataFrame(
            {"time": [T, T], "device": ["phone", "tv"], "sessions": [3, 4], "views": [1, 1], "clicks": [0, 0]}
        ),
        session_lengths=pd.DataFrame({"minutes": [0, 3, 500], "sessions": [5, 2, 1]}),
        hosts=pd.DataFrame(
            {"time": times, "metric": ["cpu_percent"] * 3, "mean": [1.0, 2, 3], "most": [5, 6, 99]}
        ),
        alerts=pd.DataFrame(
            {
                "host": ["web-1"] * 3,
                "metric": ["cpu_percent"] * 3,
                "kind": ["threshold", "threshold", "silence"],
                "window_start": [T, T + 60, T + 600],
                "window_end": [T + 60, T + 120, T + 660],
                "mean": [95.0, 96.0, None],
                "message": ["mean above limit"] * 2 + ["no samples"],
            }
        ),
        dead_letters=pd.DataFrame({"topic": ["metrics"], "reason": [NASTY], "letters": [7]}),
    )


class _Balanced(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        if tag not in ("meta",):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_is_whole_and_needs_nothing_else(figures: Figures) -> None:
    written = page(figures, "All <of> it")
    parser = _Balanced()
    parser.feed(written)
    assert parser.open == []
    assert "script" not in parser.tags
    assert "All &lt;of&gt; it" in written
    assert not re.search(r"(src|href|url)\s*[=(]", written)
    assert "prefers-color-scheme: dark" in written


def test_every_part_is_on_the_page(figures: Figures) -> None:
    written = page(figures)
    headings = re.findall(r"<h2>(.*?)</h2>", written)
    assert headings == [
        "Traffic", "Latency", "Errors per service", "Top pages", "Sessions", "Session length", "Dead letters",
        "Alerts", "CPU, %",
    ]  # fmt: skip
    assert written.count("<svg") >= len(headings)
    assert "nan" not in re.sub(r"<style>.*?</style>", "", written)


def test_names_from_the_tables_are_text_not_markup(figures: Figures) -> None:
    assert NASTY not in page(figures)


def test_parts_without_tables_are_left_out() -> None:
    only_pages = Figures(300, pages=pd.DataFrame({"page": ["/"], "views": [1], "clicks": [0], "users": [1]}))
    assert re.findall(r"<h2>(.*?)</h2>", page(only_pages)) == ["Top pages"]
    assert "The tables are empty." in page(Figures(300))


def test_alerts_that_follow_each_other_are_one_mark(figures: Figures) -> None:
    marks = re.findall(r'class="mark (\w+)"/?>', page(figures).partition("<svg")[2])
    assert sorted(marks) == ["silence", "silence", "threshold", "threshold"]  # the legend has each once


def test_highlights_name_what_stands_out(figures: Figures) -> None:
    found = " ".join(highlights(figures))
    assert "web at 09:15, 50% of its requests" in found
    assert "900 ms" in found
    assert "Most seen: /, 75%" in found
    assert "3 alerts, from web-1." in found


def test_times_without_rows_are_zero(figures: Figures) -> None:
    assert figures.traffic is not None
    series = over_time(figures.traffic, figures.times, "requests", "service")
    assert series["web"] == [100, 200, 0, 50]


def test_views_are_read_back(tmp_path: Path) -> None:
    times = pd.to_datetime([T], unit="s", utc=True)
    for name, frame in {
        "latency": pd.DataFrame({"time": times, "p50": [1], "p95": [2], "p99": [3]}),
        "dead_letters_a": pd.DataFrame({"topic": ["a"], "reason": ["x"], "letters": [1]}),
        "dead_letters_b": pd.DataFrame({"topic": ["b"], "reason": ["y"], "letters": [2]}),
    }.items():
        (tmp_path / name).mkdir()
        frame.to_parquet(tmp_path / name / "part.parquet")
    found = read_figures(tmp_path, 300)
    assert found.times == [T]
    assert found.dead_letters is not None
    assert found.dead_letters["letters"].sum() == 3
    assert found.traffic is None


@pytest.mark.parametrize(("hours", "seconds"), [(1, 60), (6, 300), (24, 600), (24 * 30, 21_600)])
def test_points_are_as_wide_as_the_span_requires(hours: int, seconds: int) -> None:
    assert bucket_for(hours * 3600) == seconds
