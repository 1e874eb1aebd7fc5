"""Each pipeline over the same events, compared with pandas over what the generator says it made."""

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
from pandas.testing import assert_frame_equal
from tests.integration.pipelines.conftest import Sent
from tests.integration.pipelines.reading import records, table, values

from barnabas.pipelines.generator.plan import Kind

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.needs("pyspark", "java")

WATERMARK = pd.Timedelta(minutes=10)
GAP = pd.Timedelta(minutes=30)


@pytest.fixture(scope="module")
def ran(pipelines_spark: "SparkSession", sent: Sent, warehouse: Path) -> Sent:
    """All three pipelines to the end of the data, one query after the other: a test machine is small."""
    from barnabas.pipelines.activity_tracking import pipeline as activity
    from barnabas.pipelines.common import topics
    from barnabas.pipelines.common.running import Runner
    from barnabas.pipelines.log_collection import pipeline as logs
    from barnabas.pipelines.metrics_alerts import pipeline as metrics

    common: dict[str, Any] = {
        "bootstrap_server": sent.bootstrap_server,
        "warehouse": str(warehouse),
        "available_now": True,
        "restarts": 20,
    }
    started = [
        *logs.queries(pipelines_spark, logs.LogSettings(**common)),
        *activity.queries(pipelines_spark, activity.ActivitySettings(**common)),
        *metrics.queries(pipelines_spark, metrics.MetricsSettings(**common)),
    ]
    names = [
        "access-logs.error-rates", "access-logs.dead-letters", "activity.sessions", "activity.page-counts",
        "activity.top-pages", "activity.dead-letters", "metrics.windows", "metrics.alerts",
        "metrics.dead-letters",
    ]  # fmt: skip
    topics.ensure(sent.bootstrap_server, names, 2)
    for query in started:
        assert Runner(logs.LogSettings(**common)).run([query]) == 0, query.name
    return sent


def times(column: "pd.Series[int]") -> "pd.Series[pd.Timestamp]":
    return pd.to_datetime(column, unit="ms", utc=True)


def logs_frame(sent: Sent) -> pd.DataFrame:
    return pd.DataFrame(sent.truth.kept_logs).assign(time=lambda rows: times(rows.time_ms))


def activity_frame(sent: Sent) -> pd.DataFrame:
    return pd.DataFrame(sent.truth.kept_activities).assign(time=lambda rows: times(rows.time_ms))


def samples_frame(sent: Sent) -> pd.DataFrame:
    return pd.DataFrame(sent.truth.kept_samples).assign(time=lambda rows: times(rows.time_ms))


def same(found: pd.DataFrame, expected: pd.DataFrame, by: list[str]) -> None:
    """Equal but for order, types of the same numbers, and units of time."""
    assert len(expected) > 0

    def plain(frame: pd.DataFrame) -> pd.DataFrame:
        frame = frame[list(expected.columns)].sort_values(by).reset_index(drop=True)
        for name, kind in frame.dtypes.items():
            if isinstance(kind, pd.DatetimeTZDtype):
                frame[name] = frame[name].astype("datetime64[us, UTC]")
        return frame

    assert_frame_equal(plain(found), plain(expected), check_dtype=False)


# --- log collection ------------------------------------------------------------------------------------


def test_every_good_line_is_in_the_table_once(ran: Sent, warehouse: Path) -> None:
    columns = ["time", "service", "address", "user", "method", "path", "status", "size", "referrer", "agent",
               "latency_ms"]  # fmt: skip
    found = table(warehouse, "access_logs")
    same(found, logs_frame(ran)[columns], columns)
    assert not found.duplicated(["source_partition", "source_offset"]).any()


def test_lines_lie_in_the_partition_of_their_hour(ran: Sent, warehouse: Path) -> None:
    found = table(warehouse, "access_logs")
    assert (found.hour.astype(int) == found.time.dt.hour).all()
    assert (found.date.astype(str) == found.time.dt.strftime("%Y-%m-%d")).all()
    assert (warehouse / "access_logs" / "date=2026-01-01" / "hour=1").is_dir()


def test_error_rates_per_service_and_window(ran: Sent) -> None:
    lines = logs_frame(ran)
    lines["window_start"] = lines.time.dt.floor("1min")
    groups = lines.groupby(["service", "window_start"])
    expected = groups.agg(
        requests=("status", "size"), errors=("status", lambda s: (s >= 500).sum())
    ).reset_index()
    expected["window_end"] = expected.window_start + pd.Timedelta(minutes=1)
    expected["error_rate"] = expected.errors / expected.requests
    closed = expected[expected.window_end <= lines.time.max() - WATERMARK]
    found = values(ran.bootstrap_server, "access-logs.error-rates")
    same(found, closed, ["service", "window_start"])
    assert closed.errors.sum() > 0


def test_error_rates_are_keyed_by_service(ran: Sent) -> None:
    keys = {record.key for record in records(ran.bootstrap_server, "access-logs.error-rates")}
    assert keys == {b"web", b"catalog", b"search", b"checkout", b"auth"}


# --- activity tracking ---------------------------------------------------------------------------------


def test_events_are_stored_as_they_were_sent(ran: Sent, warehouse: Path) -> None:
    found = table(warehouse, "activity")
    assert len(found) == len(ran.truth.kept_activities) + ran.truth.second_copies
    same(
        found.drop_duplicates("event_id"),
        activity_frame(ran)[["event_id", "type", "user", "page", "element", "device", "country", "time"]],
        ["event_id"],
    )


def test_sessions_are_the_visits_of_the_generator(ran: Sent, warehouse: Path) -> None:
    expected = pd.DataFrame(ran.truth.kept_sessions)
    expected = expected.assign(start=times(expected.start_ms), end=times(expected.end_ms))
    expected["duration_ms"] = expected.end_ms - expected.start_ms
    last = activity_frame(ran).time.max()
    closed = expected[expected.end + GAP <= last - WATERMARK]
    closed = closed[["user", "start", "end", "duration_ms", "views", "clicks"]]
    same(values(ran.bootstrap_server, "activity.sessions"), closed, ["user", "start"])
    same(table(warehouse, "sessions"), closed, ["user", "start"])


def expected_page_counts(sent: Sent) -> pd.DataFrame:
    events = activity_frame(sent)
    events["window_start"] = events.time.dt.floor("5min")
    groups = events.groupby(["page", "window_start"])
    counts = groups.agg(
        views=("type", lambda s: (s == "view").sum()), clicks=("type", lambda s: (s == "click").sum())
    ).reset_index()
    return counts[counts.window_start + pd.Timedelta(minutes=5) <= events.time.max() - WATERMARK]


def test_counts_per_page_and_window(ran: Sent, warehouse: Path) -> None:
    expected = expected_page_counts(ran)
    same(values(ran.bootstrap_server, "activity.page-counts"), expected, ["page", "window_start"])
    same(table(warehouse, "page_counts"), expected, ["page", "window_start"])


def test_top_pages_of_each_window(ran: Sent, warehouse: Path) -> None:
    counts = expected_page_counts(ran).sort_values(
        ["window_start", "views", "page"], ascending=[True, False, True]
    )
    counts["rank"] = counts.groupby("window_start").cumcount() + 1
    expected = counts[counts["rank"] <= 10]
    same(values(ran.bootstrap_server, "activity.top-pages"), expected, ["window_start", "rank"])
    same(table(warehouse, "top_pages"), expected, ["window_start", "rank"])


# --- metrics and alerts --------------------------------------------------------------------------------


def expected_windows(sent: Sent) -> pd.DataFrame:
    samples = samples_frame(sent)
    samples["window_start"] = samples.time.dt.floor("1min")
    groups = samples.sort_values("time").groupby(["host", "metric", "window_start"]).value
    found = groups.agg(samples="size", mean="mean", least="min", most="max", last="last").reset_index()
    found["window_end"] = found.window_start + pd.Timedelta(minutes=1)
    before = found[["host", "metric", "window_start", "mean"]].rename(columns={"mean": "mean_before"})
    before["window_start"] += pd.Timedelta(minutes=1)
    found = found.merge(before, how="left", on=["host", "metric", "window_start"])
    return found[found.window_end <= samples.time.max() - WATERMARK]


def test_windows_of_metrics(ran: Sent, warehouse: Path) -> None:
    expected = expected_windows(ran)
    by = ["host", "metric", "window_start"]
    same(table(warehouse, "metric_windows"), expected, by)
    same(values(ran.bootstrap_server, "metrics.windows"), expected, by)


def test_alerts_are_what_the_rules_say(ran: Sent, warehouse: Path) -> None:
    from barnabas.pipelines.metrics_alerts.rules import RULES

    rows = expected_windows(ran)
    found = []
    for rule in RULES:
        of_metric = rows[rows.metric == rule.metric]
        difference = (of_metric["mean"] - of_metric.mean_before).abs()
        above = of_metric[of_metric["mean"] > rule.limit].assign(kind="threshold")
        large = (difference >= rule.least_change) & (difference > rule.change * of_metric.mean_before)
        found += [above, of_metric[large].assign(kind="change")]
    columns = ["host", "metric", "kind", "window_start"]
    expected = pd.concat(found)[columns]
    same(values(ran.bootstrap_server, "metrics.alerts"), expected, columns)
    same(table(warehouse, "alerts"), expected, columns)


def test_alerts_name_the_hosts_in_trouble_and_no_others(ran: Sent) -> None:
    found = values(ran.bootstrap_server, "metrics.alerts")
    troubled = {(each.host, each.metric) for each in ran.truth.incidents}
    assert {(row.host, row.metric) for row in found.itertuples()} == troubled
    spikes = {(each.host, each.metric) for each in ran.truth.incidents if each.kind == "spike"}
    assert {(row.host, row.metric) for row in found[found.kind == "change"].itertuples()} == spikes


# --- dead letters --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "pipeline"), [(Kind.LOG, "logs"), (Kind.ACTIVITY, "activity"), (Kind.METRIC, "metrics")]
)
def test_what_cannot_be_parsed_is_a_dead_letter_with_its_reason(ran: Sent, kind: Kind, pipeline: str) -> None:
    letters = records(ran.bootstrap_server, f"{kind}.dead-letters")
    headers = [letter.headers for letter in letters]
    expected = {reason: count for (of, reason), count in ran.truth.malformed.items() if of is kind}
    assert Counter(each["error"].decode() for each in headers) == expected
    assert {each["pipeline"] for each in headers} == {pipeline.encode()}
    originals = {(each.partition, each.offset): each for each in records(ran.bootstrap_server, kind.value)}
    for letter, header in zip(letters, headers, strict=True):
        assert header["source-topic"] == kind.value.encode()
        original = originals.pop((int(header["source-partition"]), int(header["source-offset"])))
        assert (letter.key, letter.value, letter.timestamp) == (
            original.key, original.value, original.timestamp,
        )  # fmt: skip
