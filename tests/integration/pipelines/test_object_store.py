"""Tables in an object store: Adobe's S3Mock from Maven Central, in a process of its own, over HTTP."""

import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import deltalake
import pytest
from tests.patience import PROGRAM_PATIENCE
from tests.unit.pipelines.arrow_frame import frame

from barnabas.pipelines.common.delta_table import DeltaLakeTable, TableChanged
from barnabas.pipelines.common.settings import Settings
from barnabas.pipelines.common.table import TableRefused
from barnabas.pipelines.common.table_record import Change
from barnabas.pipelines.common.warehouse import open_table, warehouse_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.maven, pytest.mark.needs("pyspark", "java")]
HOURS = ("date", "hour")
VERSION = "4.7.0"


def fetch(directory: Path) -> Path:
    subprocess.run(
        [
            "mvn", "-q", "-B", "org.apache.maven.plugins:maven-dependency-plugin:copy",
            f"-Dartifact=com.adobe.testing:s3mock:{VERSION}:jar:exec", f"-DoutputDirectory={directory}",
        ],
        check=True, cwd=directory, timeout=PROGRAM_PATIENCE,
    )  # fmt: skip
    return directory / f"s3mock-{VERSION}-exec.jar"


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    home = tmp_path_factory.mktemp("store")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = {
        "server.port": 0,
        "com.adobe.testing.s3mock.httpPort": port,
        "com.adobe.testing.s3mock.store.initialBuckets": "bucket",
        "com.adobe.testing.s3mock.store.root": home,
    }
    words = ["java", "-Xmx128m", "-XX:TieredStopAtLevel=1", "-jar", str(fetch(home))]
    words += [f"--{key}={value}" for key, value in options.items()]
    with (home / "store.log").open("w") as log, subprocess.Popen(words, stdout=log, stderr=log) as server:
        try:
            wait_for_bucket(f"http://127.0.0.1:{port}/bucket", server)
            yield f"http://127.0.0.1:{port}"
        finally:
            server.kill()


def wait_for_bucket(address: str, server: "subprocess.Popen[bytes]") -> None:
    until = time.monotonic() + PROGRAM_PATIENCE
    while time.monotonic() < until and server.poll() is None:
        try:
            urllib.request.urlopen(address).close()
            return
        except OSError:
            time.sleep(0.1)
    raise AssertionError("the object store did not start")


@pytest.fixture
def settings(endpoint: str, tmp_path: Path) -> Settings:
    options = {
        "AWS_ENDPOINT_URL": endpoint, "AWS_ALLOW_HTTP": "true", "AWS_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret",
    }  # fmt: skip
    return Settings(
        warehouse=f"s3://bucket/{tmp_path.name}",
        checkpoints=str(tmp_path),
        storage_options=",".join(f"{key}={value}" for key, value in options.items()),
    )


def opened(settings: Settings) -> DeltaLakeTable:
    table = open_table(settings, "orders", "offline-load of orders")
    assert isinstance(table, DeltaLakeTable)
    return table


def values(table: DeltaLakeTable) -> list[int]:
    found = deltalake.DeltaTable(table.location, storage_options=dict(table.store.options)).to_pandas()
    return sorted(int(value) for value in found["offset"])


def test_batches_are_in_the_store_once(settings: Settings) -> None:
    for batch in (0, 0, 1, 1):
        change = Change({"orders": {"0": batch + 1}})
        opened(settings).write_batch(frame([batch]), batch, HOURS, writer="w", change=change)
    with pytest.raises(TableRefused, match="already has batch 1"):
        opened(settings).write_batch(frame([0]), 0, HOURS, writer="w")
    table = opened(settings)
    assert values(table) == [0, 1]
    assert table.record().offsets == {"orders": {"0": 2}}
    assert warehouse_of(settings).names() == ["orders"]
    assert [each.files_after for each in table.compact()] == [1]
    assert (values(table), len(table.files())) == ([0, 1], 1)


def test_of_two_drivers_with_the_same_batch_one_fails(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The store takes a version of the log once: a conditional put."""
    opened(settings).write_batch(frame([1]), 0, HOURS, writer="w")
    commit = deltalake.DeltaTable.create_write_transaction

    def late(table: deltalake.DeltaTable, *given: Any, **named: Any) -> None:
        monkeypatch.undo()
        opened(settings).write_batch(frame([2]), 1, HOURS, writer="w")
        commit(table, *given, **named)

    monkeypatch.setattr(deltalake.DeltaTable, "create_write_transaction", late)
    with pytest.raises(TableChanged, match="by another process"):
        opened(settings).write_batch(frame([2]), 1, HOURS, writer="w")
    assert values(opened(settings)) == [1, 2]


def test_tasks_write_to_the_store_and_read_from_it_without_a_jar(
    pipelines_spark: "SparkSession", settings: Settings
) -> None:
    rows = pipelines_spark.sql(
        "select id offset, cast(id as string) status, date'2026-01-01' date, int(id % 2) hour from range(100)"
    )
    added = opened(settings).write_batch(rows.repartition(*HOURS), 0, HOURS, writer="w")
    assert added is not None
    assert added.rows == 100
    assert opened(settings).write_batch(rows, 0, HOURS, writer="w") is None
    found = opened(settings).read(pipelines_spark)
    assert found.where("hour = 1 and status = '7'").select("offset").collect()[0].offset == 7
    assert found.count() == 100
