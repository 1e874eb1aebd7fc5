"""Programs that read Delta tables, while batches are written and files are joined beside them."""

import threading
from collections.abc import Callable
from pathlib import Path

import deltalake
import duckdb
import polars as pl
import pytest
from tests.patience import PATIENCE
from tests.unit.pipelines.arrow_frame import frame

from barnabas.pipelines.common.delta_files import Store
from barnabas.pipelines.common.delta_table import DeltaLakeTable
from barnabas.pipelines.common.table import WriteOptions

HOURS = ("date", "hour")
_BATCHES = 16
Read = Callable[[], list[int]]


def _with_pandas(location: str) -> Read:
    table = deltalake.DeltaTable(location)
    return lambda: table.to_pandas()["offset"].to_list()


def _with_duckdb(location: str) -> Read:
    rows = deltalake.DeltaTable(location).to_pyarrow_dataset()
    return lambda: [number for (number,) in duckdb.from_arrow(rows).project('"offset"').fetchall()]


def _with_polars(location: str) -> Read:
    # A path alone is opened when the rows are collected: the newest version of that moment.
    lazy = pl.scan_delta(location, version=deltalake.DeltaTable(location).version()).select("offset")
    return lambda: lazy.collect()["offset"].to_list()


READERS = (_with_pandas, _with_duckdb, _with_polars)


@pytest.fixture
def table(tmp_path: Path) -> DeltaLakeTable:
    return DeltaLakeTable(Store(str(tmp_path / "table"), {}), WriteOptions("logs-lines"))


@pytest.mark.parametrize("reader", READERS)
def test_a_reader_keeps_the_rows_of_its_version(table: DeltaLakeTable, reader: Callable[[str], Read]) -> None:
    for batch in range(4):
        table.write_batch(frame([batch]), batch, HOURS, writer="w")
    before = reader(table.location)
    assert [each.files_after for each in table.compact()] == [1]
    assert table.vacuum() == 0
    table.write_batch(frame([4]), 4, HOURS, writer="w")
    assert sorted(before()) == [0, 1, 2, 3]
    assert sorted(reader(table.location)()) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("reader", READERS)
def test_a_reader_sees_whole_batches_once_while_files_are_joined(
    table: DeltaLakeTable, reader: Callable[[str], Read]
) -> None:
    table.write_batch(frame([0]), 0, HOURS, writer="w")
    done = threading.Event()

    def write() -> None:
        try:
            for batch in range(1, _BATCHES):
                table.write_batch(frame([batch]), batch, HOURS, writer="w")
                if batch % 3 == 0:
                    list(table.compact())
                    table.vacuum()
        finally:
            done.set()

    writer = threading.Thread(target=write)
    writer.start()
    seen = [1]
    while True:
        is_last = done.is_set()
        rows = sorted(reader(table.location)())
        assert rows == list(range(len(rows)))
        assert len(rows) >= seen[-1]
        seen.append(len(rows))
        if is_last:
            break
    writer.join(PATIENCE)
    assert seen[-1] == _BATCHES
