"""Transformations on a few rows by hand: the corners that the generator does not reach."""

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.needs("pyspark", "java")
NOON = datetime(2026, 11, 16, 12)  # noqa: DTZ001  (Spark's session is in UTC)
LINE = (
    '198.51.100.7 - ada [16/Nov/2026:12:00:00 +0000] "GET /cart HTTP/1.1" 200 5120 "-" "Firefox" 37 checkout'
)


def records(spark: "SparkSession", *values: str | None) -> "DataFrame":
    rows = [(None, None if each is None else each.encode(), "t", 0, n, NOON) for n, each in enumerate(values)]
    columns = "key binary, value binary, topic string, partition int, offset bigint, timestamp timestamp"
    return spark.createDataFrame(rows, columns)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (LINE, None),
        (LINE + "\n", None),
        (LINE.replace("5120", "-"), None),
        (LINE.replace("Firefox", r"a \"quoted\" name"), None),
        (LINE.replace("+0000", "+0200"), None),
        (LINE.replace("12:00:00 +0000", "13:00:01 +0000"), "time in the future"),
        (LINE.replace(" 200 ", " 600 "), "bad status"),
        (LINE.replace(" 37 ", " 99999999999999999999 "), "number out of range"),
        (LINE + " more", "not an access-log line"),
        ("", "not an access-log line"),
        (None, "not UTF-8"),
    ],
)
def test_lines_and_their_errors(
    pipelines_spark: "SparkSession", line: str | None, expected: str | None
) -> None:
    from barnabas.pipelines.log_collection.transformations import parse

    [row] = parse(records(pipelines_spark, line)).collect()
    assert row.error == expected
    if expected is None:
        assert (row.user, row.path, row.service, row.latency_ms) == ("ada", "/cart", "checkout", 37)
        assert row.size == (5120 if line and "5120" in line else 0)


@pytest.mark.parametrize("text", ["", "null", "5", "[1]", '{"type":', "<xml/>"])
def test_what_is_no_json_object_is_an_error(pipelines_spark: "SparkSession", text: str) -> None:
    from barnabas.pipelines.activity_tracking.transformations import parse

    [row] = parse(records(pipelines_spark, text)).collect()
    assert row.error == "not JSON"


def samples(spark: "SparkSession", *values: tuple[int, float]) -> "DataFrame":
    """(seconds after noon, reading) of one host's CPU."""
    rows = [("web-1", "cpu_percent", reading, NOON + timedelta(seconds=at)) for at, reading in values]
    return spark.createDataFrame(rows, "host string, metric string, reading double, time timestamp")


def alerts(spark: "SparkSession", *values: tuple[int, float]) -> list[tuple[str, int]]:
    """(kind, minute) of the alerts."""
    from barnabas.pipelines.metrics_alerts.rules import RULES
    from barnabas.pipelines.metrics_alerts.transformations import alerts, windows

    found = alerts(windows(samples(spark, *values), 60, "1 minute"), RULES).collect()
    return sorted((row.kind, int((row.window_start - NOON).total_seconds()) // 60) for row in found)


def test_a_host_that_falls_silent_is_one_alert(pipelines_spark: "SparkSession") -> None:
    assert alerts(pipelines_spark, (0, 30.0), (70, 31.0)) == [("silence", 2)]


def test_a_jump_is_a_change_up_and_a_change_down(pipelines_spark: "SparkSession") -> None:
    values = ((0, 30.0), (60, 95.0), (120, 96.0), (180, 30.0))
    assert alerts(pipelines_spark, *values) == [
        ("change", 1), ("change", 3), ("silence", 4), ("threshold", 1), ("threshold", 2),
    ]  # fmt: skip


def test_a_mean_at_the_limit_is_no_alert(pipelines_spark: "SparkSession") -> None:
    assert alerts(pipelines_spark, (0, 89.0), (30, 91.0)) == [("silence", 1)]
