"""`ParquetTable`: a directory of Parquet files that a stream writes exactly once, for any reader.

    table = ParquetTable("warehouse/access_logs")
    table.write_batch(frame, batch_id, ("date", "hour"), writer=query_id)

Files lie in Hive's layout, `date=2026-11-16/hour=9/<writer>-<batch>-<n>.parquet`: pandas, Spark and DuckDB
read the directory as it is, without a list of valid files. (Spark's own file sink needs its
`_spark_metadata` for that: other readers see what a failed attempt left.) A batch is staged, then committed
(see `commit_log`); one that is committed already is left alone, so a replay after a crash at any point adds
nothing and loses nothing. Compaction is a commit too: it stages bigger files and removes small ones.

The path must be a file system that driver and executors share, with renames that are atomic: a local disk,
NFS.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq

from barnabas.pipelines.common.commit_log import Commit, CommitLog, batch_name

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_WRITER_DIGITS = 12
DEFAULT_WRITER = "writer"


@dataclass(frozen=True, slots=True)
class TableFile:
    name: str
    """Relative to the table's directory."""
    size: int

    @property
    def partition(self) -> str:
        """`date=2026-11-16/hour=9`, or nothing for a table without partitions."""
        return self.name.rpartition("/")[0]


class ParquetTable:
    def __init__(self, path: str | Path) -> None:
        self.path: Path = Path(path).absolute()
        self._log: CommitLog = CommitLog(self.path)

    # --- streams ---------------------------------------------------------------------------------------

    def write_batch(
        self,
        frame: "DataFrame",
        batch_id: int,
        partition_by: Sequence[str] = (),
        *,
        writer: str = DEFAULT_WRITER,
        properties: Mapping[str, str] | None = None,
    ) -> Commit | None:
        """The rows of a micro-batch, as files of the frame's own tasks. None: it was in the table before.

        A writer gives its batches in order; one not above its last committed batch is taken for a replay.
        """
        self.recover()
        last = self._log.last_batch(writer)
        if last is not None and batch_id <= last:
            return None
        name = batch_name(writer, batch_id)
        staged = self._log.stage(name)
        frame.write.partitionBy(*partition_by).parquet(str(staged))
        label = f"{writer[:_WRITER_DIGITS]}-{batch_id:09d}"
        return self.commit_staged(
            name, label=label, writer=writer, batch_id=batch_id, properties=properties or {}
        )

    def committed_batches(self, writer: str | None = None) -> list[Commit]:
        """The newest batches in the table (some hundred per writer), oldest first."""
        return [each for each in self._log.finished(writer) if each.batch_id is not None]

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
        properties: Mapping[str, str] | None = None,
    ) -> Commit:
        """Take in what was staged under the name, and remove other files, in one change.

        Files keep their partition; they are called `<label>-<n>.parquet`. A label names files of one change
        only.
        """
        staging = self.path / "_staging" / name
        staged = sorted(staging.rglob("*.parquet")) if staging.exists() else []
        moves, rows = [], 0
        for number, path in enumerate(staged):
            source = path.relative_to(staging)
            moves.append((str(source), str(source.with_name(f"{label}-{number:03d}.parquet"))))
            rows += pq.read_metadata(path).num_rows
        commit = Commit(
            name,
            writer,
            batch_id,
            rows,
            tuple(target for _, target in moves),
            tuple(remove),
            tuple(moves),
            dict(properties or {}),
        )
        self._log.commit(commit)
        return commit

    def recover(self) -> None:
        """Finish a change that a crash cut short. Every write does it; a reader may."""
        self._log.recover()

    # --- looking ---------------------------------------------------------------------------------------

    def files(self) -> list[TableFile]:
        """The files of the table, by name."""
        found = []
        for path in self.path.rglob("*.parquet"):
            name = path.relative_to(self.path)
            if not any(part.startswith(("_", ".")) for part in name.parts):
                found.append(TableFile(str(name), path.stat().st_size))
        return sorted(found, key=lambda file: file.name)

    def commits(self) -> list[Commit]:
        """The newest finished changes of all kinds."""
        return self._log.finished()
