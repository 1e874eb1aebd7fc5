"""`ParquetTable`: a directory of Parquet files with a commit log of its own, for `--format parquet`.

Files lie in Hive's layout, `date=2026-11-16/hour=9/<writer>-<batch>-<n>.parquet`: pandas, Spark and DuckDB
read the directory as it is, without a list of valid files. (Spark's own file sink needs its
`_spark_metadata` for that: other readers see what a failed attempt left.) A batch is staged, then committed
(see `commit_log`). Compaction is a commit too: it stages bigger files and removes small ones.

The path must be a file system that driver and executors share, with renames that are atomic: a local disk,
NFS.
"""

import dataclasses
import json
import uuid
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq

from barnabas.pipelines.common.commit_log import Commit, CommitLog, batch_name
from barnabas.pipelines.common.table import Added, Table, TableFile, WriteOptions, merged_schema
from barnabas.pipelines.common.table_lock import locked
from barnabas.pipelines.common.table_record import Change, TableRecord

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_WRITER_DIGITS = 12


class ParquetTable(Table):
    def __init__(self, path: str | Path, options: WriteOptions | None = None) -> None:
        self.path: Path = Path(path).absolute()
        self._log: CommitLog = CommitLog(self.path)
        super().__init__(str(self.path), options or WriteOptions())

    def record(self) -> TableRecord:
        return self._log.record()

    def schema(self) -> dict[str, Any] | None:
        known = self.record().schema
        return json.loads(known) if known else None

    def files(self) -> list[TableFile]:
        found = []
        for path in self.path.rglob("*.parquet"):
            name = path.relative_to(self.path)
            if not any(part.startswith(("_", ".")) for part in name.parts):
                found.append(TableFile(str(name), path.stat().st_size))
        return sorted(found, key=lambda file: file.name)

    def read(self, spark: "SparkSession") -> "DataFrame":
        from pyspark.sql.types import StructType

        schema = self.schema()
        if schema is None:
            return spark.read.option("mergeSchema", "true").parquet(str(self.path))
        return spark.read.schema(StructType.fromJson(schema)).parquet(str(self.path))

    def changing(self) -> AbstractContextManager[None]:
        return locked(self.path)

    def recover(self) -> None:
        self._log.recover()

    def _write(
        self,
        frame: "DataFrame",
        partition_by: Sequence[str],
        change: Change,
        *,
        writer: str = "",
        batch_id: int | None = None,
        records_per_file: int = 0,
    ) -> Added:
        if batch_id is None:
            name = label = f"append-{uuid.uuid4().hex[:12]}"
        else:
            name, label = batch_name(writer, batch_id), f"{writer[:_WRITER_DIGITS]}-{batch_id:09d}"
        schema, _ = merged_schema(self.schema(), frame.schema.json())
        output = frame.write.option("maxRecordsPerFile", records_per_file).partitionBy(*partition_by)
        output.parquet(str(self.stage(name)))
        commit = self.commit_staged(
            name, label=label, writer=writer, batch_id=batch_id, change=change, schema=json.dumps(schema)
        )
        return Added(
            commit.rows, commit.added, sum((self.path / each).stat().st_size for each in commit.added)
        )

    # --- any change of the set of files ----------------------------------------------------------------

    def stage(self, name: str) -> Path:
        """A directory (not made yet) for the Parquet files of a change. The name is its identity."""
        return self._log.stage(name)

    def commit_staged(
        self,
        name: str,
        *,
        label: str,
        writer: str = "",
        batch_id: int | None = None,
        remove: Sequence[str] = (),
        change: Change | None = None,
        schema: str = "",
    ) -> Commit:
        """Take in what was staged under the name, and remove other files, in one change.

        Files keep their partition; they are called `<label>-<n>.parquet`. A label names files of one change
        only. Without a `change` the rows stay the same: a compaction.
        """
        staging = self.path / "_staging" / name
        moves, rows, size = [], 0, 0
        for number, path in enumerate(_staged(staging)):
            source = path.relative_to(staging)
            moves.append((str(source), str(source.with_name(f"{label}-{number:03d}.parquet"))))
            rows += pq.read_metadata(path).num_rows
            size += path.stat().st_size
        record = self.record()
        if change is not None:
            record = record.after(
                change, owner=self.options.owner, size=size, writer=writer, batch_id=batch_id
            )
            record = dataclasses.replace(record, schema=schema or record.schema)
        commit = Commit(
            name,
            writer,
            batch_id,
            rows,
            tuple(target for _, target in moves),
            tuple(remove),
            tuple(moves),
            record.to_json(),
        )
        self._log.commit(commit)
        return commit

    def commits(self) -> list[Commit]:
        """The newest finished changes of all kinds, some hundred."""
        return self._log.finished()


def _staged(staging: Path) -> list[Path]:
    """The files of a finished job; `_temporary` has those of attempts that Spark did not take."""
    found = sorted(staging.rglob("*.parquet")) if staging.exists() else []
    return [
        path
        for path in found
        if not any(part.startswith(("_", ".")) for part in path.relative_to(staging).parts)
    ]
