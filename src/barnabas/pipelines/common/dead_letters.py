"""Dead letters: records that cannot be parsed, kept with the reason, so that they can be mended and sent
again.

A parsing transformation adds a column `error`, null for a good row, and keeps the source's columns. The dead
letter has the key, value, time and headers of the original, and five headers more.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

SUFFIX = ".dead-letters"
_HEADERS = "array<struct<key:string,value:binary>>"


def topic_of(source: str) -> str:
    return f"{source}{SUFFIX}"


def good(parsed: DataFrame) -> DataFrame:
    return parsed.where(sf.col("error").isNull())


def dead_letters(parsed: DataFrame, pipeline: str) -> DataFrame:
    """key, value, headers and timestamp of the rows that have an `error`."""
    reasons = sf.array(
        _header("error", sf.col("error")),
        _header("source-topic", sf.col("topic")),
        _header("source-partition", sf.col("partition").cast("string")),
        _header("source-offset", sf.col("offset").cast("string")),
        _header("pipeline", sf.lit(pipeline)),
    )
    before = sf.coalesce(sf.col("headers"), sf.array().cast(_HEADERS))
    return parsed.where(sf.col("error").isNotNull()).select(
        "key", "value", sf.concat(before, reasons.cast(_HEADERS)).alias("headers"), "timestamp"
    )


def _header(key: str, value: Column) -> Column:
    return sf.struct(sf.lit(key).alias("key"), value.cast("binary").alias("value"))
