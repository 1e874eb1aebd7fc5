"""Activity tracking: what is done with page views and clicks. DataFrame in, DataFrame out; no source, no
sink.

An event is a JSON object:

    {"event_id":"7-1a","type":"view","user":"ada","page":"/cart","device":"phone","country":"DE",
     "time":"2026-11-16T09:30:00.250Z"}

with an `element` when the type is `click`. Senders may send an event twice, with the same `event_id`.
"""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as sf

from barnabas.pipelines.common.text import (
    as_record,
    first_reason,
    is_ahead,
    json_checks,
    with_date_and_hour,
    with_json,
)

_FIELDS = ("event_id", "type", "user", "page", "element", "device", "country", "time")
_REQUIRED = ("event_id", "type", "user", "page", "time")
TYPES = ("view", "click")


def parse(records: DataFrame) -> DataFrame:
    """Events to columns. Adds `error`: why it is no event, null for a good one."""
    with_fields = with_json(records, *_FIELDS).withColumns(
        {name: sf.col(f"json.{name}") for name in _FIELDS if name != "time"}
        | {"time": sf.try_to_timestamp("json.time")}
    )
    return with_fields.withColumn("error", _error()).drop("text", "json")


def _error() -> Column:
    return first_reason(
        *json_checks(_REQUIRED),
        (~sf.col("type").isin(*TYPES), "unknown type"),
        (sf.col("time").isNull(), "bad time"),
        (is_ahead(sf.col("time")), "time in the future"),
    )


def table_rows(events: DataFrame) -> DataFrame:
    """Good events as rows of the table `activity`: as they were sent, second copies included."""
    return with_date_and_hour(events, "time").select(
        "time", "event_id", "type", "user", "page", "element", "device", "country",
        sf.col("partition").alias("source_partition"), sf.col("offset").alias("source_offset"),
        "date", "hour",
    )  # fmt: skip


def each_once(events: DataFrame, watermark: str) -> DataFrame:
    """Events without second copies, and with the watermark that everything after it goes by."""
    return events.withWatermark("time", watermark).dropDuplicatesWithinWatermark(["event_id"])


def sessions(events: DataFrame, gap: str) -> DataFrame:
    """What a user did until `gap` passed without an event. `end` is the last event's time."""
    return (
        events.groupBy(sf.session_window("time", gap).alias("session"), "user")
        .agg(
            sf.max("time").alias("end"),
            _views().alias("views"),
            _clicks().alias("clicks"),
            sf.min_by("page", "time").alias("entry_page"),
            sf.max_by("page", "time").alias("exit_page"),
            sf.first("device").alias("device"),
            sf.first("country").alias("country"),
        )
        .select(
            "user",
            sf.col("session.start").alias("start"),
            "end",
            (sf.unix_millis("end") - sf.unix_millis(sf.col("session.start"))).alias("duration_ms"),
            "views",
            "clicks",
            "entry_page",
            "exit_page",
            "device",
            "country",
        )
    )


def page_counts(events: DataFrame, window: str) -> DataFrame:
    """Per page and window: views, clicks, and about how many users."""
    return (
        events.groupBy(sf.window("time", window), "page")
        .agg(
            _views().alias("views"),
            _clicks().alias("clicks"),
            sf.approx_count_distinct("user").alias("users"),
        )
        .select(
            "page",
            sf.col("window.start").alias("window_start"),
            sf.col("window.end").alias("window_end"),
            "views",
            "clicks",
            "users",
        )
    )


def top_pages(counts: DataFrame, most: int) -> DataFrame:
    """The pages with most views of each window, with their rank. For a batch of whole windows.

    In append mode a window leaves the aggregation once, with all of its pages: a batch has it whole.
    """
    order = Window.partitionBy("window_start").orderBy(sf.desc("views"), "page")
    ranked = counts.withColumn("rank", sf.row_number().over(order))
    return ranked.where(sf.col("rank") <= most)


def by_start(frame: DataFrame, time: str) -> DataFrame:
    """Rows of a table that is partitioned by the date and hour of a column."""
    return with_date_and_hour(frame, time)


def session_records(rows: DataFrame) -> DataFrame:
    return as_record(rows, sf.col("user"), *rows.columns)


def page_records(rows: DataFrame) -> DataFrame:
    return as_record(rows, sf.col("page"), *rows.columns)


def _views() -> Column:
    return sf.count_if(sf.col("type") == "view")


def _clicks() -> Column:
    return sf.count_if(sf.col("type") == "click")
