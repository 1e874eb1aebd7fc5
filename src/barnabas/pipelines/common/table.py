"""`Table`: rows of a stream in files, written exactly once. It checks which query may write which rows.

    table = open_table(settings, "access_logs", "logs-lines")           # warehouse.py
    table.write_batch(frame, batch_id, ("date", "hour"), writer=query_id)

`DeltaLakeTable` (the default) and `ParquetTable` implement it. A batch that is in the table already is not
written again, so a replay after a crash at any point adds nothing and loses nothing. A table belongs to the
query that made it: rows of another query, and of the same query from another checkpoint, are refused.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from barnabas.pipelines.common.settings import BadSetting
from barnabas.pipelines.common.table_record import Change, TableRecord
from barnabas.pipelines.common.table_schema import SchemaConflict, added_fields, nullable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

MB = 1 << 20


class TableRefused(BadSetting):
    """Rows that do not belong into the table. Trying again does not help; the message says what does."""


@dataclass(frozen=True, slots=True)
class TableFile:
    name: str
    """Relative to the table."""
    size: int

    @property
    def partition(self) -> str:
        """`date=2026-11-16/hour=9`, or nothing for a table without partitions."""
        return self.name.rpartition("/")[0]


@dataclass(frozen=True, slots=True)
class Added:
    """A change that took rows in."""

    rows: int
    files: tuple[str, ...]
    """Relative to the table."""
    size: int
    """Bytes of the files."""


@dataclass(frozen=True, slots=True)
class WriteOptions:
    owner: str = ""
    """Which query's rows the table has; an empty one is not checked."""
    take_over: bool = False
    """Write into a table that another checkpoint began."""
    target_bytes: int = 128 * MB
    retention_hours: int = 168
    """How long files that compaction replaced stay for readers and time travel."""


class Table(ABC):
    def __init__(self, location: str, options: WriteOptions) -> None:
        self.location: str = location
        self.options: WriteOptions = options

    @property
    def name(self) -> str:
        return self.location.rstrip("/").rpartition("/")[2]

    @property
    def is_remote(self) -> bool:
        """In an object store."""
        return "://" in self.location

    # --- what a format does ----------------------------------------------------------------------------

    @abstractmethod
    def record(self) -> TableRecord: ...

    @abstractmethod
    def schema(self) -> dict[str, Any] | None:
        """In Spark's JSON; None for a table without rows yet."""

    @abstractmethod
    def files(self) -> list[TableFile]:
        """The files of the newest version, by name."""

    @abstractmethod
    def read(self, spark: "SparkSession") -> "DataFrame":
        """The rows of the newest version."""

    @abstractmethod
    def changing(self) -> AbstractContextManager[None]:
        """One change at a time, among the processes of a host."""

    @abstractmethod
    def recover(self) -> None:
        """Finish or clear away what a crash cut short. Every write does it."""

    @abstractmethod
    def _write(
        self,
        frame: "DataFrame",
        partition_by: Sequence[str],
        change: Change,
        *,
        writer: str = "",
        batch_id: int | None = None,
        records_per_file: int = 0,
    ) -> Added: ...

    # --- writing ---------------------------------------------------------------------------------------

    def write_batch(
        self,
        frame: "DataFrame",
        batch_id: int,
        partition_by: Sequence[str] = (),
        *,
        writer: str,
        change: Change | None = None,
        records_per_file: int = 0,
    ) -> Added | None:
        """The rows of a micro-batch. None: it was in the table before. Raises TableRefused."""
        self.recover()
        record, change = self.record(), change or Change()
        if record.is_stale(writer, batch_id, change.plan):
            raise self._stale(record, writer, batch_id)
        if record.has(writer, batch_id):
            return None
        self.admit(record, frame.schema.json(), writer)
        return self._write(
            frame,
            partition_by,
            change,
            writer=writer,
            batch_id=batch_id,
            records_per_file=records_per_file,
        )

    def _stale(self, record: TableRecord, writer: str, batch_id: int) -> TableRefused:
        last = record.writers[writer]
        this = f"batch {batch_id}" if batch_id < last else "another one of that number"
        return TableRefused(
            f"table {self.location} already has batch {last} of query {writer}, and this is {this}: the "
            f"checkpoint was restored from a backup, or copied. Rows would be lost without the batch, or be "
            f"there twice with it. Use the newest checkpoint; or remove it, and start where the table ends "
            f"(barnabas pipeline offsets {self.location}) with --starting-offsets and --take-over"
        )

    def append(
        self, frame: "DataFrame", partition_by: Sequence[str], change: Change, *, records_per_file: int = 0
    ) -> Added:
        """Rows that are no batch of a stream: a backfill. Raises TableRefused."""
        self.recover()
        self.admit(self.record(), frame.schema.json())
        return self._write(frame, partition_by, change, records_per_file=records_per_file)

    def admit(self, record: TableRecord, schema: str, writer: str | None = None) -> None:
        """Raises TableRefused for a foreign owner, a foreign checkpoint or a foreign schema."""
        owner = self.options.owner
        if owner and record.owner and owner != record.owner:
            raise TableRefused(
                f"table {self.location} has the rows of {record.owner}; {owner} must write to another one: "
                f"choose another table name or another --warehouse"
            )
        is_foreign = writer is not None and record.writers and writer not in record.writers
        if is_foreign and not self.options.take_over:
            raise TableRefused(
                f"table {self.location} was written by query {', '.join(record.writers)}, this is query "
                f"{writer}: its checkpoint is another one, and it would add rows that are there already. "
                f"Restore the checkpoint, delete the table, or take it over with --take-over"
            )
        known = self.schema()
        if known is None:
            return
        try:
            added_fields(known, nullable(schema))
        except SchemaConflict as conflict:
            raise TableRefused(
                f"table {self.location} refuses rows of another schema: {conflict}. Cast the column, or "
                f"choose another table name"
            ) from None


def merged_schema(known: dict[str, Any] | None, frame: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The table's schema with the frame's columns in it, and the added ones. Raises SchemaConflict."""
    of_frame = nullable(frame)
    if known is None:
        return of_frame, []
    added = added_fields(known, of_frame)
    merged: dict[str, Any] = json.loads(json.dumps(known))
    merged["fields"] += added
    return merged, added
