"""Log collection: what is done with the lines. DataFrame in, DataFrame out; no source, no sink.

A line is Apache's combined format, then latency in ms and the service:

    198.51.100.7 - ada [16/Nov/2026:09:30:00 +0000] "GET /cart HTTP/1.1" 200 5120 "-" "Mozilla/5.0" 37
    checkout
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

from barnabas.pipelines.common.text import (
    TOO_LONG,
    as_record,
    first_reason,
    is_ahead,
    is_too_long,
    with_date_and_hour,
    with_text,
)

_MARK = "\u0001"
_QUOTED = r'"([^"\\]*+(?:\\.[^"\\]*+)*+)"'
_LINE = (
    r"^(\S++) \S++ (\S++) \[([^\]]++)\] "
    r'"([A-Z]++) (\S++) [^"]*+" (\d++) (\d++|-) '
    rf"{_QUOTED} {_QUOTED} (\d++) (\S++)\s*+$"
)
_FIELDS = (
    "address", "user", "raw_time", "method", "path", "raw_status", "raw_size", "referrer", "agent",
    "raw_latency", "service",
)  # fmt: skip
_TIME = "dd/MMM/yyyy:HH:mm:ss Z"


def parse(records: DataFrame) -> DataFrame:
    """Lines to columns. Adds `error`: why a line is none, null for a good one."""
    # One pass of the expression for all fields: `regexp_extract` would take one for each.
    groups = _MARK.join(f"${number}" for number in range(1, len(_FIELDS) + 1))
    fields = sf.split(sf.regexp_replace("text", _LINE, groups), _MARK)
    split = with_text(records).withColumn("fields", fields)
    is_line = sf.size("fields") == len(_FIELDS)
    named = {name: sf.when(is_line, sf.col("fields")[number]) for number, name in enumerate(_FIELDS)}
    columns = split.withColumns({**named, "is_line": is_line}).withColumns(
        {
            "time": sf.try_to_timestamp("raw_time", sf.lit(_TIME)),
            "status": sf.col("raw_status").try_cast("int"),
            "size": sf.when(sf.col("raw_size") == "-", sf.lit(0)).otherwise(
                sf.col("raw_size").try_cast("bigint")
            ),
            "latency_ms": sf.col("raw_latency").try_cast("bigint"),
        }
    )
    return columns.withColumn("error", _error()).drop(
        "text", "fields", "is_line", *(name for name in _FIELDS if name.startswith("raw_"))
    )


def _error() -> Column:
    return first_reason(
        (is_too_long(), TOO_LONG),
        (sf.col("text").isNull(), "not UTF-8"),
        (~sf.col("is_line"), "not an access-log line"),
        (sf.col("time").isNull(), "bad time"),
        (sf.col("status").isNull() | ~sf.col("status").between(100, 599), "bad status"),
        (sf.col("size").isNull() | sf.col("latency_ms").isNull(), "number out of range"),
        (is_ahead(sf.col("time")), "time in the future"),
    )


def table_rows(lines: DataFrame) -> DataFrame:
    """Good lines as rows of the table `access_logs`."""
    return with_date_and_hour(lines, "time").select(
        "time", "service", "address", "user", "method", "path", "status", "size", "referrer", "agent",
        "latency_ms", sf.col("partition").alias("source_partition"), sf.col("offset").alias("source_offset"),
        "date", "hour",
    )  # fmt: skip


def error_rates(lines: DataFrame, window: str, watermark: str) -> DataFrame:
    """Per service and window: requests, those that failed (5xx), their share, and the 95th percentile of
    latency.
    """
    return (
        lines.withWatermark("time", watermark)
        .groupBy(sf.window("time", window), "service")
        .agg(
            sf.count("*").alias("requests"),
            sf.count_if(sf.col("status") >= 500).alias("errors"),
            sf.percentile_approx("latency_ms", 0.95).alias("p95_latency_ms"),
        )
        .select(
            "service",
            sf.col("window.start").alias("window_start"),
            sf.col("window.end").alias("window_end"),
            "requests",
            "errors",
            (sf.col("errors") / sf.col("requests")).alias("error_rate"),
            "p95_latency_ms",
        )
    )


def error_rate_records(rates: DataFrame) -> DataFrame:
    return as_record(rates, sf.col("service"), *rates.columns)
