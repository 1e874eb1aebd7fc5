"""The table without Spark: files are staged by hand."""

import errno
import os
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from barnabas.pipelines.common.commit_log import CommitLog, batch_name
from barnabas.pipelines.common.table import ParquetTable


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
    commit = table.commit_staged("one", label="first", writer="w", batch_id=4)
    assert [file.name for file in table.files()] == ["day=a/first-000.parquet", "day=b/first-001.parquet"]
    assert [file.partition for file in table.files()] == ["day=a", "day=b"]
    assert (commit.rows, values(table)) == (3, [1, 2, 3])
    assert table.committed_batches("w") == [commit]
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


@pytest.mark.parametrize("renames", [0, 1, 2, 3, 4])
def test_a_crash_at_any_rename_leaves_all_or_nothing(
    table: ParquetTable, monkeypatch: pytest.MonkeyPatch, renames: int
) -> None:
    """Renames: the intent's appearance, two files, the finished commit."""
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
        table.commit_staged("one", label="one", writer="w", batch_id=0, remove=["day=a/old-000.parquet"])
    except PowerCut:
        assert renames < 4
    else:
        assert renames == 4
    monkeypatch.undo()
    again = ParquetTable(table.path)
    again.recover()
    committed = [each.batch_id for each in again.committed_batches("w")]
    assert (values(again), committed) == (([9], []) if renames == 0 else ([1, 2], [0]))


@pytest.mark.parametrize("syncs", range(7))
def test_a_full_disk_fails_the_batch_which_is_there_once_when_it_runs_again(
    table: ParquetTable, monkeypatch: pytest.MonkeyPatch, syncs: int
) -> None:
    """Syncs: two staged files, the intent, its directory, two directories of the table."""
    left = [syncs]
    sync = os.fsync

    def failing(descriptor: int) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        sync(descriptor)

    def run() -> None:
        table.recover()
        if CommitLog(table.path).last_batch("w") is None:
            stage(table, batch_name("w", 0), a=[1], b=[2])
            table.commit_staged(batch_name("w", 0), label="one", writer="w", batch_id=0)

    monkeypatch.setattr(os, "fsync", failing)
    if syncs < 6:
        with pytest.raises(OSError, match="No space left"):
            run()
    monkeypatch.undo()
    run()
    assert values(table) == [1, 2]
    assert [each.batch_id for each in table.committed_batches("w")] == [0]


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


def test_last_batch_is_per_writer(table: ParquetTable) -> None:
    log = CommitLog(table.path)
    for writer, batch in (("w", 3), ("w", 11), ("w-2", 40)):
        name = f"batch-{writer}-{batch:012d}"
        stage(table, name, a=[batch])
        table.commit_staged(name, label=name, writer=writer, batch_id=batch)
    assert (log.last_batch("w"), log.last_batch("w-2"), log.last_batch("x")) == (11, 40, None)


def test_old_commits_are_forgotten_but_not_the_newest(table: ParquetTable) -> None:
    for batch in range(205):
        name = f"batch-w-{batch:012d}"
        table.commit_staged(name, label=name, writer="w", batch_id=batch)
    kept = [each.batch_id for each in table.committed_batches("w")]
    assert kept == list(range(5, 205))
