"""What Spark finds by itself: every module named `pyspark_*` may bring a `DefaultSource`.

Spark imports this in its driver for every session, so nothing else is imported before a query uses it.
"""

from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource

if TYPE_CHECKING:
    from pyspark.sql.datasource import (
        DataSourceReader,
        DataSourceStreamReader,
        DataSourceStreamWriter,
        DataSourceWriter,
    )
    from pyspark.sql.types import StructType


class DefaultSource(DataSource):
    """Topics of a Kafka cluster: `spark.read.format("barnabas")`, and its three siblings."""

    @classmethod
    def name(cls) -> str:
        return "barnabas"

    def schema(self) -> str:
        from barnabas.spark.source import row_columns

        return row_columns(self.options)

    def reader(self, schema: "StructType") -> "DataSourceReader":
        from barnabas.spark.source import make_reader

        return make_reader(self.options, schema)

    def streamReader(self, schema: "StructType") -> "DataSourceStreamReader":  # noqa: N802
        from barnabas.spark.source import make_stream_reader

        return make_stream_reader(self.options, schema)

    def writer(self, schema: "StructType", overwrite: bool) -> "DataSourceWriter":
        from barnabas.spark.batch_writer import make_writer

        return make_writer(self.options, schema, overwrite)

    def streamWriter(self, schema: "StructType", overwrite: bool) -> "DataSourceStreamWriter":  # noqa: N802
        from barnabas.spark.spark_version import STREAM_WRITES, require

        require(STREAM_WRITES, "Writing a stream")
        from barnabas.spark.stream_writer import make_stream_writer

        return make_stream_writer(self.options, schema, overwrite)
