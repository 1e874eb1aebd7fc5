"""First steps of parsing that all pipelines share: text from bytes, JSON to strings, times that may be."""

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

_AHEAD = "INTERVAL 1 HOUR"
"""How far a sender's clock may be ahead of the record's own time. One event of next week would close every
window of this one."""
MOST_BYTES = 128 << 10
"""Of a record that is parsed. Rows that are made of one may be larger than it (a control character is six
characters in JSON, a field may be key and value), and have to fit into a record of 1 MB all the same."""
TOO_LONG = f"longer than {MOST_BYTES >> 10} KiB"


def with_text(records: DataFrame) -> DataFrame:
    """Adds `text`: the value as a string, null where it is not UTF-8 (or no value at all)."""
    return records.withColumn("text", sf.try_validate_utf8(sf.col("value").cast("string")))


def with_json(records: DataFrame, *fields: str) -> DataFrame:
    """Adds `text` and `json`, a struct of strings; `json._malformed` is not null where it is no object."""
    columns = ", ".join(f"`{field}` string" for field in (*fields, "_malformed"))
    parsed = sf.from_json("text", columns, {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": "_malformed"})
    return with_text(records).withColumn("json", parsed)


def is_too_long() -> Column:
    """Whether a record is larger than any that a pipeline parses."""
    return sf.octet_length("value") > MOST_BYTES


def is_ahead(time: Column) -> Column:
    return time > sf.col("timestamp") + sf.expr(_AHEAD)


def first_reason(*checks: tuple[Column, str]) -> Column:
    """The reason of the first check that holds, else null."""
    return sf.coalesce(*(sf.when(condition, sf.lit(reason)) for condition, reason in checks))


def json_checks(required: Sequence[str]) -> list[tuple[Column, str]]:
    """Checks of what `with_json` has parsed: an object of a fair size that has the required fields."""
    return [
        (is_too_long(), TOO_LONG),
        (sf.col("text").isNull(), "not UTF-8"),
        (sf.col("json").isNull() | sf.col("json._malformed").isNotNull(), "not JSON"),
        *((sf.col(f"json.{name}").isNull(), f"missing {name}") for name in required),
    ]


def with_date_and_hour(frame: DataFrame, time: str) -> DataFrame:
    """Adds `date` and `hour` (UTC), the partitions of the tables."""
    return frame.withColumns({"date": sf.to_date(time), "hour": sf.hour(time)})


def as_record(frame: DataFrame, key: Column, *columns: str) -> DataFrame:
    """A row to write to a topic: the key, and the columns as a JSON object."""
    return frame.select(key.cast("string").alias("key"), sf.to_json(sf.struct(*columns)).alias("value"))
