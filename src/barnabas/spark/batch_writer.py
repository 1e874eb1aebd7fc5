"""`df.write.format("barnabas")`: rows go to topics as they are written, as Spark's connector does.

With `txnAppId` and `txnVersion` the whole write is one batch of the exactly-once protocol instead: nothing is
visible before Spark's job is done, and a version that was committed is not written again.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage

from barnabas.spark.checkpoint_plans import CheckpointPlans, read_plans
from barnabas.spark.exactly_once import BatchTask, Outcome
from barnabas.spark.lineage import Lineage
from barnabas.spark.sink import Sink
from barnabas.spark.task_properties import QUERY_ID, local_property, run_id, short_id, task_number

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType


def make_writer(options: Mapping[str, str], schema: "StructType", overwrite: bool) -> "BatchWriter":
    return BatchWriter(options, schema, overwrite=overwrite)


@dataclass(frozen=True)
class TaskMessage(WriterCommitMessage):
    """What a task's outcome travels in; of use to both kinds of writers."""

    outcome: Outcome


class BatchWriter(DataSourceArrowWriter):
    def __init__(self, options: Mapping[str, str], schema: "StructType", *, overwrite: bool = False) -> None:
        """Raises ValueError, in the words of Spark's connector."""
        if overwrite:
            raise ValueError("Save mode Overwrite not allowed for Kafka. The allowed save mode is Append.")
        fields = [(each.name, each.dataType.simpleString()) for each in schema]
        self._sink: Sink = Sink.of(fields, options, is_stream=False)
        # In foreachBatch Spark has recorded the batch's offsets by now.
        self._plans: CheckpointPlans = read_plans(self._sink.options.checkpoint)

    def write(self, iterator: "Iterator[pa.RecordBatch]") -> WriterCommitMessage:
        number = task_number()
        application = self._sink.options.application
        if application is None:
            return TaskMessage(self._sink.write(iterator, number))
        sink = self._sink.identity(application.id, is_stream=False)
        lineage = Lineage(
            run=run_id(),
            query=short_id(local_property(QUERY_ID)),
            plans=self._plans.digests,
            end_offsets=self._plans.end_offsets_of(application.version),
        )
        task = BatchTask(sink, application.version, number, lineage)
        return TaskMessage(self._sink.write_once(iterator, task))

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        if self._sink.options.application is not None:
            self._sink.commit(outcomes(messages), self._sink.options.application.version)

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        if self._sink.options.application is not None:
            self._sink.abort(outcomes(messages), self._sink.options.application.version)


def outcomes(messages: list[WriterCommitMessage | None]) -> list[Outcome]:
    """Of the tasks that came to an end."""
    return [each.outcome for each in messages if isinstance(each, TaskMessage)]
