"""Rows of the tables: a record as it is, where it stood, and the date and hour of its time. DataFrame in,
DataFrame out.
"""

from collections.abc import Iterable
from functools import reduce
from typing import NamedTuple

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

from barnabas.pipelines.common.text import with_date_and_hour

PARTITION_BY = ("date", "hour")
ORDER = ("date", "hour", "partition", "offset")
"""Within a file: a range of offsets is found by the statistics of a few row groups."""


class OffsetRange(NamedTuple):
    partition: int
    start: int
    stop: int
    """The first offset after it."""


def table_rows(records: DataFrame) -> DataFrame:
    return with_date_and_hour(records, "timestamp").select(
        "topic", "partition", "offset", "timestamp", "key", "value", "headers", *PARTITION_BY
    )


def raw_bytes() -> Column:
    """What a row takes before it is encoded and compressed, about."""
    headers = sf.aggregate(
        sf.coalesce(sf.col("headers"), sf.array().cast("array<struct<key:string,value:binary>>")),
        sf.lit(0),
        lambda total, header: (
            total + sf.length(header["key"]) + sf.coalesce(sf.length(header["value"]), sf.lit(0))
        ),
    )
    return (
        32 + sf.coalesce(sf.length("key"), sf.lit(0)) + sf.coalesce(sf.length("value"), sf.lit(0)) + headers
    )


def is_in(ranges: Iterable[OffsetRange]) -> Column:
    """Whether a row lies in one of the ranges."""
    conditions = (
        (sf.col("partition") == each.partition)
        & (sf.col("offset") >= each.start)
        & (sf.col("offset") < each.stop)
        for each in ranges
    )
    return reduce(Column.__or__, conditions, sf.lit(False))
