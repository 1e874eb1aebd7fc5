"""Dead letters: records that cannot be parsed, kept with the reason, so that they can be corrected and sent
again.

A parsing transformation adds a column `error`, null for a good row, and keeps the source's columns. The dead
letter has the key, value, time and headers of the original, and five headers more.

A record may be larger than the topic of dead letters takes (`max.message.bytes`): its producer had compressed
it, or the headers make it too large. Such a record is put aside, whole, in a table of the warehouse; its
letter has the beginning of the value, and two headers more that say so. So no record is too large for a
letter, and none stops a query.
"""

from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

from barnabas.pipelines.common.record_bytes import header_bytes, length_of, record_bytes

SUFFIX = ".dead-letters"
LEAST_LIMIT = 8192
"""Bytes that a topic of dead letters has to take, for the reasons and the beginning of a value."""
_RESERVED = 4096
"""Bytes of a record that are not the original's: the batch's header, lengths, and the headers of a letter."""
_HEADERS = "array<struct<key:string,value:binary>>"


def topic_of(source: str) -> str:
    return f"{source}{SUFFIX}"


def payloads_of(pipeline: str) -> str:
    """The table of records that are too large for a letter."""
    return f"{pipeline.replace('-', '_')}_payloads"


def good(parsed: DataFrame) -> DataFrame:
    return parsed.where(sf.col("error").isNull())


@dataclass(frozen=True, slots=True)
class LetterSizes:
    """What fits into a letter, for a topic that takes batches of `limit` bytes."""

    limit: int
    table: str
    """Where the others are put aside."""

    @property
    def room(self) -> int:
        """For key, value and headers of the original."""
        return self.limit - _RESERVED

    def payloads(self, parsed: DataFrame, pipeline: str, *, is_complete: bool = False) -> DataFrame:
        """The records that are too large, or all that have an `error`, as rows of the table."""
        failed = parsed.where(sf.col("error").isNotNull())
        return (failed if is_complete else failed.where(self._is_too_large())).select(
            "topic", "partition", "offset", "timestamp", "key", "value", "headers", "error",
            sf.lit(pipeline).alias("pipeline"), sf.to_date("timestamp").alias("date"),
        )  # fmt: skip

    def letters(self, parsed: DataFrame, pipeline: str) -> DataFrame:
        """key, value, headers and timestamp of the rows that have an `error`, none larger than fits."""
        failed = parsed.where(sf.col("error").isNotNull())
        marks = sf.array(
            _header("original-size", record_bytes().cast("string")),
            _header("payload-table", sf.lit(self.table)),
        ).cast(_HEADERS)
        is_large = self._is_too_large()
        reasons = sf.when(is_large, sf.concat(_reasons(pipeline), marks)).otherwise(_reasons(pipeline))
        quarter = self.room // 4
        key = sf.when(is_large, _beginning("key", sf.lit(quarter))).otherwise(sf.col("key"))
        headers = sf.when(is_large & (header_bytes() > quarter), sf.lit(None)).otherwise(sf.col("headers"))
        cut = failed.withColumns({"_reasons": reasons, "_key": key, "_headers": headers, "_large": is_large})
        cut = cut.drop("key", "headers").withColumnsRenamed({"_key": "key", "_headers": "headers"})
        left = sf.lit(self.room) - length_of("key") - header_bytes()
        value = sf.when(sf.col("_large"), _beginning("value", left)).otherwise(sf.col("value"))
        return _letters(cut.withColumn("value", value), sf.col("_reasons"))

    def _is_too_large(self) -> Column:
        return record_bytes() > self.room


def _letters(failed: DataFrame, reasons: Column) -> DataFrame:
    before = sf.coalesce(sf.col("headers"), sf.array().cast(_HEADERS))
    return failed.select("key", "value", sf.concat(before, reasons).alias("headers"), "timestamp")


def _reasons(pipeline: str) -> Column:
    return sf.array(
        _header("error", sf.col("error")),
        _header("source-topic", sf.col("topic")),
        _header("source-partition", sf.col("partition").cast("string")),
        _header("source-offset", sf.col("offset").cast("string")),
        _header("pipeline", sf.lit(pipeline)),
    ).cast(_HEADERS)


def _header(key: str, value: Column) -> Column:
    return sf.struct(sf.lit(key).alias("key"), value.cast("binary").alias("value"))


def _beginning(column: str, size: Column) -> Column:
    return sf.substring(sf.col(column), sf.lit(1), size.cast("int"))
