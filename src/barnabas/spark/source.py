"""The readers that Spark requests, from the options and the schema of a query.

The row has the columns of Spark's Kafka connector. Unlike there, a user may give a schema that selects some
of them by name: only these are decoded and cross to the JVM, which is what column pruning would do.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from barnabas.client.errors import BadSettings
from barnabas.spark.planning.option_values import BadOption, flag
from barnabas.spark.planning.options import SourceOptions, lowered

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

    from barnabas.spark.batch_reader import BatchReader
    from barnabas.spark.refused_reader import RefusedReader
    from barnabas.spark.stream_reader import StreamReader

_COLUMNS: Final[Mapping[str, str]] = {
    "key": "binary",
    "value": "binary",
    "topic": "string",
    "partition": "int",
    "offset": "bigint",
    "timestamp": "timestamp",
    "timestampType": "int",
    "headers": "array<struct<key:string,value:binary>>",
}


def row_columns(options: Mapping[str, str]) -> str:
    """The columns of a row, as DDL. Raises BadOption."""
    has_headers = flag(lowered(options), "includeHeaders", default=False)
    return ", ".join(f"{name} {kind}" for name, kind in _COLUMNS.items() if name != "headers" or has_headers)


def make_reader(options: Mapping[str, str], schema: "StructType") -> "BatchReader":
    """Raises BadOption."""
    from barnabas.spark.batch_reader import BatchReader

    return BatchReader(SourceOptions.of_batch(options), selected_columns(schema))


def make_stream_reader(options: Mapping[str, str], schema: "StructType") -> "StreamReader | RefusedReader":
    """Raises nothing: Spark would lose it (`refused_reader`)."""
    from barnabas.spark.refused_reader import RefusedReader
    from barnabas.spark.spark_version import STREAM_READS, OldSpark, require

    try:
        require(STREAM_READS, "Reading a stream")
        from barnabas.spark.stream_reader import StreamReader

        return StreamReader(SourceOptions.of_stream(options), selected_columns(schema))
    except (BadOption, BadSettings, OldSpark) as error:
        return RefusedReader(error)


def selected_columns(schema: "StructType") -> tuple[str, ...]:
    """The names of a schema that has no other columns than a row. Raises BadOption."""
    for field in schema.fields:
        kind = field.dataType.simpleString()
        if _COLUMNS.get(field.name) != kind:
            known = ", ".join(f"{name} {expected}" for name, expected in _COLUMNS.items())
            raise BadOption(
                "Kafka source has a fixed schema and cannot be set with a custom one, except to select some "
                f"of its columns: there is no '{field.name} {kind}' among {known}"
            )
    if not schema.fields:
        raise BadOption("A schema for the Kafka source must select at least one column")
    return tuple(field.name for field in schema.fields)
