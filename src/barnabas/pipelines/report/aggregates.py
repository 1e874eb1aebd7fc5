"""The numbers behind the page: each view is a small table made from tables of the warehouse.

DataFrame in, DataFrame out. `VIEWS` is the one list of them: the Declarative Pipelines project defines a
materialized view for each, tests call them on an ordinary session. `bucket` is the width of a point in time,
in seconds.
"""

from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf

from barnabas.pipelines.common.warehouse import Warehouse

LOGS, ACTIVITY, SESSIONS = "access_logs", "activity", "sessions"
METRIC_WINDOWS, ALERTS = "metric_windows", "alerts"
DEAD_LETTERS = tuple(f"{topic}.dead-letters" for topic in ("access-logs", "activity", "metrics"))
"""Tables that `offline-load` makes of the dead-letter topics."""


def traffic(tables: list[DataFrame], bucket: int) -> DataFrame:
    """Per bucket and service: requests, and those that failed."""
    return (
        tables[0]
        .groupBy(_bucket("time", bucket), "service")
        .agg(sf.count("*").alias("requests"), _failed().alias("errors"))
    )


def latency(tables: list[DataFrame], bucket: int) -> DataFrame:
    """Per bucket: percentiles of latency over all services."""
    return tables[0].groupBy(_bucket("time", bucket)).agg(*_percentiles())


def services(tables: list[DataFrame], bucket: int) -> DataFrame:
    """Per service, over all time."""
    return (
        tables[0]
        .groupBy("service")
        .agg(sf.count("*").alias("requests"), _failed().alias("errors"), *_percentiles())
    )


def pages(tables: list[DataFrame], bucket: int) -> DataFrame:
    """Per page: views, clicks and users; a second copy of an event does not count."""
    return (
        tables[0]
        .dropDuplicates(["event_id"])
        .groupBy("page")
        .agg(
            sf.count_if(sf.col("type") == "view").alias("views"),
            sf.count_if(sf.col("type") == "click").alias("clicks"),
            sf.countDistinct("user").alias("users"),
        )
    )


def sessions(tables: list[DataFrame], bucket: int) -> DataFrame:
    """Per bucket and device: sessions that began, and the pages seen in them."""
    return (
        tables[0]
        .groupBy(_bucket("start", bucket), "device")
        .agg(
            sf.count("*").alias("sessions"), sf.sum("views").alias("views"), sf.sum("clicks").alias("clicks")
        )
    )


def session_lengths(tables: list[DataFrame], bucket: int) -> DataFrame:
    """How many sessions lasted how many minutes (0: less than one)."""
    minutes = sf.floor(sf.col("duration_ms") / 60_000).alias("minutes")
    return tables[0].groupBy(minutes).agg(sf.count("*").alias("sessions"))


def hosts(tables: list[DataFrame], bucket: int) -> DataFrame:
    """Per bucket and metric: the mean over all hosts, and the worst of them."""
    return (
        tables[0]
        .groupBy(_bucket("window_start", bucket), "metric")
        .agg(sf.avg("mean").alias("mean"), sf.max("most").alias("most"))
    )


def alerts(tables: list[DataFrame], bucket: int) -> DataFrame:
    """As they are: there are few of them, or the rules are wrong."""
    return tables[0].select("host", "metric", "kind", "window_start", "window_end", "mean", "message")


def dead_letters(tables: list[DataFrame], bucket: int) -> DataFrame:
    """Per topic and reason: how many records could not be parsed."""
    letters = tables[0]
    for other in tables[1:]:
        letters = letters.unionByName(other)
    return letters.groupBy(_header("source-topic").alias("topic"), _header("error").alias("reason")).agg(
        sf.count("*").alias("letters")
    )


@dataclass(frozen=True, slots=True)
class View:
    name: str
    purpose: str
    tables: tuple[str, ...]
    make: Callable[[list[DataFrame], int], DataFrame]

    def of(self, spark: SparkSession, warehouse: Warehouse, bucket: int) -> DataFrame:
        """Raises LookupError for a table that is not there."""
        return self.make([_rows(spark, warehouse, table) for table in self.tables], bucket)


VIEWS: tuple[View, ...] = (
    View("traffic", "Requests and errors per service over time", (LOGS,), traffic),
    View("latency", "Percentiles of latency over time", (LOGS,), latency),
    View("services", "Requests, errors and latency per service", (LOGS,), services),
    View("pages", "Views, clicks and users per page", (ACTIVITY,), pages),
    View("sessions", "Sessions over time, per device", (SESSIONS,), sessions),
    View("session_lengths", "How long sessions last", (SESSIONS,), session_lengths),
    View("hosts", "Metrics over time, mean and worst host", (METRIC_WINDOWS,), hosts),
    View("alerts", "Alerts", (ALERTS,), alerts),
    *(
        View(
            f"dead_letters_{table.partition('.')[0].replace('-', '_')}",
            "Records that could not be parsed, by reason",
            (table,),
            dead_letters,
        )
        for table in DEAD_LETTERS
    ),
)


def is_there(warehouse: Warehouse, table: str) -> bool:
    """Whether a table has rows at all; Spark refuses a directory without files."""
    found = warehouse.find(table)
    return found is not None and bool(found.files())


def _rows(spark: SparkSession, warehouse: Warehouse, table: str) -> DataFrame:
    found = warehouse.find(table)
    if found is None:
        raise LookupError(f"{warehouse.location(table)} is no table")
    return found.read(spark)


def _bucket(time: str, seconds: int) -> Column:
    """The beginning of the bucket a time lies in."""
    return sf.timestamp_seconds(sf.floor(sf.unix_seconds(time) / seconds) * seconds).alias("time")


def _failed() -> Column:
    return sf.count_if(sf.col("status") >= 500)


def _percentiles() -> list[Column]:
    return [
        sf.percentile_approx("latency_ms", share, 1000).alias(name)
        for name, share in (("p50", 0.5), ("p95", 0.95), ("p99", 0.99))
    ]


def _header(key: str) -> Column:
    """The value of the last header of a name, as text: a dead letter's own come after the original ones."""
    found = sf.filter("headers", lambda header: header["key"] == key)
    return sf.element_at(found, -1)["value"].cast("string")
