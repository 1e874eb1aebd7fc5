"""Several topics as one stream: a list of names, or a pattern that also finds topics created later."""

from typing import TYPE_CHECKING

from barnabas.pipelines.common.settings import Settings
from barnabas.pipelines.common.topics import FORMAT

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def read_topics(spark: "SparkSession", settings: Settings, topics: str, pattern: str = "") -> "DataFrame":
    """The columns of `topics.read_stream`; committed records only. `topics` has commas, and wins."""
    how = ("subscribe", topics) if topics else ("subscribePattern", pattern)
    return (
        spark.readStream.format(FORMAT)
        .option("kafka.bootstrap.servers", settings.bootstrap_server)
        .option("kafka.isolation.level", "read_committed")
        .option(*how)
        .option("startingOffsets", settings.starting_offsets)
        .option("maxOffsetsPerTrigger", settings.max_offsets)
        .option("includeHeaders", "true")
        .load()
    )
