"""What is measured with Spark: one query for each row of the table, the same for both formats.

Queries end in Spark's `noop` sink, which takes every row and keeps none; rates are rows a second of the whole
job, of streams rows a second of the batches after the first. Nothing here starts anything.
"""

from __future__ import annotations

import itertools
import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from benchmarks import raw_client
from benchmarks.medians import median
from benchmarks.raw_client import Connection
from benchmarks.spark_records import PARTITIONS, EventTopic

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, DataFrameReader, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamReader

OURS, THEIRS = "barnabas", "kafka"
_EVENT = "at long, user long, page string, ms int, note string"
_WARM_UP_SHARE = 10
_STEADY_AFTER = 5
_numbers = itertools.count()


class SparkFailed(Exception):
    """A query did not do what was measured."""


@dataclass(frozen=True, slots=True)
class SparkSizes:
    """How many rows each query has."""

    small: int = 10_000_000
    large: int = 1_000_000
    streamed: int = 4_000_000
    stream_batches: int = 6
    parsed: int = 3_000_000
    written: int = 2_000_000
    idle_batches: int = 30

    @classmethod
    def quick(cls) -> SparkSizes:
        return cls(1_000_000, 100_000, 1_000_000, 4, 500_000, 500_000, 15)


class Stage:
    """Where queries run: a session, a broker with its topics, a directory for checkpoints."""

    def __init__(
        self, spark: SparkSession, servers: str, connection: Connection, directory: Path, sizes: SparkSizes
    ) -> None:
        self.spark = spark
        self.servers = servers
        self.connection = connection
        self.sizes = sizes
        self._directory = directory

    def read(self, form: str, topic: EventTopic, rows: int) -> DataFrame:
        """The first `rows` of the topic."""
        reader: DataFrameReader = self.spark.read.format(form)
        reader = reader.option("kafka.bootstrap.servers", self.servers).option("subscribe", topic.name)
        return reader.option("endingOffsets", _offsets(topic.name, rows)).load()

    def stream(self, form: str, topic: str) -> DataStreamReader:
        reader: DataStreamReader = self.spark.readStream.format(form)
        return reader.option("kafka.bootstrap.servers", self.servers).option("subscribe", topic)

    def checkpoint(self) -> str:
        return str(self._directory / f"checkpoint-{next(_numbers)}")

    def new_topic(self, partitions: int) -> str:
        name = f"spark-written-{next(_numbers)}"
        raw_client.create_topic(self.connection, name, partitions)
        return name

    def delete_topic(self, name: str) -> None:
        raw_client.delete_topic(self.connection, name)


class Job(Protocol):
    name: str

    def topics(self, sizes: SparkSizes) -> list[EventTopic]:
        """What has to be loaded before."""

    def measure(self, stage: Stage, form: str, *, warm_up: bool = False) -> float: ...


def small_topic(sizes: SparkSizes, codec: str = "none") -> EventTopic:
    return EventTopic(f"spark-100-{codec}", sizes.small, 100, codec)


def large_topic(sizes: SparkSizes, codec: str = "none") -> EventTopic:
    return EventTopic(f"spark-1024-{codec}", sizes.large, 1024, codec)


class BatchRead:
    """Rows/s of all columns."""

    def __init__(self, record_bytes: int, codec: str) -> None:
        self._record_bytes = record_bytes
        self._codec = codec
        self.name = f"spark/read/{record_bytes}B/{codec}"

    def topics(self, sizes: SparkSizes) -> list[EventTopic]:
        return [(small_topic if self._record_bytes == 100 else large_topic)(sizes, self._codec)]

    def measure(self, stage: Stage, form: str, *, warm_up: bool = False) -> float:
        (topic,) = self.topics(stage.sizes)
        rows = topic.records // (_WARM_UP_SHARE if warm_up else 1)
        return rows / _seconds(stage.read(form, topic, rows))


class JsonWindows:
    """Rows/s of parsing five fields and aggregating by minute and page."""

    name = "spark/json"

    def topics(self, sizes: SparkSizes) -> list[EventTopic]:
        return [small_topic(sizes)]

    def measure(self, stage: Stage, form: str, *, warm_up: bool = False) -> float:
        from pyspark.sql import functions as f

        rows = stage.sizes.parsed // (_WARM_UP_SHARE if warm_up else 1)
        event = f.from_json(f.col("value").cast("string"), _EVENT).alias("event")
        parsed = stage.read(form, small_topic(stage.sizes), rows).select(event).select("event.*")
        windows = parsed.groupBy(f.window(f.timestamp_millis("at"), "1 minute"), "page").agg(
            f.count("*"), f.avg("ms"), f.max("user"), f.max("note")
        )
        return rows / _seconds(windows)


class StreamRead:
    """Rows/s of the batches of a stream after the first."""

    name = "spark/stream"

    def topics(self, sizes: SparkSizes) -> list[EventTopic]:
        return [small_topic(sizes)]

    def measure(self, stage: Stage, form: str, *, warm_up: bool = False) -> float:
        sizes, topic = stage.sizes, small_topic(stage.sizes)
        rows = sizes.streamed // (_WARM_UP_SHARE if warm_up else 1)
        reader = stage.stream(form, topic.name)
        reader = reader.option("startingOffsets", _offsets(topic.name, topic.records - rows))
        reader = reader.option("maxOffsetsPerTrigger", str(-(-rows // sizes.stream_batches)))
        batches = _to_the_end(stage, reader.load())
        if sum(read for read, _ in batches) != rows:
            raise SparkFailed(f"{self.name}: {rows} rows were expected, {batches} came")
        steady = batches[1:]
        return sum(read for read, _ in steady) / sum(seconds for _, seconds in steady)


class BatchWrite:
    """Rows/s of cached rows into a topic."""

    name = "spark/write"

    def __init__(self) -> None:
        self._rows: DataFrame | None = None

    def topics(self, sizes: SparkSizes) -> list[EventTopic]:
        return [small_topic(sizes)]

    def measure(self, stage: Stage, form: str, *, warm_up: bool = False) -> float:
        if self._rows is None:
            taken = stage.read(OURS, small_topic(stage.sizes), stage.sizes.written).select("key", "value")
            self._rows = taken.cache()
            self._rows.count()
        topic = stage.new_topic(PARTITIONS)
        writer = self._rows.write.format(form).mode("append")
        started = time.perf_counter()
        writer.option("kafka.bootstrap.servers", stage.servers).option("topic", topic).save()
        seconds = time.perf_counter() - started
        stage.delete_topic(topic)
        return stage.sizes.written / seconds


class SmallBatches:
    """Seconds of a micro-batch with one record, once it has settled: what a batch costs by itself.

    Into nothing, or into a topic (ours exactly once, the connector's at least once).
    """

    def __init__(self, *, into_topic: bool) -> None:
        self._into_topic = into_topic
        self.name = "spark/idle/copy" if into_topic else "spark/idle/noop"

    def topics(self, sizes: SparkSizes) -> list[EventTopic]:
        return [EventTopic("spark-ticks", sizes.idle_batches * PARTITIONS, 100)]

    def measure(self, stage: Stage, form: str, *, warm_up: bool = False) -> float:
        (ticks,) = self.topics(stage.sizes)
        # Of partition 0, one record at a time; the others are there to be looked at.
        start = stage.sizes.idle_batches - _STEADY_AFTER if warm_up else 0
        offsets = json.dumps({ticks.name: {"0": start, "1": -1, "2": -1, "3": -1}})
        reader = stage.stream(form, ticks.name).option("startingOffsets", offsets)
        rows = reader.option("maxOffsetsPerTrigger", "1").load()
        if self._into_topic:
            topic = stage.new_topic(1)
            sink = (form, {"kafka.bootstrap.servers": stage.servers, "topic": topic})
            batches = _to_the_end(stage, rows.select("key", "value"), sink)
            stage.delete_topic(topic)
        else:
            batches = _to_the_end(stage, rows)
        return median([seconds for _, seconds in batches[0 if warm_up else _STEADY_AFTER :]])


def jobs() -> list[Job]:
    reads = [BatchRead(size, codec) for size in (100, 1024) for codec in ("none", "lz4")]
    idle = [SmallBatches(into_topic=False), SmallBatches(into_topic=True)]
    return [*reads, StreamRead(), JsonWindows(), BatchWrite(), *idle]


def _offsets(topic: str, rows: int) -> str:
    """After the first `rows` of a topic that was loaded evenly."""
    shares = {str(each): rows // PARTITIONS + (each < rows % PARTITIONS) for each in range(PARTITIONS)}
    return json.dumps({topic: shares})


def _seconds(rows: DataFrame) -> float:
    started = time.perf_counter()
    rows.write.format("noop").mode("overwrite").save()
    return time.perf_counter() - started


def _to_the_end(
    stage: Stage, rows: DataFrame, sink: tuple[str, dict[str, str]] = ("noop", {})
) -> list[tuple[int, float]]:
    """Rows and seconds of each batch of a stream that ends where its topic does."""
    form, options = sink
    writer = rows.writeStream.format(form).options(**options).trigger(availableNow=True)
    query: StreamingQuery = writer.option("checkpointLocation", stage.checkpoint()).start()
    query.awaitTermination()
    return [
        (progress.numInputRows, progress.durationMs["triggerExecution"] / 1000)
        for progress in query.recentProgress
        if progress.numInputRows
    ]
