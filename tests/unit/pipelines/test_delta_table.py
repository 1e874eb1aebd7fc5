"""The Delta table without Spark: frames are Arrow tables, their tasks run here."""

import json
import shutil
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import deltalake
import duckdb
import pandas as pd
import pyarrow as pa
import pytest
from tests.patience import PATIENCE
from tests.unit.pipelines.arrow_frame import ArrowFrame, frame

from barnabas.pipelines.common import delta_files, delta_table
from barnabas.pipelines.common.background import wait_for
from barnabas.pipelines.common.delta_files import Store
from barnabas.pipelines.common.delta_table import DeltaLakeTable, TableChanged
from barnabas.pipelines.common.table import TableRefused, WriteOptions
from barnabas.pipelines.common.table_record import Backfilled, Change

HOURS = ("date", "hour")
OPTIONS = WriteOptions("logs-lines")


def open_table(path: Path, **options: Any) -> DeltaLakeTable:
    return DeltaLakeTable(Store(str(path), {}), WriteOptions(**{"owner": "logs-lines", **options}))


@pytest.fixture
def table(tmp_path: Path) -> DeltaLakeTable:
    return open_table(tmp_path / "table")


def values(table: DeltaLakeTable, version: int | None = None) -> list[int]:
    found = deltalake.DeltaTable(table.location, version=version).to_pandas()
    return sorted(int(value) for value in found["offset"])


def test_a_batch_is_there_once_however_often_it_runs(table: DeltaLakeTable) -> None:
    first = table.write_batch(frame([1, 2]), 0, HOURS, writer="w")
    assert first is not None
    assert (first.rows, len(first.files)) == (2, 1)
    assert table.write_batch(frame([1, 2]), 0, HOURS, writer="w") is None
    assert table.write_batch(frame([3]), 1, HOURS, writer="w") is not None
    assert open_table(Path(table.location)).write_batch(frame([3]), 1, HOURS, writer="w") is None
    assert values(table) == [1, 2, 3]


def test_a_batch_of_a_restored_checkpoint_is_refused(table: DeltaLakeTable) -> None:
    """Spark plans its batches anew there: the same numbers may have other rows."""
    for batch in range(3):
        plan = Change(plan=f"plan {batch}")
        table.write_batch(frame([batch]), batch, HOURS, writer="w", change=plan)
    with pytest.raises(TableRefused, match="already has batch 2 of query w, and this is batch 1: the checkp"):
        table.write_batch(frame([1, 2, 3]), 1, HOURS, writer="w", change=Change(plan="plan 1"))
    with pytest.raises(TableRefused, match="this is another one of that number"):
        table.write_batch(frame([2, 3]), 2, HOURS, writer="w", change=Change(plan="planned anew"))
    assert table.write_batch(frame([2]), 2, HOURS, writer="w", change=Change(plan="plan 2")) is None
    assert table.write_batch(frame([2]), 2, HOURS, writer="w") is None  # nothing is known of the plan
    assert table.write_batch(frame([3]), 3, HOURS, writer="w", change=Change(plan="plan 3")) is not None
    assert values(table) == [0, 1, 2, 3]


class PowerCut(Exception):
    pass


@pytest.mark.parametrize("is_committed", [False, True])
def test_a_crash_before_or_after_the_commit_leaves_nothing_or_all(
    table: DeltaLakeTable, monkeypatch: pytest.MonkeyPatch, is_committed: bool
) -> None:
    table.write_batch(frame([1]), 0, HOURS, writer="w")
    commit = DeltaLakeTable._commit

    def dying(*given: Any) -> None:
        if is_committed:
            commit(*given)
        raise PowerCut

    monkeypatch.setattr(DeltaLakeTable, "_commit", dying)
    with pytest.raises(PowerCut):
        table.write_batch(frame([2, 3]), 1, HOURS, writer="w")
    monkeypatch.undo()
    assert values(table) == ([1, 2, 3] if is_committed else [1])
    again = open_table(Path(table.location)).write_batch(frame([2, 3]), 1, HOURS, writer="w")
    assert (again is None) == is_committed
    assert values(table) == [1, 2, 3]


def test_of_two_drivers_with_the_same_batch_one_fails(
    table: DeltaLakeTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both have read the same version when they write their files."""
    table.write_batch(frame([1]), 0, HOURS, writer="w")
    write_files = delta_files.write_files

    def slow(*given: Any) -> Any:
        monkeypatch.undo()
        open_table(Path(table.location)).write_batch(frame([2]), 1, HOURS, writer="w")
        return write_files(*given)

    monkeypatch.setattr(delta_table, "write_files", slow)
    with pytest.raises(TableChanged, match="was changed"):
        table.write_batch(frame([2]), 1, HOURS, writer="w")
    assert values(table) == [1, 2]


def test_an_empty_batch_changes_nothing(table: DeltaLakeTable) -> None:
    added = table.write_batch(frame([]), 0, HOURS, writer="w")
    assert added is not None
    assert (added.rows, table.exists()) == (0, False)


def test_rows_lie_in_the_partition_of_their_hour(table: DeltaLakeTable) -> None:
    both = ArrowFrame(pa.concat_tables([frame([1, 2], hour=3).table, frame([3], hour=4).table]), batches=2)
    table.write_batch(both, 0, HOURS, writer="w")  # type: ignore[arg-type]
    assert [file.partition for file in table.files()] == ["date=2026-01-01/hour=3", "date=2026-01-01/hour=4"]
    found = deltalake.DeltaTable(table.location).to_pandas()
    assert found.set_index("offset")["hour"].to_dict() == {1: 3, 2: 3, 3: 4}


def test_files_are_cut_by_records(table: DeltaLakeTable) -> None:
    table.write_batch(frame(list(range(25)), batches=3), 0, HOURS, writer="w", records_per_file=10)
    rows = deltalake.DeltaTable(table.location).get_add_actions(flatten=True)
    assert sorted(pa.table(rows)["num_records"].to_pylist()) == [5, 10, 10]
    assert values(table) == list(range(25))


def test_files_carry_the_least_and_largest_values(table: DeltaLakeTable) -> None:
    time = pa.array([1_767_225_600_000_001, 1_767_225_600_000_999], pa.timestamp("us", "UTC"))
    rows = frame([7, 9]).table.append_column("time", time)
    table.write_batch(ArrowFrame(rows), 0, HOURS, writer="w")  # type: ignore[arg-type]
    found = pa.table(deltalake.DeltaTable(table.location).get_add_actions(flatten=True)).to_pylist()[0]
    assert (found["min.offset"], found["max.offset"], found["null_count.offset"]) == (7, 9, 0)
    assert found["min.time"] == datetime(2026, 1, 1, tzinfo=UTC)
    assert found["max.time"] == datetime(2026, 1, 1, tzinfo=UTC) + timedelta(milliseconds=1)


# --- writers -------------------------------------------------------------------------------------------


def test_another_pipeline_is_refused(table: DeltaLakeTable) -> None:
    table.write_batch(frame([1]), 0, HOURS, writer="w")
    other = open_table(Path(table.location), owner="offline-load of logs")
    with pytest.raises(TableRefused, match="has the rows of logs-lines; offline-load of logs must write to"):
        other.write_batch(frame([1]), 0, HOURS, writer="v")
    assert values(table) == [1]


def test_another_checkpoint_is_refused_unless_it_takes_over(table: DeltaLakeTable) -> None:
    table.write_batch(frame([1]), 0, HOURS, writer="w")
    with pytest.raises(TableRefused, match=r"was written by query w, this is query v: .*--take-over"):
        table.write_batch(frame([2]), 0, HOURS, writer="v")
    taking = open_table(Path(table.location), take_over=True)
    assert taking.write_batch(frame([2]), 0, HOURS, writer="v") is not None
    assert values(table) == [1, 2]


def test_a_column_of_another_type_is_refused(table: DeltaLakeTable) -> None:
    table.write_batch(frame([1], status=["ok"]), 0, HOURS, writer="w")
    with pytest.raises(TableRefused, match="column status is string in the table, long here"):
        table.write_batch(frame([2], status=[200]), 1, HOURS, writer="w")
    assert values(table) == [1]


def test_columns_may_come_and_go(table: DeltaLakeTable) -> None:
    table.write_batch(frame([1]), 0, HOURS, writer="w")
    table.write_batch(frame([2], status=["ok"]), 1, HOURS, writer="w")
    table.write_batch(frame([3]), 2, HOURS, writer="w")
    found = deltalake.DeltaTable(table.location).to_pandas().set_index("offset")["status"]
    assert found.where(found.notna(), None).to_dict() == {1: None, 2: "ok", 3: None}
    assert table.write_batch(frame([3]), 2, HOURS, writer="w") is None


# --- what the table knows ------------------------------------------------------------------------------


def test_the_table_knows_its_offsets_and_the_version_that_has_one(table: DeltaLakeTable) -> None:
    for batch, end in enumerate((10, 20, 30)):
        change = Change({"logs": {"0": end}})
        table.write_batch(frame([end - 1]), batch, HOURS, writer="w", change=change)
    list(table.compact())
    assert table.record().offsets == {"logs": {"0": 30}}
    assert [version.record.offsets["logs"]["0"] for version in table.versions()] == [30, 20, 10]
    version = table.version_with("logs", 0, 15)
    assert version is not None
    assert values(table, version) == [9, 19]
    assert table.version_with("logs", 0, 30) is None
    assert values(table, table.version_with("logs", 0, 0)) == [9]


def test_a_compaction_that_read_an_older_record_does_not_bring_it_back(table: DeltaLakeTable) -> None:
    for batch in range(2):
        table.write_batch(frame([batch]), batch, HOURS, writer="w", change=Change({"logs": {"0": batch + 1}}))
    older = table.record()
    table.write_batch(frame([2]), 2, HOURS, writer="w", change=Change({"logs": {"0": 3}}))
    deltalake.DeltaTable(table.location).optimize.compact(commit_properties=delta_table._carrying(older))
    assert table.record().offsets == {"logs": {"0": 3}}


def test_the_record_is_found_behind_many_changes_of_others(table: DeltaLakeTable) -> None:
    backfilled = (Backfilled("id", 0, 5, 9),)
    table.write_batch(frame([1]), 0, HOURS, writer="w", change=Change(backfilled=backfilled))
    for number in range(12):
        deltalake.DeltaTable(table.location).alter.set_table_description(f"number {number}")
    assert table.record().backfilled == backfilled


# --- few files -----------------------------------------------------------------------------------------


def test_compaction_joins_small_files_of_closed_hours(table: DeltaLakeTable) -> None:
    for batch in range(4):
        table.write_batch(frame([batch], hour=batch % 2), batch, HOURS, writer="w")
    done = list(table.compact(datetime(2026, 1, 1, 1, 30, tzinfo=UTC)))
    assert [(each.partition, each.files_before, each.files_after) for each in done] == [
        ("date=2026-01-01/hour=0", 2, 1)
    ]
    assert len(table.files()) == 3
    assert values(table) == [0, 1, 2, 3]
    assert list(table.compact(datetime(2026, 1, 1, 1, 30, tzinfo=UTC))) == []


def test_a_stream_compacts_as_it_goes(table: DeltaLakeTable) -> None:
    for batch in range(45):
        table.write_batch(frame([batch]), batch, HOURS, writer="w")
        wait_for(table.location)
    assert len(table.files()) < delta_table._EVERY
    assert values(table) == list(range(45))
    assert deltalake.DeltaTable(table.location).transaction_version("w") == 44


def test_a_batch_does_not_wait_for_a_compaction(
    table: DeltaLakeTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Batches are committed beside it, and both are in the table."""
    begun, may_end = threading.Event(), threading.Event()
    compact = DeltaLakeTable.compact

    def slow(self: DeltaLakeTable, *given: Any, **named: Any) -> Any:
        opened = self._open()
        begun.set()
        assert may_end.wait(PATIENCE)
        monkeypatch.setattr(self, "_open", lambda: opened)  # it goes on from the version that it had read
        yield from compact(self, *given, **named)

    monkeypatch.setattr(DeltaLakeTable, "compact", slow)
    for batch in range(delta_table._EVERY + 1):
        table.write_batch(frame([batch]), batch, HOURS, writer="w")
    assert begun.wait(PATIENCE)
    table.write_batch(frame([100]), delta_table._EVERY + 1, HOURS, writer="w")
    assert len(table.files()) == delta_table._EVERY + 2
    may_end.set()
    wait_for(table.location)
    assert len(table.files()) < delta_table._MANY
    assert values(table) == [*range(delta_table._EVERY + 1), 100]
    assert table.record().writers == {"w": delta_table._EVERY + 1}


def test_a_compaction_that_fails_does_not_stop_the_stream(
    table: DeltaLakeTable, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def failing(self: DeltaLakeTable, *given: Any, **named: Any) -> Any:
        raise OSError("No space left on device")

    monkeypatch.setattr(DeltaLakeTable, "compact", failing)
    for batch in range(delta_table._EVERY + 2):
        table.write_batch(frame([batch]), batch, HOURS, writer="w")
    wait_for(table.location)
    assert f"Compaction of table {table.location} failed" in caplog.text
    assert "No space left on device" in caplog.text
    assert values(table) == list(range(delta_table._EVERY + 2))


def test_a_table_that_was_deleted_and_created_anew_is_read_anew(table: DeltaLakeTable) -> None:
    for batch in range(3):
        table.write_batch(frame([batch]), batch, HOURS, writer="w")
    shutil.rmtree(table.location)
    assert table.record().writers == {}
    for batch in range(4):
        open_table(Path(table.location)).write_batch(frame([batch]), batch, HOURS, writer="v")
    assert table.record().writers == {"v": 3}
    with pytest.raises(TableRefused, match="was written by query v"):
        table.write_batch(frame([5]), 3, HOURS, writer="w")


def test_every_version_is_synced_before_a_batch_is_done(
    table: DeltaLakeTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also one whose writer died after its commit: the batch runs again, and is reported as done then."""
    synced: set[str] = set()
    monkeypatch.setattr(delta_table, "sync", lambda path: synced.add(path.name))
    table.write_batch(frame([1]), 0, HOURS, writer="w")
    assert synced == {f"{0:020d}.json", f"{1:020d}.json", "_delta_log"}
    synced.clear()
    table.write_batch(frame([2], status=["new column"]), 1, HOURS, writer="w")
    assert synced >= {f"{2:020d}.json", f"{3:020d}.json", "_delta_log"}
    synced.clear()
    assert open_table(Path(table.location)).write_batch(frame([2]), 1, HOURS, writer="w") is None
    assert synced >= {f"{3:020d}.json", "_delta_log"}


def test_vacuum_removes_what_is_older_than_the_retention_and_what_a_crash_left(tmp_path: Path) -> None:
    table = open_table(tmp_path / "table", retention_hours=0)
    for batch in range(2):
        table.write_batch(frame([batch]), batch, HOURS, writer="w")
    left = tmp_path / "table" / "date=2026-01-01" / "hour=1" / "part-crashed.parquet"
    left.write_bytes(b"")
    list(table.compact())
    assert table.vacuum(full=True) == 3
    assert not left.exists()
    assert values(table) == [0, 1]
    assert table.record().writers == {"w": 1}


# --- readers -------------------------------------------------------------------------------------------


def test_pandas_reads_the_files_that_the_log_names(table: DeltaLakeTable) -> None:
    table.write_batch(frame([1, 2]), 0, HOURS, writer="w")
    named = deltalake.DeltaTable(table.location).file_uris()
    assert sorted(pd.concat(pd.read_parquet(path) for path in named)["offset"]) == [1, 2]


def test_duckdb_reads_the_rows_of_a_version(table: DeltaLakeTable) -> None:
    table.write_batch(frame([1, 2], hour=3), 0, HOURS, writer="w")
    table.write_batch(frame([3], hour=4), 1, HOURS, writer="w")
    rows = deltalake.DeltaTable(table.location).to_pyarrow_dataset()
    counted = duckdb.from_arrow(rows).filter("hour = 3").aggregate('count(*), max("offset")')
    assert counted.fetchall() == [(2, 2)]


def test_the_owner_is_a_property_that_any_reader_sees(table: DeltaLakeTable) -> None:
    table.write_batch(frame([1]), 0, HOURS, writer="w")
    assert deltalake.DeltaTable(table.location).metadata().configuration["barnabas.owner"] == "logs-lines"
    entry = deltalake.DeltaTable(table.location).history(1)[0]
    assert json.loads(entry["barnabas"])["writers"] == {"w": 0}
