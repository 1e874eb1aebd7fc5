"""The numbers behind the page, compared with pandas; and the whole: Declarative Pipelines, then the page."""

from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.integration.pipelines.conftest import PLAN

from barnabas.pipelines.generator import Run, Truth
from barnabas.pipelines.generator.plan import Kind

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.needs("pyspark", "java")
BUCKET = 600
_HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))


@pytest.fixture(scope="module")
def truth() -> Truth:
    run = Run(PLAN)
    for _ in run:
        pass
    return run.truth


@pytest.fixture(scope="module")
def tables(truth: Truth, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tables as the pipelines make them, of what the generator says it made."""
    home = tmp_path_factory.mktemp("tables")
    logs = pd.DataFrame(truth.kept_logs)
    logs["time"] = pd.to_datetime(logs.pop("time_ms"), unit="ms", utc=True)
    save(home, "access_logs", logs)
    activity = pd.DataFrame(truth.kept_activities)
    activity["time"] = pd.to_datetime(activity.pop("time_ms"), unit="ms", utc=True)
    save(home, "activity", pd.concat([activity, activity.head(50)]))
    sessions = pd.DataFrame(
        [(each.user, each.start_ms, each.end_ms, each.views) for each in truth.kept_sessions]
    )
    sessions.columns = pd.Index(["user", "start", "end", "views"])
    sessions = sessions.assign(duration_ms=sessions["end"] - sessions["start"], device="phone", clicks=0)
    sessions["start"] = pd.to_datetime(sessions["start"], unit="ms", utc=True)
    save(home, "sessions", sessions.drop(columns="end"), "start")
    letters = [
        [{"key": "error", "value": b"mine"}, {"key": "error", "value": reason.encode()},
         {"key": "source-topic", "value": kind.value.encode()}]
        for (kind, reason), count in truth.malformed.items() if kind is Kind.METRIC for _ in range(count)
    ]  # fmt: skip
    directory = home / "metrics.dead-letters" / "date=2026-01-01" / "hour=0"
    directory.mkdir(parents=True)
    pq.write_table(pa.table({"headers": pa.array(letters, _HEADERS)}), directory / "a-000.parquet")
    return home


def save(home: Path, name: str, frame: pd.DataFrame, time: str = "time") -> None:
    for hour, rows in frame.groupby(frame[time].dt.floor("h")):
        directory = home / name / f"date={hour:%Y-%m-%d}" / f"hour={hour.hour}"
        directory.mkdir(parents=True)
        rows.to_parquet(directory / "a-000.parquet", index=False, coerce_timestamps="us")


def made(spark: "SparkSession", tables: Path, name: str) -> pd.DataFrame:
    from barnabas.pipelines.common.warehouse import Warehouse
    from barnabas.pipelines.report.aggregates import VIEWS

    view = next(view for view in VIEWS if view.name == name)
    return view.of(spark, Warehouse(str(tables)), BUCKET).toPandas()


def test_traffic_and_errors_are_those_of_the_lines(
    pipelines_spark: "SparkSession", tables: Path, truth: Truth
) -> None:
    rows = made(pipelines_spark, tables, "traffic")
    assert rows["requests"].sum() == sum(truth.requests.values())
    lines = pd.DataFrame(truth.kept_logs)
    lines["time"] = lines["time_ms"] // 1000 // BUCKET * BUCKET
    expected = lines.groupby(["time", "service"]).agg(
        requests=("status", "size"), errors=("status", lambda status: int((status >= 500).sum()))
    )
    seconds = pd.to_datetime(rows["time"], utc=True).dt.as_unit("s").astype("int64")
    found = rows.assign(time=seconds).set_index(["time", "service"]).sort_index()
    pd.testing.assert_frame_equal(found, expected.sort_index(), check_dtype=False)


def test_percentiles_of_latency_are_those_of_the_lines(
    pipelines_spark: "SparkSession", tables: Path, truth: Truth
) -> None:
    rows = made(pipelines_spark, tables, "services").set_index("service")
    latencies = pd.DataFrame(truth.kept_logs).groupby("service")["latency_ms"]
    for name, share in (("p50", 0.5), ("p95", 0.95)):
        expected = latencies.quantile(share, interpolation="lower")
        assert rows[name].sort_index().tolist() == pytest.approx(
            expected.sort_index().tolist(), rel=0.05, abs=2
        )


def test_views_count_an_event_once(pipelines_spark: "SparkSession", tables: Path, truth: Truth) -> None:
    rows = made(pipelines_spark, tables, "pages").set_index("page")
    assert rows["views"].to_dict() == {page: truth.views[page] for page in rows.index}
    assert rows["views"].sum() == sum(truth.views.values())


@pytest.mark.soak
def test_the_project_makes_the_views_and_the_page(
    spark: "SparkSession", tables: Path, truth: Truth, capsys: pytest.CaptureFixture[str]
) -> None:
    """The longest one: it starts a Spark of its own."""
    from barnabas.pipelines.report.figures import read_figures
    from barnabas.pipelines.report.pipeline import main

    output = tables / "page.html"
    words = [
        "--warehouse",
        str(tables),
        "--output",
        str(output),
        "--bucket",
        str(BUCKET),
        "--master",
        "local[2]",
    ]
    assert main(words) == 0
    assert capsys.readouterr().out == f"{output}\n"
    figures = read_figures(tables / "_report" / "views", BUCKET)
    assert figures.sessions is not None
    assert figures.sessions["sessions"].sum() == truth.sessions
    assert figures.dead_letters is not None
    reasons = {reason: count for (kind, reason), count in truth.malformed.items() if kind is Kind.METRIC}
    assert figures.dead_letters.set_index("reason")["letters"].to_dict() == reasons
    assert set(figures.dead_letters["topic"]) == {"metrics"}
    assert figures.alerts is None
    assert "<h2>Dead letters</h2>" in output.read_text()
    assert "<h2>Alerts</h2>" not in output.read_text()


def test_an_empty_warehouse_is_reported_in_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from barnabas.pipelines.report.pipeline import main

    assert main(["--warehouse", str(tmp_path / "nothing")]) == 1
    assert "has no tables yet" in capsys.readouterr().err
