"""`df.write.format("barnabas")`: rows go to topics as they are written, as Spark's connector does.

With `txnAppId` and `txnVersion` the whole write is one batch of the exactly-once protocol instead: nothing is
visible before Spark's job is done, and a version that was committed is not written again.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage

from barnabas.spark.exactly_once import BatchTask, Outcome
from barnabas.spark.sink import Sink

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
        self._sink: Sink = Sink.of([(each.name, each.dataType.simpleString()) for each in schema], options)

    def write(self, iterator: "Iterator[pa.RecordBatch]") -> WriterCommitMessage:
        number = task_number()
        application = self._sink.options.application
        if application is None:
            return TaskMessage(self._sink.write(iterator, number))
        task = BatchTask(self._sink.options.prefix, application.id, application.version, number)
        return TaskMessage(self._sink.write_once(iterator, task))

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        if self._sink.options.application is not None:
            self._sink.commit(outcomes(messages), self._sink.options.application.version)

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        if self._sink.options.application is not None:
            self._sink.abort(outcomes(messages), self._sink.options.application.version)


def task_number() -> int:
    """Of the task within its stage, the same for every attempt."""
    context = TaskContext.get()
    return context.partitionId() if context is not None else 0


def outcomes(messages: list[WriterCommitMessage | None]) -> list[Outcome]:
    """Of the tasks that came to an end."""
    return [each.outcome for each in messages if isinstance(each, TaskMessage)]
