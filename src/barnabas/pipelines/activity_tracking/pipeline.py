"""Activity tracking: the queries, and where they write."""

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import SparkSession

from barnabas.pipelines.activity_tracking import transformations as activity
from barnabas.pipelines.common import topics
from barnabas.pipelines.common.batch import Batch
from barnabas.pipelines.common.dead_letters import good, topic_of
from barnabas.pipelines.common.queries import Query, ToOutputs
from barnabas.pipelines.common.refusals import plainly
from barnabas.pipelines.common.running import Runner
from barnabas.pipelines.common.session import open_session
from barnabas.pipelines.common.settings import Settings, read, setting

NAME = "activity"
PURPOSE = "Page views and clicks to sessions, counts per window and top pages; to topics and to tables."
_HOURS = ("date", "hour")


@dataclass(frozen=True, slots=True, kw_only=True)
class ActivitySettings(Settings):
    activity_topic: str = setting("activity", "The topic of page views and clicks.")
    activity_table: str = setting("activity", "The table of events as they were sent.")
    sessions_topic: str = setting("activity.sessions", "Where sessions go.")
    sessions_table: str = setting("sessions", "The table of sessions.")
    session_gap: str = setting("30 minutes", "How long without an event ends a session.")
    page_counts_topic: str = setting("activity.page-counts", "Where counts per page and window go.")
    page_counts_table: str = setting("page_counts", "Their table.")
    top_pages_topic: str = setting("activity.top-pages", "Where the top pages of each window go.")
    top_pages_table: str = setting("top_pages", "Their table.")
    top_pages: int = setting(10, "How many of them.")
    activity_window: str = setting("5 minutes", "How long pages are counted over.")


def queries(spark: SparkSession, settings: ActivitySettings) -> list[Query]:
    events = activity.parse(topics.read_stream(spark, settings, settings.activity_topic))
    once = activity.each_once(good(events), settings.watermark)

    def store_events(batch: Batch) -> None:
        batch.to_table(activity.table_rows(good(batch.frame)), settings.activity_table, _HOURS)
        batch.to_dead_letters(batch.frame, topic_of(settings.activity_topic), NAME)

    def store_sessions(batch: Batch) -> None:
        batch.to_table(activity.by_start(batch.frame, "start"), settings.sessions_table, _HOURS)
        batch.to_topic(activity.session_records(batch.frame), settings.sessions_topic)

    def store_pages(batch: Batch) -> None:
        top = activity.top_pages(batch.frame, settings.top_pages)
        batch.to_table(activity.by_start(batch.frame, "window_start"), settings.page_counts_table, _HOURS)
        batch.to_table(activity.by_start(top, "window_start"), settings.top_pages_table, _HOURS)
        batch.to_topic(activity.page_records(batch.frame), settings.page_counts_topic)
        batch.to_topic(activity.page_records(top), settings.top_pages_topic)

    return [
        Query("activity-events", events, ToOutputs(store_events)),
        Query("activity-sessions", activity.sessions(once, settings.session_gap), ToOutputs(store_sessions)),
        Query("activity-pages", activity.page_counts(once, settings.activity_window), ToOutputs(store_pages)),
    ]


@plainly(NAME)
def main(arguments: Sequence[str] | None = None) -> int:
    settings = read(ActivitySettings, "barnabas pipeline run activity", PURPOSE, arguments)
    names = (
        settings.activity_topic,
        settings.sessions_topic,
        settings.page_counts_topic,
        settings.top_pages_topic,
        topic_of(settings.activity_topic),
    )
    topics.ensure(settings.bootstrap_server, names, settings.partitions)
    spark = open_session(settings, f"barnabas-{NAME}")
    return Runner(settings).run(queries(spark, settings))
