"""Topics to tables: exactly the records, once, in files of a sensible size."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import deltalake
import pandas as pd
import pytest
from confluent_kafka import Producer
from tests.integration.pipelines.conftest import Sent
from tests.integration.pipelines.reading import table

from barnabas.client.cluster import Cluster
from barnabas.client.settings import ClientSettings
from barnabas.pipelines.common.delta_files import Store
from barnabas.pipelines.common.delta_table import DeltaLakeTable
from barnabas.pipelines.common.table import WriteOptions
from barnabas.testing import Broker

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from barnabas.pipelines.offline_load.pipeline import LoadSettings

pytestmark = pytest.mark.needs("pyspark", "java")

START = 1_767_225_600_000
HOUR = 3_600_000
COUNT = 300


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker(process=True) as broker:
        broker.create_topic("orders", partitions=2)
        broker.create_topic("empty")
        produce(broker.bootstrap_servers, "orders", range(COUNT))
        yield broker


def produce(bootstrap_server: str, topic: str, numbers: range) -> None:
    """Every third without a key, every fourth with headers, every fifth without a value; an hour has 100."""
    producer = Producer({"bootstrap.servers": bootstrap_server})
    for number in numbers:
        producer.produce(
            topic,
            None if number % 5 == 0 else f"value {number}".encode(),
            None if number % 3 == 0 else f"key {number}".encode(),
            partition=number % 2,
            timestamp=START + number * HOUR // 100,
            headers=[("number", str(number).encode()), ("none", None)] if number % 4 == 0 else None,
        )
    producer.flush(30)


def settings_for(broker: Broker, warehouse: Path, **more: object) -> "LoadSettings":
    from barnabas.pipelines.offline_load.pipeline import LoadSettings

    common = {"warehouse": str(warehouse), "available_now": True, "restarts": 10, "topics": "orders"}
    return LoadSettings(bootstrap_server=broker.bootstrap_servers, **{**common, **more})  # type: ignore[arg-type]


def load(spark: "SparkSession", settings: "LoadSettings") -> int:
    from barnabas.pipelines.common.running import Runner
    from barnabas.pipelines.offline_load.pipeline import queries

    return Runner(settings).run(queries(spark, settings))


def delta(warehouse: Path, name: str, target_bytes: int = 1 << 20) -> DeltaLakeTable:
    return DeltaLakeTable(Store(str(warehouse / name), {}), WriteOptions(target_bytes=target_bytes))


@pytest.fixture(scope="module")
def loaded(pipelines_spark: "SparkSession", broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """In batches of at most 80 records, then once more: there is nothing left to do."""
    warehouse = tmp_path_factory.mktemp("loaded")
    settings = settings_for(broker, warehouse, topics="orders,empty", max_offsets=80)
    assert load(pipelines_spark, settings) == 0
    assert load(pipelines_spark, settings) == 0
    return warehouse


def test_every_record_is_in_the_table_once(loaded: Path) -> None:
    rows = table(loaded, "orders").sort_values(["partition", "offset"]).reset_index(drop=True)
    assert len(rows) == COUNT
    expected = sorted((number % 2, number // 2, number) for number in range(COUNT))
    assert list(zip(rows["partition"], rows["offset"], strict=True)) == [(p, o) for p, o, _ in expected]
    numbers = [number for _, _, number in expected]
    assert rows["key"].tolist() == [None if n % 3 == 0 else f"key {n}".encode() for n in numbers]
    assert rows["value"].tolist() == [None if n % 5 == 0 else f"value {n}".encode() for n in numbers]
    times = [pd.Timestamp(START + n * HOUR // 100, unit="ms", tz="UTC") for n in numbers]
    assert pd.to_datetime(rows["timestamp"], utc=True).tolist() == times
    assert set(rows["topic"]) == {"orders"}


def test_headers_and_hours_are_kept(loaded: Path) -> None:
    rows = table(loaded, "orders")
    with_headers = rows[rows["headers"].notna()]
    assert len(with_headers) == COUNT // 4
    assert [header["key"] for header in with_headers.iloc[0]["headers"]] == ["number", "none"]
    assert rows.groupby("hour", observed=True).size().to_dict() == {0: 100, 1: 100, 2: 100}


def test_a_topic_without_records_makes_no_table(loaded: Path) -> None:
    assert not list((loaded / "empty").glob("**/*.parquet"))
    assert not (loaded / "empty" / "_delta_log").exists()


def test_the_table_says_which_offsets_it_has(loaded: Path) -> None:
    orders = delta(loaded, "orders")
    assert orders.record().offsets == {"orders": {"0": COUNT // 2, "1": COUNT // 2}}
    versions = list(orders.versions())
    assert len(versions) >= 3
    then = orders.version_with("orders", 0, 30)
    assert then is not None
    rows = deltalake.DeltaTable(orders.location, version=then).to_pandas()
    assert 30 in rows[rows["partition"] == 0]["offset"].to_list()
    assert len(rows) < COUNT


def test_spark_reads_the_table_without_a_jar(pipelines_spark: "SparkSession", loaded: Path) -> None:
    from barnabas.pipelines.common.delta_files import read_files

    orders = delta(loaded, "orders")
    rows: Any = orders.read(pipelines_spark).orderBy("partition", "offset").toPandas()
    assert (len(rows), rows["hour"].tolist().count(1)) == (COUNT, 100)
    # The way for object stores, which Spark cannot read itself.
    schema = orders.schema()
    assert schema is not None
    names = [file.name for file in orders.files()]
    by_tasks = read_files(pipelines_spark, orders.store, names, schema).orderBy("partition", "offset")
    found: Any = by_tasks.drop("headers").toPandas()
    pd.testing.assert_frame_equal(found, rows.drop(columns="headers"))


def test_compaction_leaves_closed_hours_with_one_file_and_every_row(
    pipelines_spark: "SparkSession", loaded: Path, tmp_path: Path
) -> None:
    import shutil

    from barnabas.pipelines.offline_load.compaction import compact

    shutil.copytree(loaded / "orders", tmp_path / "orders")
    before = table(tmp_path, "orders")
    target = delta(tmp_path, "orders")
    open_hour = [file for file in target.files() if "hour=2" in file.partition]
    planned = target.read(pipelines_spark)
    done = list(compact(pipelines_spark, target, 1 << 20, datetime(2026, 1, 1, 2, 30, tzinfo=UTC)))
    assert {each.partition[-1] for each in done} == {"0", "1"}
    assert all(each.files_before > 1 and each.files_after == 1 for each in done)
    assert planned.count() == COUNT  # a query of Spark keeps the files of its version
    assert target.read(pipelines_spark).count() == COUNT
    assert [file for file in target.files() if "hour=2" in file.partition] == open_hour
    assert len([file for file in target.files() if "hour=2" not in file.partition]) == 2
    order = ["partition", "offset"]
    after = table(tmp_path, "orders")[before.columns]
    for frame in (before, after):
        frame["headers"] = frame["headers"].map(str)
    pd.testing.assert_frame_equal(
        before.sort_values(order).reset_index(drop=True), after.sort_values(order).reset_index(drop=True)
    )


def test_a_backfill_adds_what_is_missing_and_the_stream_leaves_it_out(
    pipelines_spark: "SparkSession", broker: Broker, tmp_path: Path
) -> None:
    from barnabas.pipelines.common.warehouse import open_table
    from barnabas.pipelines.offline_load.backfilling import backfill, resolve
    from barnabas.pipelines.offline_load.loading import backfilled, ids_in, owner_of

    server, settings = broker.bootstrap_servers, settings_for(broker, tmp_path)
    orders = open_table(settings, "orders", owner_of("orders"))
    with Cluster(ClientSettings.of(server)) as cluster:
        by_offset = resolve(cluster, "orders", "10", "20")
        by_time = resolve(cluster, "orders", "2026-01-01T01:00:00Z", "2026-01-01T02:00:00", only=1)
        topic_id = ids_in(cluster, ["orders"])["orders"]
    assert by_offset == [(0, 10, 20), (1, 10, 20)]
    assert by_time == [(1, 50, 100)]
    first = backfill(pipelines_spark, server, "orders", by_offset, orders, topic_id)
    again = backfill(pipelines_spark, server, "orders", by_offset, orders, topic_id)
    second = backfill(pipelines_spark, server, "orders", by_time, orders, topic_id)
    assert (first and first.rows, again, second and second.rows) == (20, None, 50)
    assert backfilled(orders, "orders", topic_id) == [*by_offset, *by_time]
    assert backfilled(orders, "orders", "of a topic created anew") == []
    assert load(pipelines_spark, settings) == 0
    rows = table(tmp_path, "orders")
    assert len(rows) == COUNT
    assert not rows.duplicated(["partition", "offset"]).any()
    assert backfilled(orders, "orders", topic_id) == []


def test_a_checkpoint_that_is_restored_loses_no_rows(
    pipelines_spark: "SparkSession", tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Batch 1 is planned anew, with more rows than the batch 1 that the table has."""
    import shutil

    with Broker(process=True) as other:
        other.create_topic("orders")
        producer = Producer({"bootstrap.servers": other.bootstrap_servers})

        def grow(count: int) -> None:
            for number in range(count):
                producer.produce("orders", str(number), timestamp=START)
            assert producer.flush(60) == 0

        settings = settings_for(other, tmp_path)
        checkpoints, backup = tmp_path / "_checkpoints", tmp_path / "backup"
        grow(5)
        assert load(pipelines_spark, settings) == 0
        shutil.copytree(checkpoints, backup)
        grow(5)
        assert load(pipelines_spark, settings) == 0
        newest = shutil.move(checkpoints, tmp_path / "newest")
        shutil.copytree(backup, checkpoints)
        grow(5)
        assert load(pipelines_spark, settings) == 1
        assert "already has batch 1 of query" in capsys.readouterr().err
        assert len(table(tmp_path, "orders")) == 10
        shutil.rmtree(checkpoints)
        shutil.move(newest, checkpoints)
        assert load(pipelines_spark, settings) == 0
        assert sorted(table(tmp_path, "orders")["offset"]) == list(range(15))


def test_a_table_of_another_pipeline_is_refused_and_keeps_its_rows(
    pipelines_spark: "SparkSession", broker: Broker, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The defaults of `activity` and of `offline-load --topics activity` name one table."""
    theirs = DeltaLakeTable(Store(str(tmp_path / "orders"), {}), WriteOptions("activity-events"))
    rows = pipelines_spark.sql("select 1L event, date'2026-01-01' date, 1 hour")
    assert theirs.write_batch(rows, 0, ("date", "hour"), writer="w") is not None
    assert load(pipelines_spark, settings_for(broker, tmp_path)) == 1
    assert "has the rows of activity-events; offline-load of orders must write to" in capsys.readouterr().err
    assert table(tmp_path, "orders")["event"].tolist() == [1]


@pytest.mark.soak
def test_plain_parquet_is_loaded_compacted_and_backfilled(
    pipelines_spark: "SparkSession", broker: Broker, tmp_path: Path
) -> None:
    from barnabas.pipelines.common.parquet_table import ParquetTable
    from barnabas.pipelines.common.warehouse import open_table
    from barnabas.pipelines.offline_load.backfilling import backfill, resolve
    from barnabas.pipelines.offline_load.compaction import compact
    from barnabas.pipelines.offline_load.loading import owner_of

    settings = settings_for(broker, tmp_path, format="parquet", max_offsets=80)
    orders = open_table(settings, "orders", owner_of("orders"))
    assert isinstance(orders, ParquetTable)
    with Cluster(ClientSettings.of(broker.bootstrap_servers)) as cluster:
        ranges = resolve(cluster, "orders", "10", "20")
    added = backfill(pipelines_spark, broker.bootstrap_servers, "orders", ranges, orders, "")
    assert added is not None
    assert added.rows == 20
    assert load(pipelines_spark, settings) == 0
    assert load(pipelines_spark, settings) == 0
    done = list(compact(pipelines_spark, orders, 1 << 20, datetime(2026, 1, 1, 3, 30, tzinfo=UTC)))
    assert all(each.files_after == 1 for each in done)
    rows = table(tmp_path, "orders")
    assert (len(rows), len(orders.files())) == (COUNT, 3)
    assert not rows.duplicated(["partition", "offset"]).any()
    assert orders.read(pipelines_spark).count() == COUNT
    assert orders.record().offsets == {"orders": {"0": COUNT // 2, "1": COUNT // 2}}


def test_files_stay_near_the_target(pipelines_spark: "SparkSession", sent: Sent, tmp_path: Path) -> None:
    """A megabyte is more than an hour of these topics has: it is one file, whatever its partitions are."""
    from barnabas.pipelines.offline_load.loading import count, plan
    from barnabas.pipelines.offline_load.pipeline import LoadSettings
    from barnabas.pipelines.offline_load.rows import table_rows

    settings = LoadSettings(
        bootstrap_server=sent.bootstrap_server, warehouse=str(tmp_path), available_now=True,
        topics_pattern="access-log.", restarts=10,
    )  # fmt: skip
    assert load(pipelines_spark, settings) == 0
    logs = delta(tmp_path, "access-logs", 20_000)
    assert len(logs.files()) == len({file.partition for file in logs.files()})
    counted = count(table_rows(logs.read(pipelines_spark)))
    small = plan(logs, counted)
    assert small.files_per_hour > 1
    written = sum(file.size for file in logs.files()) / sum(row.rows for row in counted)
    assert small.records_per_file == pytest.approx(20_000 / written, rel=0.2)
