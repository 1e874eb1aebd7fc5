"""A stream that cannot be read. It raises the reason at the first call of Spark.

Spark's runner of stream readers loses an error that the making of a reader raises: it goes on to `stop` a
reader that never was, and shows that failure last (`UnboundLocalError`, seen in 4.2 and 4.3).
"""

from collections.abc import Iterator
from typing import NoReturn

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition

from barnabas.spark.planning.offset_json import OffsetDict


class RefusedReader(DataSourceStreamReader):
    def __init__(self, reason: Exception) -> None:
        self._reason: Exception = reason

    def initialOffset(self) -> NoReturn:  # noqa: N802
        raise self._reason

    def latestOffset(self) -> NoReturn:  # type: ignore[override]  # noqa: N802
        raise self._reason

    def partitions(self, start: OffsetDict, end: OffsetDict) -> NoReturn:
        raise self._reason

    def read(self, partition: InputPartition) -> Iterator[NoReturn]:
        raise self._reason
