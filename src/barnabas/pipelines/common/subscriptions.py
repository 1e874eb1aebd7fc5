"""Several topics as one stream: a list of names, or a pattern that also finds topics created later."""

import re
from typing import TYPE_CHECKING

from barnabas.pipelines.common.settings import BadSetting, Settings
from barnabas.pipelines.common.topics import FORMAT
from barnabas.spark.planning.java_pattern import Untranslatable, python_pattern

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def read_topics(spark: "SparkSession", settings: Settings, topics: str, pattern: str = "") -> "DataFrame":
    """The columns of `topics.read_stream`; committed records only. `topics` has commas, and wins; a pattern
    is for whole names. Raises BadSetting.
    """
    how = ("subscribe", topics) if topics else ("subscribePattern", whole_name(pattern).pattern)
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


def whole_name(pattern: str) -> "re.Pattern[str]":
    """Finds a pattern of a user's in whole names only, as Kafka's own tools do. Raises BadSetting."""
    try:
        python_pattern(pattern)  # by itself: it must not close our parentheses
        return python_pattern(f"^(?:{pattern})$")
    except (re.error, Untranslatable) as error:
        raise BadSetting(f"--topics-pattern {pattern}: {error}") from None
