"""Tables found in the format they have, and refused in the other."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.unit.pipelines.arrow_frame import frame

from barnabas.pipelines.common.delta_table import DeltaLakeTable
from barnabas.pipelines.common.parquet_table import ParquetTable
from barnabas.pipelines.common.settings import BadSetting, Settings
from barnabas.pipelines.common.table import TableRefused
from barnabas.pipelines.common.warehouse import Warehouse, open_table, warehouse_of


def settings(home: Path, **more: Any) -> Settings:
    return Settings(warehouse=str(home), **more)


def make_parquet(home: Path, name: str) -> None:
    (home / name / "day=a").mkdir(parents=True)
    pq.write_table(pa.table({"value": [1]}), home / name / "day=a" / "x.parquet")


def test_delta_is_the_default_and_parquet_an_option(tmp_path: Path) -> None:
    assert isinstance(open_table(settings(tmp_path), "a", "o"), DeltaLakeTable)
    assert isinstance(open_table(settings(tmp_path, format="parquet"), "a", "o"), ParquetTable)
    with pytest.raises(BadSetting, match="--format orc: expected delta or parquet"):
        open_table(settings(tmp_path, format="orc"), "a", "o")


def test_a_table_of_the_other_format_is_refused(tmp_path: Path) -> None:
    make_parquet(tmp_path, "plain")
    with pytest.raises(TableRefused, match="is in the format parquet: write to it with --format parquet"):
        open_table(settings(tmp_path), "plain", "o")
    open_table(settings(tmp_path), "open", "o").write_batch(frame([1]), 0, ("date",), writer="w")
    with pytest.raises(TableRefused, match="is in the format delta"):
        open_table(settings(tmp_path, format="parquet"), "open", "o")


def test_readers_find_tables_of_both_formats(tmp_path: Path) -> None:
    make_parquet(tmp_path, "plain")
    open_table(settings(tmp_path), "open", "o").write_batch(frame([1]), 0, ("date",), writer="w")
    (tmp_path / "_checkpoints").mkdir()
    (tmp_path / "nothing").mkdir()
    warehouse = Warehouse(str(tmp_path))
    assert warehouse.names() == ["open", "plain"]
    assert warehouse.find("nothing") is None


def test_an_object_store_needs_a_disk_for_checkpoints_and_an_open_format() -> None:
    remote = Settings(warehouse="s3://bucket/warehouse", storage_options="A=1, B=x=y")
    assert warehouse_of(remote).storage_options == {"A": "1", "B": "x=y"}
    assert warehouse_of(remote).location("orders") == "s3://bucket/warehouse/orders"
    with pytest.raises(BadSetting, match="an object store needs --checkpoints on a disk"):
        remote.checkpoint_of("logs")
    with pytest.raises(BadSetting, match="an object store needs --format delta"):
        open_table(Settings(warehouse="s3://bucket/x", format="parquet"), "a", "o")
    with pytest.raises(BadSetting, match="expected KEY=VALUE"):
        warehouse_of(Settings(storage_options="key"))
