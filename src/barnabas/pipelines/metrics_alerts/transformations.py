"""Metrics and alerts: what is done with samples. DataFrame in, DataFrame out; no source, no sink.

A sample is a JSON object:
{"host":"web-1","metric":"cpu_percent","value":41.5,"time":"2026-11-16T09:30:00.250Z"}

A window is compared with the one before it inside one aggregation: sliding windows of twice the length have
the window before as their first half and the window itself as their second. So there is no state but
Spark's own, and a host that fell silent is seen too: a first half with samples, a second half without.
"""

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

from barnabas.pipelines.common.text import (
    as_record,
    first_reason,
    is_ahead,
    json_checks,
    with_date_and_hour,
    with_json,
)
from barnabas.pipelines.metrics_alerts.rules import Rule

_REQUIRED = ("host", "metric", "value", "time")


def parse(records: DataFrame) -> DataFrame:
    """Samples to columns; the sample's value is `reading`. Adds `error`: why it is none, null for a good
    one.
    """
    with_fields = with_json(records, *_REQUIRED).withColumns(
        {
            "host": sf.col("json.host"),
            "metric": sf.col("json.metric"),
            "reading": sf.col("json.value").try_cast("double"),
            "time": sf.try_to_timestamp("json.time"),
        }
    )
    return with_fields.withColumn("error", _error()).drop("text", "json")


def _error() -> Column:
    return first_reason(
        *json_checks(_REQUIRED),
        (sf.col("reading").isNull() | sf.isnan("reading"), "value is not a number"),
        (sf.col("time").isNull(), "bad time"),
        (is_ahead(sf.col("time")), "time in the future"),
    )


def windows(samples: DataFrame, seconds: int, watermark: str) -> DataFrame:
    """Per host, metric and window: how many samples, mean, least, most, last; and the mean of the window
    before.

    A window without samples is there once, with a count of 0, after the last one that has some.
    """
    length = f"{seconds} seconds"
    middle = sf.col("window.start") + sf.expr(f"INTERVAL {seconds} SECONDS")
    with_window = samples.withWatermark("time", watermark).withColumn(
        "window", sf.window("time", f"{2 * seconds} seconds", length)
    )
    now = sf.when(sf.col("time") >= middle, sf.col("reading"))
    before = sf.when(sf.col("time") < middle, sf.col("reading"))
    return (
        with_window.groupBy("window", "host", "metric")
        .agg(
            sf.count(now).alias("samples"),
            sf.avg(now).alias("mean"),
            sf.min(now).alias("least"),
            sf.max(now).alias("most"),
            sf.max_by(now, sf.when(now.isNotNull(), sf.col("time"))).alias("last"),
            sf.avg(before).alias("mean_before"),
        )
        .select(
            "host",
            "metric",
            middle.alias("window_start"),
            sf.col("window.end").alias("window_end"),
            "samples",
            "mean",
            "least",
            "most",
            "last",
            "mean_before",
        )
    )


def filled(rows: DataFrame) -> DataFrame:
    """Windows that have samples."""
    return rows.where(sf.col("samples") > 0)


def alerts(rows: DataFrame, rules: Sequence[Rule]) -> DataFrame:
    """What is wrong, one row per window and kind of alert: `threshold`, `change` or `silence`."""
    limit, change, least = (_of_metric(rules, name) for name in ("limit", "change", "least_change"))
    mean, before = sf.col("mean"), sf.col("mean_before")
    size = sf.abs(mean - before)
    rose = sf.when(mean > before, "rose").otherwise("fell")
    none = sf.lit(None).cast("double")
    found = sf.array(
        _alert(mean > limit, "threshold", limit, sf.lit("mean above limit")),
        _alert((size >= least) & (size > change * sf.abs(before)), "change", change, rose),
        _alert(sf.col("samples") == 0, "silence", none, sf.lit("no samples")),
    )
    kept = ["host", "metric", "window_start", "window_end", "mean", "mean_before"]
    return rows.select(*kept, sf.explode(sf.array_compact(found)).alias("alert")).select(*kept, "alert.*")


def _alert(condition: Column, kind: str, limit: Column, message: Column) -> Column:
    return sf.when(
        condition, sf.struct(sf.lit(kind).alias("kind"), limit.alias("limit"), message.alias("message"))
    )


def _of_metric(rules: Sequence[Rule], name: str) -> Column:
    """What the rule of a row's metric says; null if there is no rule, so that nothing exceeds it."""
    found = sf.lit(None).cast("double")
    for rule in rules:
        value = sf.lit(float(getattr(rule, name)))
        found = sf.when(sf.col("metric") == rule.metric, value).otherwise(found)
    return found


def table_rows(rows: DataFrame) -> DataFrame:
    return with_date_and_hour(rows, "window_start")


def host_records(rows: DataFrame) -> DataFrame:
    """To a topic by host and metric: what belongs together stays in order."""
    return as_record(rows, sf.concat_ws("/", "host", "metric"), *rows.columns)
