"""Metrics and alerts: the queries, and where they write."""

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import SparkSession
from pyspark.sql import functions as sf

from barnabas.pipelines.common import topics
from barnabas.pipelines.common.batch import Batch
from barnabas.pipelines.common.dead_letters import good, topic_of
from barnabas.pipelines.common.queries import Query, ToOutputs
from barnabas.pipelines.common.refusals import plainly
from barnabas.pipelines.common.running import Runner
from barnabas.pipelines.common.session import open_session
from barnabas.pipelines.common.settings import Settings, read, setting
from barnabas.pipelines.metrics_alerts import transformations as metrics
from barnabas.pipelines.metrics_alerts.rules import read_rules

NAME = "metrics"
PURPOSE = "Operational metrics to windowed aggregates; threshold, change and silence alerts to a topic."
_HOURS = ("date", "hour")


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricsSettings(Settings):
    metrics_topic: str = setting("metrics", "The topic of samples.")
    windows_topic: str = setting("metrics.windows", "Where the aggregates of windows go.")
    windows_table: str = setting("metric_windows", "Their table.")
    alerts_topic: str = setting("metrics.alerts", "Where alerts go.")
    alerts_table: str = setting("alerts", "Their table.")
    metrics_window: int = setting(60, "Seconds of a window.")
    rules: str = setting("", "A file of alert rules (JSON) instead of those built in.")


def queries(spark: SparkSession, settings: MetricsSettings) -> list[Query]:
    samples = metrics.parse(topics.read_stream(spark, settings, settings.metrics_topic))
    windows = metrics.windows(good(samples), settings.metrics_window, settings.watermark)
    rules = read_rules(settings.rules)

    def store(batch: Batch) -> None:
        rows, alerts = metrics.filled(batch.frame), metrics.alerts(batch.frame, rules)
        batch.to_table(metrics.table_rows(rows), settings.windows_table, _HOURS)
        batch.to_table(metrics.table_rows(alerts), settings.alerts_table, _HOURS)
        batch.to_topic(metrics.host_records(rows), settings.windows_topic)
        batch.to_topic(metrics.host_records(alerts), settings.alerts_topic)

    def store_letters(batch: Batch) -> None:
        batch.to_dead_letters(batch.frame, topic_of(settings.metrics_topic), NAME)

    return [
        Query("metrics-windows", windows, ToOutputs(store)),
        Query("metrics-dead-letters", samples.where(sf.col("error").isNotNull()), ToOutputs(store_letters)),
    ]


@plainly(NAME)
def main(arguments: Sequence[str] | None = None) -> int:
    settings = read(MetricsSettings, "barnabas pipeline run metrics", PURPOSE, arguments)
    names = (
        settings.metrics_topic,
        settings.windows_topic,
        settings.alerts_topic,
        topic_of(settings.metrics_topic),
    )
    topics.ensure(settings.bootstrap_server, names, settings.partitions)
    spark = open_session(settings, f"barnabas-{NAME}")
    return Runner(settings).run(queries(spark, settings))
