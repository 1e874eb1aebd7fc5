"""`df.writeStream.format("barnabas")`: every micro-batch is one batch of the exactly-once protocol.

The query's id and the batch's number are read where Spark leaves them for tasks; the id survives restarts on
the same checkpoint. With `exactlyOnce=false` rows are visible as they are written, at least once. Spark makes
a new writer for every batch, and another one to commit it: nothing is kept here but the plan.
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceStreamArrowWriter, WriterCommitMessage

from barnabas.spark.batch_writer import TaskMessage, outcomes
from barnabas.spark.checkpoint_plans import CheckpointPlans, read_plans
from barnabas.spark.exactly_once import BatchTask
from barnabas.spark.lineage import Lineage
from barnabas.spark.sink import Sink
from barnabas.spark.task_properties import BATCH_ID, QUERY_ID, local_property, run_id, task_number

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType


def make_stream_writer(options: Mapping[str, str], schema: "StructType", overwrite: bool) -> "StreamWriter":
    """Complete mode requests an overwrite. Like Spark's connector, this appends."""
    return StreamWriter(options, schema)


class StreamWriter(DataSourceStreamArrowWriter):
    def __init__(self, options: Mapping[str, str], schema: "StructType") -> None:
        """Raises ValueError, in the words of Spark's connector."""
        fields = [(each.name, each.dataType.simpleString()) for each in schema]
        self._sink: Sink = Sink.of(fields, options, is_stream=True)
        # Spark makes the writer of a batch on the driver, after it has recorded the batch's offsets.
        self._plans: CheckpointPlans = read_plans(self._sink.options.checkpoint)

    def write(self, iterator: "Iterator[pa.RecordBatch]") -> WriterCommitMessage:
        number = task_number()
        query, batch = local_property(QUERY_ID), local_property(BATCH_ID)
        if not self._sink.options.exactly_once:
            return TaskMessage(self._sink.write(iterator, number + int(batch or 0)))
        if query is None or batch is None:
            raise RuntimeError(
                "Spark does not say which query and batch this is: "
                "exactly once is not possible here, set the option exactlyOnce to false"
            )
        sink = self._sink.identity(query, is_stream=True)
        task = BatchTask(sink, int(batch), number, self._lineage(int(batch)))
        return TaskMessage(self._sink.write_once(iterator, task))

    def _lineage(self, batch: int) -> Lineage:
        return Lineage(run=run_id(), plans=self._plans.digests, end_offsets=self._plans.end_offsets_of(batch))

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        if self._sink.options.exactly_once:
            self._sink.commit(outcomes(messages), batchId)

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        if self._sink.options.exactly_once:
            self._sink.abort(outcomes(messages), batchId)
