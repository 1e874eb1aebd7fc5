"""`df.writeStream.format("barnabas")`: every micro-batch is one batch of the exactly-once protocol.

The query's id and the batch's number are read where Spark leaves them for tasks; the id survives restarts on
the same checkpoint. With `exactlyOnce=false` rows are visible as they are written, at least once. Spark makes
a new writer for every batch, and another one to commit it: nothing is kept here but the plan.
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceStreamArrowWriter, WriterCommitMessage

from barnabas.spark.batch_writer import TaskMessage, outcomes, task_number
from barnabas.spark.exactly_once import BatchTask
from barnabas.spark.sink import Sink

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

_QUERY_ID, _BATCH_ID = "sql.streaming.queryId", "streaming.sql.batchId"


def make_stream_writer(options: Mapping[str, str], schema: "StructType", overwrite: bool) -> "StreamWriter":
    """Complete mode asks to overwrite; like Spark's connector, this appends."""
    return StreamWriter(options, schema)


class StreamWriter(DataSourceStreamArrowWriter):
    def __init__(self, options: Mapping[str, str], schema: "StructType") -> None:
        """Raises ValueError, in the words of Spark's connector."""
        self._sink: Sink = Sink.of([(each.name, each.dataType.simpleString()) for each in schema], options)

    def write(self, iterator: "Iterator[pa.RecordBatch]") -> WriterCommitMessage:
        number = task_number()
        query, batch = _local_property(_QUERY_ID), _local_property(_BATCH_ID)
        if not self._sink.options.exactly_once:
            return TaskMessage(self._sink.write(iterator, number + int(batch or 0)))
        if query is None or batch is None:
            raise RuntimeError(
                "Spark does not tell which query and batch this is: "
                "exactly once is not possible here, set the option exactlyOnce to false"
            )
        task = BatchTask(self._sink.options.prefix, query, int(batch), number)
        return TaskMessage(self._sink.write_once(iterator, task))

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        if self._sink.options.exactly_once:
            self._sink.commit(outcomes(messages), batchId)

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        if self._sink.options.exactly_once:
            self._sink.abort(outcomes(messages), batchId)


def _local_property(name: str) -> str | None:
    context = TaskContext.get()
    return context.getLocalProperty(name) if context is not None else None
