"""Copying a micro-batch: rows to the same partitions of the target, then the stretches they make there.

A batch is one transaction per task, and a partition is read by one task: its records keep their order, and
lie at the target without gaps, followed by the marker. So the end of the partition shows where they are, as
long as the mirror is the only writer to it. A batch that is run again writes nothing twice, and
finds the same ends: nothing was written after it.
"""

import time
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame, Row, Window
from pyspark.sql import functions as sf

from barnabas.client.admin.offsets import LATEST, READ_COMMITTED, ListedOffset, list_offsets
from barnabas.client.cluster import Cluster
from barnabas.pipelines.common.topics import FORMAT, writes_timestamp
from barnabas.pipelines.mirror.offset_map import OffsetRun, Stretch, TopicPartition, thinned
from barnabas.pipelines.mirror.too_large import record_size

_PATIENCE = 60.0
_LOOK = 0.02


class NotSettled(Exception):
    """Transactions at the target stay open: another producer writes there, or a coordinator is down."""


def records(frame: DataFrame, prefix: str) -> DataFrame:
    """Rows of the source as rows to write; a record without a time gets the present one."""
    return frame.select(
        "key",
        "value",
        "headers",
        sf.concat(sf.lit(prefix), "topic").alias("topic"),
        "partition",
        sf.when(sf.unix_millis("timestamp") >= 0, sf.col("timestamp")).alias("timestamp"),
    )


def write(
    frame: DataFrame,
    bootstrap_server: str,
    application: str,
    version: int,
    checkpoint: Path,
    kafka: Mapping[str, str] | None = None,
) -> None:
    """The pair (application, version) is written once, however often it is tried. `kafka` has properties of
    the producer.
    """
    (
        frame.write.format(FORMAT)
        .options(**{f"kafka.{key}": value for key, value in (kafka or {}).items()})
        .option("kafka.bootstrap.servers", bootstrap_server)
        .option("checkpointLocation", str(checkpoint))
        .option("txnAppId", application)
        .option("txnVersion", str(version))
        .option("writeTimestamp", writes_timestamp(frame))
        .mode("append")
        .save()
    )


@dataclass(frozen=True, slots=True)
class BatchContent:
    runs: dict[TopicPartition, list[OffsetRun]]
    """Which offsets the batch has of each partition."""
    largest: dict[TopicPartition, int]
    """Bytes of the largest record of each, before compression, from above."""

    @property
    def topics(self) -> set[str]:
        return {topic for topic, _ in self.runs}


def content_of(frame: DataFrame) -> BatchContent:
    """Only partitions with gaps are looked at offset by offset."""
    counted = (
        frame.groupBy("topic", "partition")
        .agg(
            sf.min("offset").alias("first"),
            sf.max("offset").alias("last"),
            sf.count("*").alias("rows"),
            sf.max(record_size()).alias("largest"),
        )
        .collect()
    )
    runs = {(row.topic, row.partition): [OffsetRun(row["first"], row.rows)] for row in counted}
    torn = [row for row in counted if row["last"] - row["first"] + 1 != row.rows]
    largest = {(row.topic, row.partition): row.largest for row in counted}
    return BatchContent(runs | (_torn_runs(frame, torn) if torn else {}), largest)


def _torn_runs(frame: DataFrame, torn: list[Row]) -> dict[TopicPartition, list[OffsetRun]]:
    """Rows that follow each other have the same difference of offset and rank."""
    wanted = sf.lit(False)
    for row in torn:
        wanted = wanted | ((sf.col("topic") == row.topic) & (sf.col("partition") == row.partition))
    rank = sf.row_number().over(Window.partitionBy("topic", "partition").orderBy("offset"))
    islands = frame.where(wanted).select(
        "topic", "partition", "offset", (sf.col("offset") - rank).alias("island")
    )
    found = islands.groupBy("topic", "partition", "island").agg(
        sf.min("offset").alias("first"), sf.count("*").alias("rows")
    )
    runs: dict[TopicPartition, list[OffsetRun]] = defaultdict(list)
    for row in found.orderBy("topic", "partition", "first").collect():
        runs[row.topic, row.partition].append(OffsetRun(row["first"], row.rows))
    return runs


def stretch_of(runs: list[OffsetRun], target_end: int) -> Stretch:
    """Where a batch lies that ends (with its marker) at the end of the target's partition."""
    count = sum(run.length for run in runs)
    last = runs[-1]
    return Stretch(runs[0].start, last.start + last.length, target_end - 1 - count, target_end, thinned(runs))


def settled_ends(cluster: Cluster, topic_partitions: Collection[TopicPartition]) -> dict[TopicPartition, int]:
    """The ends of partitions once all their transactions are over. Markers are written after the commit was
    answered, so this may take a moment. Raises NotSettled.
    """
    waiting: set[TopicPartition] = set(topic_partitions)
    ends: dict[TopicPartition, int] = {}
    until = time.monotonic() + _PATIENCE
    while waiting:
        ends |= _settled(cluster, waiting)
        waiting -= ends.keys()
        if waiting and time.monotonic() > until:
            raise NotSettled(f"transactions stay open in {', '.join(f'{t}-{p}' for t, p in sorted(waiting))}")
        if waiting:
            time.sleep(_LOOK)
    return ends


def _settled(cluster: Cluster, topic_partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
    wanted = dict.fromkeys(topic_partitions, LATEST)
    # In this order: an end that was reached before it was requested cannot be too far.
    stable = list_offsets(cluster, wanted, isolation=READ_COMMITTED)
    ends = list_offsets(cluster, wanted)
    return {
        topic_partition: end.offset
        for topic_partition, end in ends.items()
        if isinstance(end, ListedOffset)
        and isinstance(below := stable[topic_partition], ListedOffset)
        and below.offset == end.offset
    }
