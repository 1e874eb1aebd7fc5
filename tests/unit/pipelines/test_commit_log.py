"""The table without Spark: files are staged by hand."""

import errno
import os
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from barnabas.pipelines.common.commit_log import CommitLog, batch_name
from barnabas.pipelines.common.parquet_table import ParquetTable
from barnabas.pipelines.common.table import TableRefused, WriteOptions
from barnabas.pipelines.common.table_record import Backfilled, Change


def stage(table: ParquetTable, name: str, **partitions: list[int]) -> None:
    directory = table.stage(name)
    for partition, values in partitions.items():
        file = directory / f"day={partition}" / "part-0000.parquet"
        file.parent.mkdir(parents=True)
        pq.write_table(pa.table({"value": values}), file)


def values(table: ParquetTable) -> list[int]:
    return sorted(pd.read_parquet(table.path)["value"]) if table.files() else []


@pytest.fixture
def table(tmp_path: Path) -> ParquetTable:
    return ParquetTable(tmp_path / "table")


def test_staged_files_are_no_part_of_the_table(table: ParquetTable) -> None:
    stage(table, "one", a=[1], b=[2])
    assert table.files() == []


def test_commit_takes_in_what_was_staged(table: ParquetTable) -> None:
    stage(table, "one", a=[1], b=[2, 3])
    commit = table.commit_staged("one", label="first", writer="w", batch_id=4, change=Change())
    assert [file.name for file in table.files()] == ["day=a/first-000.parquet", "day=b/first-001.parquet"]
    assert [file.partition for file in table.files()] == ["day=a", "day=b"]
    assert (commit.rows, values(table)) == (3, [1, 2, 3])
    assert table.commits() == [commit]
    assert table.record().writers == {"w": 4}
    assert not (table.path / "_staging" / "one").exists()


def test_a_change_may_remove_files(table: ParquetTable) -> None:
    for name in ("one", "two"):
        stage(table, name, a=[1])
        table.commit_staged(name, label=name)
    small = [file.name for file in table.files()]
    stage(table, "both", a=[1, 1])
    table.commit_staged("both", label="both", remove=small)
    assert [file.name for file in table.files()] == ["day=a/both-000.parquet"]
    assert values(table) == [1, 1]


class PowerCut(Exception):
    pass


@pytest.mark.parametrize("renames", [0, 1, 2, 3, 4, 5])
def test_a_crash_at_any_rename_leaves_all_or_nothing(
    table: ParquetTable, monkeypatch: pytest.MonkeyPatch, renames: int
) -> None:
    """Renames: the intent's appearance, two files, the record, the finished commit."""
    stage(table, "old", a=[9])
    table.commit_staged("old", label="old")
    stage(table, "one", a=[1], b=[2])
    done: list[Path] = []
    replace = Path.replace

    def failing(self: Path, target: Path) -> Path:
        if len(done) == renames:
            raise PowerCut
        done.append(target)
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", failing)
    try:
        table.commit_staged(
            "one", label="one", writer="w", batch_id=0, remove=["day=a/old-000.parquet"], change=Change()
        )
    except PowerCut:
        assert renames < 5
    else:
        assert renames == 5
    monkeypatch.undo()
    again = ParquetTable(table.path)
    again.recover()
    committed = again.record().writers
    assert (values(again), committed) == (([9], {}) if renames == 0 else ([1, 2], {"w": 0}))


@pytest.mark.parametrize("syncs", range(9))
def test_a_full_disk_fails_the_batch_which_is_there_once_when_it_runs_again(
    table: ParquetTable, monkeypatch: pytest.MonkeyPatch, syncs: int
) -> None:
    """Syncs: two staged files, the intent, its directory, two directories of the table, the record, its
    directory.
    """
    left = [syncs]
    sync = os.fsync

    def failing(descriptor: int) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        sync(descriptor)

    def run() -> None:
        table.recover()
        if not table.record().has("w", 0):
            stage(table, batch_name("w", 0), a=[1], b=[2])
            table.commit_staged(batch_name("w", 0), label="one", writer="w", batch_id=0, change=Change())

    monkeypatch.setattr(os, "fsync", failing)
    if syncs < 8:
        with pytest.raises(OSError, match="No space left"):
            run()
    monkeypatch.undo()
    run()
    assert values(table) == [1, 2]
    assert [each.batch_id for each in table.commits()] == [0]


def test_recovering_twice_is_harmless(table: ParquetTable) -> None:
    stage(table, "one", a=[1])
    commit = table.commit_staged("one", label="one")
    done = table.path / "_commits" / "one.json"
    done.rename(done.with_suffix(".intent"))
    assert CommitLog(table.path).recover() == [commit]
    assert CommitLog(table.path).recover() == []
    assert values(table) == [1]


def test_staging_again_forgets_the_earlier_attempt(table: ParquetTable) -> None:
    stage(table, "one", a=[1], b=[2])
    stage(table, "one", a=[3])
    table.commit_staged("one", label="one")
    assert values(table) == [3]


def test_the_last_batch_is_known_per_writer(table: ParquetTable) -> None:
    for writer, batch in (("w", 3), ("w", 11), ("w-2", 40)):
        name = batch_name(writer, batch)
        stage(table, name, a=[batch])
        table.commit_staged(name, label=name, writer=writer, batch_id=batch, change=Change())
    record = table.record()
    assert record.writers == {"w": 11, "w-2": 40}
    assert [record.has("w", batch) for batch in (3, 11, 12)] == [True, True, False]
    assert not record.has("x", 0)


@pytest.mark.parametrize("is_stream", [True, False])
def test_old_commits_are_forgotten_but_not_what_they_said(table: ParquetTable, is_stream: bool) -> None:
    """A table that is compacted or backfilled for years has a log of the same length."""
    table.commit_staged("first", label="first", change=Change(backfilled=(Backfilled("id", 0, 500, 600),)))
    for batch in range(205):
        name = f"batch-w-{batch:012d}" if is_stream else f"compact-{batch}"
        change = Change({"t": {"0": batch}}) if is_stream else None
        number = batch if is_stream else None
        table.commit_staged(name, label=name, writer="w" * is_stream, batch_id=number, change=change)
    assert len(list((table.path / "_commits").glob("*.json"))) <= 203
    assert table.record().backfilled == (Backfilled("id", 0, 500, 600),)
    assert table.record().writers == ({"w": 204} if is_stream else {})


def test_finishing_an_older_change_once_more_keeps_the_newer_record(table: ParquetTable) -> None:
    for batch in range(2):
        table.commit_staged(
            batch_name("w", batch), label=f"l{batch}", writer="w", batch_id=batch, change=Change()
        )
    older = table.path / "_commits" / f"{batch_name('w', 0)}.json"
    older.rename(older.with_suffix(".intent"))
    table.recover()
    assert table.record().writers == {"w": 1}


def test_files_of_attempts_that_spark_did_not_take_are_left_out(table: ParquetTable) -> None:
    stage(table, "one", a=[1])
    failed = table.path / "_staging" / "one" / "_temporary" / "0" / "day=a" / "part-0001.parquet"
    failed.parent.mkdir(parents=True)
    pq.write_table(pa.table({"value": [1]}), failed)
    assert table.commit_staged("one", label="one").rows == 1
    assert values(table) == [1]


def test_recovery_clears_what_a_crash_left_in_staging(table: ParquetTable) -> None:
    stage(table, "compact-dead", a=[1])
    table.recover()
    assert not (table.path / "_staging").exists()


def test_a_foreign_owner_writer_and_schema_are_refused(tmp_path: Path) -> None:
    schema = (
        '{"type": "struct", "fields": [{"name": "value", "type": "long", "nullable": true, "metadata": {}}]}'
    )
    table = ParquetTable(tmp_path / "table", WriteOptions("activity-events"))
    stage(table, "one", a=[1])
    table.commit_staged("one", label="one", writer="w", batch_id=0, change=Change(), schema=schema)
    record = table.record()
    table.admit(record, schema, "w")
    with pytest.raises(TableRefused, match="has the rows of activity-events"):
        ParquetTable(table.path, WriteOptions("offline-load of activity")).admit(record, schema, "w")
    with pytest.raises(TableRefused, match="was written by query w, this is query v"):
        table.admit(record, schema, "v")
    with pytest.raises(TableRefused, match="column value is long in the table, string here"):
        table.admit(record, schema.replace("long", "string"), "w")
