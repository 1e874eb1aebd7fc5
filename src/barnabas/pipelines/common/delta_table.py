"""`DeltaLakeTable`: a Delta Lake table through delta-rs, without a JVM. With `delta_files` the one home of
the library `deltalake`.

Tasks write Parquet files (`delta_files`); the driver lists them in one commit of the log. That commit has
three more things: the application transaction `(writer, batch)`, by which a batch that is in the table is
known; a second one that counts the changes of rows, so that of two writers that read the same version one
fails; and the `TableRecord`. Readers see one version, whole, whatever is written or compacted beside them.

Crash promise: without its commit the table has nothing of a batch, and the files that were written for it are
removed by `vacuum`. delta-rs does not sync its log to the disk; on a local disk this is done here, before
the batch is reported to Spark as done.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import deltalake
import pyarrow as pa
from deltalake import CommitProperties, Transaction, WriterProperties
from deltalake.exceptions import CommitFailedError
from deltalake.transaction import AddAction

from barnabas.pipelines.common.background import in_background
from barnabas.pipelines.common.delta_files import Store, WrittenFile, read_files, sync, write_files
from barnabas.pipelines.common.hours import Compacted, is_closed, small_files
from barnabas.pipelines.common.table import Added, Table, TableFile, TableRefused, WriteOptions, merged_schema
from barnabas.pipelines.common.table_lock import locked
from barnabas.pipelines.common.table_record import Change, TableRecord

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_RECORD = "barnabas"
"""The key of the record in the metadata of a commit."""
_CHANGES = "barnabas-changes"
"""The application transaction that counts changes of rows: `TableRecord.sequence`."""
_OWNER = "barnabas.owner"
_UNSYNCED = 8
"""Newest versions that may not be on the disk when the table is opened: more than two batches and a
compaction between them make.
"""
_EVERY = 20
"""Changes of rows between two looks for small files."""
_MANY = 10
"""Small files of an hour that are worth a compaction while the stream writes on."""


class TableChanged(RuntimeError):
    """Another process changed the table meanwhile; the batch has to run again."""


@dataclass(frozen=True, slots=True)
class Version:
    """One version of the table that took rows in."""

    number: int
    time: datetime
    record: TableRecord


class DeltaLakeTable(Table):
    def __init__(self, store: Store, options: WriteOptions | None = None) -> None:
        super().__init__(store.location, options or WriteOptions())
        self.store: Store = store
        self._opened: deltalake.DeltaTable | None = None
        self._stamp: tuple[int, int] | None = None
        self._synced: int = -1
        """The newest version that is known to be on the disk."""

    # --- looking ---------------------------------------------------------------------------------------

    def exists(self) -> bool:
        return bool(deltalake.DeltaTable.is_deltatable(self.location, dict(self.store.options)))

    def record(self) -> TableRecord:
        table = self._open()
        return TableRecord() if table is None else _record_of(table)

    def schema(self) -> dict[str, Any] | None:
        table = self._open()
        return None if table is None else _schema_of(table)

    def files(self) -> list[TableFile]:
        table = self._open()
        if table is None:
            return []
        found = pa.table(table.get_add_actions(flatten=True))
        names, sizes = found["path"].to_pylist(), found["size_bytes"].to_pylist()
        return sorted(
            (TableFile(*each) for each in zip(names, sizes, strict=True)), key=lambda each: each.name
        )

    def versions(self) -> Iterator[Version]:
        """Those the log still has, newest first."""
        table = self._open()
        for entry in table.history() if table is not None else ():
            if _RECORD in entry and entry["operation"] == "WRITE":
                time = datetime.fromtimestamp(entry["timestamp"] / 1000).astimezone()
                yield Version(int(entry["version"]), time, TableRecord.of_json(entry[_RECORD]))

    def version_with(self, topic: str, partition: int, offset: int) -> int | None:
        """The first version that has the offset, for time travel; None if none has."""
        found = None
        for version in self.versions():
            if version.record.offsets.get(topic, {}).get(str(partition), 0) <= offset:
                break
            found = version.number
        return found

    def read(self, spark: "SparkSession") -> "DataFrame":
        from pyspark.sql.types import StructType

        table = self._open()
        if table is None:
            raise TableRefused(f"{self.location} is no Delta table")
        schema, names = _schema_of(table), [file.name for file in self.files()]
        if self.store.is_remote or not names:
            return read_files(spark, self.store, names, schema)
        reader = spark.read.schema(StructType.fromJson(schema)).option("basePath", self.location)
        return reader.parquet(*table.file_uris())

    # --- writing ---------------------------------------------------------------------------------------

    def changing(self) -> AbstractContextManager[None]:
        """In an object store the count of changes alone keeps writers apart."""
        return nullcontext() if self.store.is_remote else locked(Path(self.location))

    def recover(self) -> None:
        """What is not in the log is not in the table. A version whose writer died before it was synced is
        synced here, before a batch in it is reported as done.
        """
        table = self._open()
        if table is not None:
            self._sync_log(table)

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
        before = self.record()
        files = write_files(frame, self.store, partition_by, self.options.target_bytes, records_per_file)
        added = Added(
            sum(file.rows for file in files), tuple(file.path for file in files), sum(f.size for f in files)
        )
        if not files and not change.backfilled:
            return added  # an empty batch that runs again is empty again
        table = self._evolve(frame.schema.json(), partition_by)
        owner = self.options.owner
        record = before.after(change, owner=owner, size=added.size, writer=writer, batch_id=batch_id)
        transactions = [Transaction(_CHANGES, record.sequence)]
        if batch_id is not None:
            transactions.append(Transaction(writer, batch_id))
        self._commit(table, files, partition_by, record, transactions)
        if record.sequence % _EVERY == _EVERY - 1:
            in_background(self.location, DeltaLakeTable(self.store, self.options).maintain)
        return added

    def _commit(
        self,
        table: deltalake.DeltaTable,
        files: list[WrittenFile],
        partition_by: Sequence[str],
        record: TableRecord,
        transactions: list[Transaction],
    ) -> None:
        newest = table.transaction_version(_CHANGES)
        if (-1 if newest is None else newest) != record.sequence - 1:
            raise TableChanged(f"table {self.location} was changed while rows were written to it")
        actions = [
            AddAction(file.path, file.size, file.partition, file.modified, True, file.stats) for file in files
        ]
        properties = CommitProperties(
            custom_metadata={_RECORD: record.to_json()}, app_transactions=transactions
        )
        try:
            table.create_write_transaction(
                list(actions), "append", table.schema(), list(partition_by), commit_properties=properties
            )
        except CommitFailedError as error:
            raise TableChanged(
                f"table {self.location} was changed by another process while rows were written to it: {error}"
            ) from error
        self._sync_log(table)

    def _evolve(self, schema: str, partition_by: Sequence[str]) -> deltalake.DeltaTable:
        """The table, created or with the columns that the rows add."""
        table = self._open()
        merged, added = merged_schema(None if table is None else _schema_of(table), schema)
        if table is None:
            return self._create(merged, partition_by)
        if added:
            fields = deltalake.Schema.from_json(json.dumps({"type": "struct", "fields": added})).fields
            table.alter.add_columns(fields, commit_properties=_carrying(_record_of(table)))
        return table

    def _create(self, schema: dict[str, Any], partition_by: Sequence[str]) -> deltalake.DeltaTable:
        kept = f"interval {self.options.retention_hours} hours"
        return deltalake.DeltaTable.create(
            self.location,
            deltalake.Schema.from_json(json.dumps(schema)),
            mode="ignore",
            partition_by=list(partition_by),
            configuration={
                _OWNER: self.options.owner,
                "delta.logRetentionDuration": kept,
                "delta.deletedFileRetentionDuration": kept,
            },
            storage_options=dict(self.store.options),
            raise_if_key_not_exists=False,
        )

    # --- keeping the files few -------------------------------------------------------------------------

    def compact(
        self, closed_before: datetime | None = None, least: int = 2, target_bytes: int = 0
    ) -> Iterator[Compacted]:
        """Hour by hour, oldest first, one commit each; rows and order stay. Without a time, all hours."""
        target = target_bytes or self.options.target_bytes
        for partition, files in sorted(small_files(self.files(), target, least).items()):
            if closed_before is None or is_closed(partition, closed_before):
                done = self._compact_one(partition, len(files), target)
                if done is not None:
                    yield done

    def _compact_one(self, partition: str, count: int, target: int) -> Compacted | None:
        table = self._open()
        if table is None:
            return None
        parts = (part.partition("=") for part in partition.split("/") if part)
        try:
            done = table.optimize.compact(
                partition_filters=[(key, "=", value) for key, _, value in parts] or None,
                target_size=target,
                writer_properties=WriterProperties(compression="ZSTD"),
                commit_properties=_carrying(_record_of(table)),
            )
        except CommitFailedError:  # another process has compacted the same files
            return None
        self._sync_log(table)
        removed, added = int(done["numFilesRemoved"]), int(done["numFilesAdded"])
        return Compacted(partition, removed, added) if removed else None

    def vacuum(self, *, full: bool = False) -> int:
        """Remove files that compaction replaced longer ago than the retention; `full` also lists the
        directory for files that no version has: those of crashed batches. Returns how many.
        """
        table = self._open()
        if table is None:
            return 0
        removed = table.vacuum(
            self.options.retention_hours,
            dry_run=False,
            enforce_retention_duration=False,
            full=full,
            commit_properties=_carrying(_record_of(table)),
        )
        return len(removed)

    def maintain(self) -> None:
        """Beside the batches of a stream, now and then."""
        if list(self.compact(least=_MANY)):
            self.vacuum()

    def _open(self) -> deltalake.DeltaTable | None:
        """The newest version; the log is read from the start once, and again if it is another table's."""
        if self._opened is not None and self._newest_stamp() == self._stamp:
            self._opened.update_incremental()
        else:
            self._opened = None
            if self.exists():
                self._opened = deltalake.DeltaTable(self.location, storage_options=dict(self.store.options))
                self._synced = self._opened.version() - _UNSYNCED
        self._stamp = self._newest_stamp()
        return self._opened

    def _newest_stamp(self) -> tuple[int, int] | None:
        """Of the log's file for the version that is open: a table that was deleted and created anew in the
        same directory has another one, or none.
        """
        if self._opened is None or self.store.is_remote:
            return None
        try:
            found = self._log_file(self._opened.version()).stat()
        except FileNotFoundError:
            return 0, 0
        return found.st_ino, found.st_mtime_ns

    def _log_file(self, version: int) -> Path:
        return Path(self.location, "_delta_log", f"{version:020d}.json")

    def _sync_log(self, table: deltalake.DeltaTable) -> None:
        """All versions since the last time: ours, and those that came between."""
        if self.store.is_remote:
            return
        table.update_incremental()  # a write transaction leaves the version as it was
        if table.version() <= self._synced:
            return
        for version in range(max(0, self._synced + 1), table.version() + 1):
            with suppress(FileNotFoundError):  # an old one, of which the table has a checkpoint
                sync(self._log_file(version))
        sync(self._log_file(0).parent)
        self._synced = table.version()


def _record_of(table: deltalake.DeltaTable) -> TableRecord:
    """The newest one: its sequence is that of the counting transaction. Compactions carry a copy, which may
    be older than a batch that was committed while they worked.
    """
    newest, limit = table.transaction_version(_CHANGES), 8
    if newest is None:
        return TableRecord(owner=table.metadata().configuration.get(_OWNER, ""))
    while True:
        entries = table.history(limit)
        for entry in entries:
            if _RECORD in entry:
                record = TableRecord.of_json(entry[_RECORD])
                if record.sequence == newest:
                    return record
        if len(entries) < limit:
            raise TableRefused(
                f"the log of table {table.table_uri} has no record of change {newest} any more: another "
                f"program removed versions from it"
            )
        limit *= 8


def _carrying(record: TableRecord) -> CommitProperties:
    """A commit that changes no rows keeps the record in reach, however long no stream writes."""
    return CommitProperties(custom_metadata={_RECORD: record.to_json()})


def _schema_of(table: deltalake.DeltaTable) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(table.schema().to_json())
    return found
