"""Compaction: the many small files of an hour become few near the target size.

Only closed hours are touched: one that the stream may still write to would have to be compacted again. A
Delta table does it by itself (`DeltaLakeTable.compact`), and its readers keep the version they have. In a
Parquet table the change is one commit: it stages the new files, then takes them in and removes the old ones.
A crash before the commit point leaves the table as it was, one after it is finished by the next change.
"""

import uuid
from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING

import pyarrow.parquet as pq

from barnabas.pipelines.common.delta_table import DeltaLakeTable
from barnabas.pipelines.common.hours import Compacted, is_closed, small_files
from barnabas.pipelines.common.parquet_table import ParquetTable
from barnabas.pipelines.common.table import Table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def compact(
    spark: "SparkSession", table: Table, target_bytes: int, closed_before: datetime
) -> Iterator[Compacted]:
    """Hour by hour, oldest first; the table is free for others between two hours."""
    if isinstance(table, DeltaLakeTable):
        yield from table.compact(closed_before, target_bytes=target_bytes)
        return
    assert isinstance(table, ParquetTable)
    with table.changing():
        table.recover()
    for partition in sorted({file.partition for file in table.files()}):
        if is_closed(partition, closed_before):
            with table.changing():
                done = _compact_one(spark, table, partition, target_bytes)
            if done is not None:
                yield done


def _compact_one(
    spark: "SparkSession", table: ParquetTable, partition: str, target_bytes: int
) -> Compacted | None:
    small = small_files(table.files(), target_bytes).get(partition)
    if small is None:
        return None
    paths = [table.path / file.name for file in small]
    expected = sum(pq.read_metadata(path).num_rows for path in paths)
    count = max(1, round(sum(file.size for file in small) / target_bytes))
    name = f"compact-{uuid.uuid4().hex[:12]}"
    staged = table.stage(name) / partition
    # Without looking at the directories' names: the columns of the partition are in the path, not in files.
    frame = (
        spark.read.option("recursiveFileLookup", "true")
        .option("mergeSchema", "true")
        .parquet(*map(str, paths))
    )
    order = [each for each in ("partition", "offset", "time") if each in frame.columns]
    spread = frame.repartitionByRange(count, *order) if order and count > 1 else frame.coalesce(count)
    (spread.sortWithinPartitions(*order) if order else spread).write.parquet(str(staged))
    written = sum(pq.read_metadata(path).num_rows for path in staged.glob("*.parquet"))
    if written != expected:
        raise RuntimeError(
            f"{table.path}/{partition}: {expected} rows were read, {written} written; nothing is changed"
        )
    commit = table.commit_staged(name, label=name, remove=[file.name for file in small])
    return Compacted(partition, len(small), len(commit.added))
