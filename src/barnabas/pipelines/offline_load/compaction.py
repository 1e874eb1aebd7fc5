"""Compaction: the many small files of an hour become few near the target size.

Only closed hours are touched: one that the stream may still write to would have to be compacted again. The
change is one commit of the table: it stages the new files, then takes them in and removes the old ones. A
crash before the commit point leaves the table as it was, one after it is finished by the next change of the
table.
"""

import re
import uuid
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pyarrow.parquet as pq

from barnabas.pipelines.common.table import ParquetTable, TableFile
from barnabas.pipelines.offline_load.table_lock import locked

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SMALL = 0.5
"""Of the target: a file below it is small."""
_HOUR = re.compile(r"date=(\d{4}-\d{2}-\d{2})/hour=(\d{1,2})$")


@dataclass(frozen=True, slots=True)
class Compacted:
    partition: str
    files_before: int
    files_after: int
    rows: int


def compact(
    spark: "SparkSession", table: ParquetTable, target_bytes: int, closed_before: datetime
) -> Iterator[Compacted]:
    """Hour by hour, oldest first; the table is free for others between two hours."""
    with locked(table.path):
        table.recover()
    for partition in sorted({file.partition for file in table.files()}):
        if is_closed(partition, closed_before):
            with locked(table.path):
                done = _compact_one(spark, table, partition, target_bytes)
            if done is not None:
                yield done


def is_closed(partition: str, before: datetime) -> bool:
    """Whether the hour had ended at that time. A partition that is no hour is never closed."""
    found = _HOUR.search(partition)
    if found is None:
        return False
    begin = datetime.fromisoformat(found[1]).replace(tzinfo=UTC) + timedelta(hours=int(found[2]))
    return begin + timedelta(hours=1) <= before


def small_files(files: list[TableFile], target_bytes: int) -> dict[str, list[TableFile]]:
    """By partition, where there are at least two."""
    found: dict[str, list[TableFile]] = defaultdict(list)
    for file in files:
        if file.size < _SMALL * target_bytes:
            found[file.partition].append(file)
    return {partition: files for partition, files in found.items() if len(files) > 1}


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
    commit = table.commit_staged(
        name, label=name, remove=[file.name for file in small], properties={"kind": "compaction"}
    )
    return Compacted(partition, len(small), len(commit.added), written)
