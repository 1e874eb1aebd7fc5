"""Log collection: the queries, and where they write."""

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import SparkSession

from barnabas.pipelines.common import topics
from barnabas.pipelines.common.batch import Batch
from barnabas.pipelines.common.dead_letters import good, topic_of
from barnabas.pipelines.common.queries import Query, ToOutputs, ToTopic
from barnabas.pipelines.common.refusals import plainly
from barnabas.pipelines.common.running import Runner
from barnabas.pipelines.common.session import open_session
from barnabas.pipelines.common.settings import Settings, read, setting
from barnabas.pipelines.log_collection import transformations as logs

NAME = "logs"
PURPOSE = "Access logs to a table by date and hour; error rates per service to a topic."


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSettings(Settings):
    logs_topic: str = setting("access-logs", "The topic of log lines.")
    error_rates_topic: str = setting("access-logs.error-rates", "Where the error rates go.")
    logs_table: str = setting("access_logs", "The table of parsed lines.")
    logs_window: str = setting("1 minute", "How long an error rate is taken over.")


def queries(spark: SparkSession, settings: LogSettings) -> list[Query]:
    lines = logs.parse(topics.read_stream(spark, settings, settings.logs_topic))
    rates = logs.error_rates(good(lines), settings.logs_window, settings.watermark)

    def store(batch: Batch) -> None:
        batch.to_table(logs.table_rows(good(batch.frame)), settings.logs_table, ("date", "hour"))
        batch.to_dead_letters(batch.frame, topic_of(settings.logs_topic), NAME)

    return [
        Query("logs-lines", lines, ToOutputs(store)),
        Query("logs-error-rates", logs.error_rate_records(rates), ToTopic(settings.error_rates_topic)),
    ]


@plainly(NAME)
def main(arguments: Sequence[str] | None = None) -> int:
    settings = read(LogSettings, "barnabas pipeline run logs", PURPOSE, arguments)
    names = (settings.logs_topic, settings.error_rates_topic, topic_of(settings.logs_topic))
    topics.ensure(settings.bootstrap_server, names, settings.partitions)
    spark = open_session(settings, f"barnabas-{NAME}")
    return Runner(settings).run(queries(spark, settings))
