"""Loading a micro-batch: the rows of each topic to the topic's table, exactly once.

Every table has its own commit log, so a batch that is run again after a crash is left out by the tables that
have it and taken by those that have not.
"""

import json
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as sf

from barnabas.pipelines.common.batch import Batch
from barnabas.pipelines.common.commit_log import Commit
from barnabas.pipelines.common.table import ParquetTable
from barnabas.pipelines.offline_load.rows import ORDER, PARTITION_BY, OffsetRange, is_in, raw_bytes
from barnabas.pipelines.offline_load.sizes import Layout, Slice, layout, ratio_of
from barnabas.pipelines.offline_load.table_lock import locked

BACKFILL = "backfill"
_MOST_RECORDS = "spark.sql.files.maxRecordsPerFile"


def load(batch: Batch, target_bytes: int) -> None:
    """The frame of the batch has `rows.table_rows`, of any topics."""
    for topic, counted in _counted(batch.frame).items():
        table = ParquetTable(batch.settings.table(topic))
        rows = batch.frame.where(sf.col("topic") == topic)
        with locked(table.path):
            if done := backfilled(table):
                rows = rows.where(~is_in(done))
            write(table, rows, counted, target_bytes, batch)


def write(
    table: ParquetTable, rows: DataFrame, counted: list[Row], target_bytes: int, batch: Batch
) -> Commit | None:
    arranged, most = arrange(rows, plan(table, counted, target_bytes))
    rows.sparkSession.conf.set(_MOST_RECORDS, str(most))
    return table.write_batch(
        arranged, batch.number, PARTITION_BY, writer=batch.writer, properties=remarks(counted)
    )


def arrange(rows: DataFrame, chosen: Layout) -> tuple[DataFrame, int]:
    """Rows in the files they shall be in, and the most records of a file."""
    share = sf.pmod("partition", sf.lit(chosen.files_per_hour))
    arranged = rows.repartition(chosen.tasks, *PARTITION_BY, share).sortWithinPartitions(*ORDER)
    return arranged, chosen.records_per_file


def plan(table: ParquetTable, counted: list[Row], target_bytes: int) -> Layout:
    hours: dict[tuple[object, object], list[int]] = defaultdict(lambda: [0, 0])
    for row in counted:
        hours[row.date, row.hour][0] += row.rows
        hours[row.date, row.hour][1] += row.raw_bytes
    slices = [Slice(rows, size) for rows, size in hours.values()]
    return layout(slices, target_bytes, ratio_of(_written(table)))


def count(rows: DataFrame) -> list[Row]:
    """Per topic, hour and partition: rows, bytes, first and last offset."""
    groups = rows.groupBy("topic", *PARTITION_BY, "partition").agg(
        sf.count("*").alias("rows"),
        sf.sum(raw_bytes()).alias("raw_bytes"),
        sf.min("offset").alias("first"),
        sf.max("offset").alias("last"),
    )
    return groups.collect()


def remarks(counted: list[Row]) -> dict[str, str]:
    """What is remembered with a commit: its offsets, for people, and its size, for the next batch."""
    offsets: dict[str, list[int]] = {}
    for row in counted:
        first, last = offsets.get(str(row.partition), [row["first"], row["last"]])
        offsets[str(row.partition)] = [min(first, row["first"]), max(last, row["last"])]
    return {"offsets": json.dumps(offsets), "raw_bytes": str(sum(row.raw_bytes for row in counted))}


def backfilled(table: ParquetTable) -> list[OffsetRange]:
    """What backfills have put into the table: the stream leaves it out when it comes there."""
    return [
        OffsetRange(*each)
        for commit in table.commits()
        if commit.properties.get("kind") == BACKFILL
        for each in json.loads(commit.properties["ranges"])
    ]


def _counted(frame: DataFrame) -> Mapping[str, list[Row]]:
    topics: dict[str, list[Row]] = defaultdict(list)
    for row in count(frame):
        topics[row.topic].append(row)
    return dict(sorted(topics.items()))


def _written(table: ParquetTable) -> list[tuple[int, int]]:
    """Raw bytes and file bytes of the last batches whose files are all still there."""
    pairs = []
    for commit in table.committed_batches()[-5:]:
        paths = [table.path / name for name in commit.added]
        if paths and all(path.exists() for path in paths):
            pairs.append((int(commit.properties.get("raw_bytes", "0")), _size(paths)))
    return pairs


def _size(paths: list[Path]) -> int:
    return sum(path.stat().st_size for path in paths)
