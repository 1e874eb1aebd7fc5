"""The tasks' side of a Delta table: rows become Parquet files, which the table's log does not list yet. The
driver commits them; those of attempts that failed are never listed, and vacuum removes them.

`write_files` runs a Spark job; `read_files` is for stores that Spark itself cannot read (S3 without jars).
Files are written with pyarrow: into directories as it is, into object stores through delta-rs, so that one
set of options is right for log and files.
"""

import json
import os
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_FILE = "path string, size bigint, partition string, modified bigint, rows bigint, stats string"
_ROW_GROUP = 32 << 20
"""Bytes in memory that become one row group."""
_NULL = "__HIVE_DEFAULT_PARTITION__"
_COUNTED = (pa.types.is_integer, pa.types.is_date, pa.types.is_timestamp)
"""Columns whose least and largest value are noted: readers skip files by them."""


@dataclass(frozen=True, slots=True)
class Store:
    """Where a table lies, with what its object store wants. Goes to the tasks."""

    location: str
    """A path, or `s3://bucket/table`."""
    options: Mapping[str, str]

    @property
    def is_remote(self) -> bool:
        return "://" in self.location

    def filesystem(self) -> Any:
        from pyarrow import fs

        if not self.is_remote:
            return fs.SubTreeFileSystem(self.location, fs.LocalFileSystem())
        from deltalake.fs import DeltaStorageHandler

        return fs.PyFileSystem(DeltaStorageHandler(self.location, dict(self.options)))


@dataclass(frozen=True, slots=True)
class WrittenFile:
    path: str
    """Relative to the table."""
    size: int
    partition: dict[str, str | None]
    modified: int
    rows: int
    stats: str


def write_files(
    frame: "DataFrame",
    store: Store,
    partition_by: Sequence[str],
    target_bytes: int,
    records_per_file: int = 0,
) -> list[WrittenFile]:
    """The rows as files of the frame's own tasks. Rows of a task are in the order of the partition columns,
    or there are more files than needed.
    """
    columns = tuple(partition_by)

    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from _Files(store, columns, target_bytes, records_per_file).write(batches)

    found = frame.mapInArrow(task, _FILE).collect()
    return [
        WrittenFile(row.path, row.size, json.loads(row.partition), row.modified, row.rows, row.stats)
        for row in sorted(found, key=lambda row: str(row.path))
    ]


class _Files:
    """The files of one task, one open at a time."""

    def __init__(self, store: Store, partition_by: tuple[str, ...], target: int, records: int) -> None:
        self._store: Store = store
        self._filesystem: Any = store.filesystem()
        self._partition_by: tuple[str, ...] = partition_by
        self._target: int = target
        self._records: int = records
        self._open: _OpenFile | None = None
        self._done: list[WrittenFile] = []

    def write(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for partition, rows in _split(pa.Table.from_batches([batch]), self._partition_by):
                self._add(partition, rows)
        self._close()
        yield _described(self._done)

    def _add(self, partition: dict[str, Any], rows: pa.Table) -> None:
        while rows.num_rows:
            if self._open is not None and (
                self._open.partition != partition or self._open.is_full(self._target, self._records)
            ):
                self._close()
            if self._open is None:
                self._open = _OpenFile(self._filesystem, self._store, partition, rows.schema)
            room = max(self._records - self._open.rows, 0) if self._records else rows.num_rows
            self._open.write(rows.slice(0, room))
            rows = rows.slice(min(room, rows.num_rows))

    def _close(self) -> None:
        if self._open is not None:
            self._done.append(self._open.close())
            self._open = None


class _OpenFile:
    def __init__(self, filesystem: Any, store: Store, partition: dict[str, Any], schema: pa.Schema) -> None:
        self.partition: dict[str, Any] = partition
        self.rows: int = 0
        directories = [f"{key}={_directory(value)}" for key, value in partition.items()]
        self._path: str = "/".join([*directories, f"part-{uuid.uuid4()}.parquet"])
        self._store: Store = store
        if not store.is_remote:
            filesystem.create_dir("/".join(directories) or ".", recursive=True)
        self._sink: Any = filesystem.open_output_stream(self._path)
        self._writer: Any = pq.ParquetWriter(self._sink, schema, compression="zstd")
        self._waiting: list[pa.Table] = []
        self._waiting_bytes: int = 0
        self._stats: _Stats = _Stats()

    def is_full(self, target: int, records: int) -> bool:
        return self._sink.tell() >= target or (records > 0 and self.rows >= records)

    def write(self, rows: pa.Table) -> None:
        self.rows += rows.num_rows
        self._stats.add(rows)
        self._waiting.append(rows)
        self._waiting_bytes += rows.nbytes
        if self._waiting_bytes >= _ROW_GROUP:
            self._flush()

    def close(self) -> WrittenFile:
        self._flush()
        self._writer.close()
        size = self._sink.tell()
        self._sink.close()
        if not self._store.is_remote:
            path = Path(self._store.location, self._path)
            sync(path)
            sync(path.parent)
        values = {key: None if value is None else str(value) for key, value in self.partition.items()}
        # The log has addresses, not paths: a directory `a%20b` is `a%2520b` there.
        return WrittenFile(
            quote(self._path, safe="/="),
            size,
            values,
            int(time.time() * 1000),
            self.rows,
            self._stats.to_json(),
        )

    def _flush(self) -> None:
        if self._waiting:
            self._writer.write_table(pa.concat_tables(self._waiting))
            self._waiting, self._waiting_bytes = [], 0


class _Stats:
    """Delta's statistics of a file, over the row groups written so far."""

    def __init__(self) -> None:
        self._rows: int = 0
        self._least: dict[str, Any] = {}
        self._largest: dict[str, Any] = {}
        self._nulls: dict[str, int] = {}

    def add(self, rows: pa.Table) -> None:
        self._rows += rows.num_rows
        for name, column in zip(rows.column_names, rows.columns, strict=True):
            if not any(is_kind(column.type) for is_kind in _COUNTED):
                continue
            self._nulls[name] = self._nulls.get(name, 0) + column.null_count
            found = pc.min_max(column).as_py()
            if found["min"] is not None:
                self._least[name] = min(self._least.get(name, found["min"]), found["min"])
                self._largest[name] = max(self._largest.get(name, found["max"]), found["max"])

    def to_json(self) -> str:
        return json.dumps(
            {
                "numRecords": self._rows,
                "minValues": {name: _shown(value, up=False) for name, value in self._least.items()},
                "maxValues": {name: _shown(value, up=True) for name, value in self._largest.items()},
                "nullCount": self._nulls,
            }
        )


def _shown(value: Any, *, up: bool) -> Any:
    """Delta's times have milliseconds."""
    if isinstance(value, datetime):
        whole = value.astimezone(UTC).replace(microsecond=value.microsecond // 1000 * 1000)
        if up and whole != value:
            whole += timedelta(milliseconds=1)
        return f"{whole:%Y-%m-%dT%H:%M:%S}.{whole.microsecond // 1000:03d}Z"
    return value if isinstance(value, int) else str(value)


def _split(rows: pa.Table, columns: tuple[str, ...]) -> Iterator[tuple[dict[str, Any], pa.Table]]:
    """By the values of the partition columns, which are no columns of the files."""
    if not columns:
        yield {}, rows
        return
    for key in rows.select(columns).group_by(list(columns), use_threads=False).aggregate([]).to_pylist():
        mask = None
        for name in columns:
            same = pc.is_null(rows[name]) if key[name] is None else pc.equal(rows[name], key[name])
            mask = same if mask is None else pc.and_(mask, same)
        yield {name: key[name] for name in columns}, rows.filter(mask).drop_columns(list(columns))


def _described(files: list[WrittenFile]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict(
        {
            "path": pa.array([each.path for each in files], pa.string()),
            "size": pa.array([each.size for each in files], pa.int64()),
            "partition": pa.array([json.dumps(each.partition) for each in files], pa.string()),
            "modified": pa.array([each.modified for each in files], pa.int64()),
            "rows": pa.array([each.rows for each in files], pa.int64()),
            "stats": pa.array([each.stats for each in files], pa.string()),
        }
    )


def _directory(value: object) -> str:
    return _NULL if value is None else quote(str(value), safe="")


def sync(path: Path) -> None:
    """To the disk: what a file has, or which names a directory has."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


# --- reading -----------------------------------------------------------------------------------------------


def read_files(
    spark: "SparkSession", store: Store, paths: Sequence[str], schema: dict[str, Any]
) -> "DataFrame":
    """The rows of files, read by the tasks."""
    import deltalake
    from pyspark.sql.types import StructType

    struct = StructType.fromJson(schema)
    arrow = pa.schema(deltalake.Schema.from_json(json.dumps(schema)).to_arrow())
    if not paths:
        return spark.createDataFrame([], struct)

    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        filesystem = store.filesystem()
        for batch in batches:
            for path in batch.column(0).to_pylist():
                rows = pq.read_table(unquote(path), filesystem=filesystem, partitioning=None)
                yield from _completed(rows, path, arrow).to_batches(max_chunksize=50_000)

    listed = spark.createDataFrame([(path,) for path in paths], "path string")
    return listed.repartition(min(len(paths), 64)).mapInArrow(task, struct)


def _completed(rows: pa.Table, path: str, schema: pa.Schema) -> pa.Table:
    """With the columns that are in the path, and null for those that the file is too old for."""
    values = {
        key: None if value == _NULL else unquote(unquote(value))
        for key, _, value in (part.partition("=") for part in path.split("/")[:-1])
    }
    columns = []
    for field in schema:
        if field.name in rows.column_names:
            columns.append(rows[field.name].cast(field.type))
        elif (value := values.get(field.name)) is not None:
            columns.append(pa.repeat(pa.scalar(value), rows.num_rows).cast(field.type))
        else:
            columns.append(pa.nulls(rows.num_rows, field.type))
    return pa.Table.from_arrays(columns, schema=schema)
