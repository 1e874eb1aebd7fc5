"""Queries of a pipeline: what each reads and writes, and how one is started from its checkpoint.

Every query has one checkpoint and append mode: a Python sink has no update mode, so a window is written
once, when the watermark has passed it.
"""

from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from barnabas.pipelines.common.batch import Batch, query_id
from barnabas.pipelines.common.settings import Settings
from barnabas.pipelines.common.topics import FORMAT, writes_timestamp


@dataclass(frozen=True, slots=True)
class ToTopic:
    """One topic: Spark's streaming sink, exactly once by itself."""

    topic: str


@dataclass(frozen=True, slots=True)
class ToOutputs:
    """Several outputs: a function that writes a batch to each."""

    write: Callable[[Batch], None]


@dataclass(frozen=True, slots=True)
class Query:
    name: str
    frame: DataFrame
    output: ToTopic | ToOutputs

    def start(self, settings: Settings) -> StreamingQuery:
        checkpoint = settings.checkpoint_of(self.name)
        writer = (
            self.frame.writeStream.queryName(self.name)
            .outputMode("append")
            .option("checkpointLocation", str(checkpoint))
        )
        if settings.available_now:
            writer = writer.trigger(availableNow=True)
        else:
            writer = writer.trigger(processingTime=settings.trigger)
        return self._directed(writer, settings).start()

    def _directed(self, writer: DataStreamWriter, settings: Settings) -> DataStreamWriter:
        if isinstance(self.output, ToTopic):
            return (
                writer.format(FORMAT)
                .option("writeTimestamp", writes_timestamp(self.frame))
                .option("kafka.bootstrap.servers", settings.bootstrap_server)
                .option("topic", self.output.topic)
            )
        write, checkpoint, name = self.output.write, settings.checkpoint_of(self.name), self.name

        def write_batch(frame: DataFrame, number: int) -> None:
            frame.persist()
            try:
                write(Batch(frame, number, query_id(checkpoint), settings, checkpoint, name))
            finally:
                frame.unpersist()

        return writer.foreachBatch(write_batch)
