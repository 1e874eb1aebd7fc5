"""The other ways in: Spark Connect, Declarative Pipelines, and a cluster of several machines.

Each starts Spark's own programs, for half a minute. (SQL is in `test_batch_read.py`.)
"""

import json
import sys
from pathlib import Path

import pytest
from tests.integration.spark.queries import eventually, numbered, produce
from tests.integration.spark.records import values_of
from tests.integration.spark.spark_programs import (
    PATIENCE,
    connect_server,
    program,
    spark_program,
    standalone_cluster,
)

from barnabas.testing import Broker

pytestmark = pytest.mark.needs("pyspark", "java")
_COPY = Path(__file__).parent / "drivers" / "topic_copy.py"
ROWS = 60


@pytest.mark.soak
def test_spark_connect_reads_writes_and_streams(kafka_broker: Broker, tmp_path: Path) -> None:
    kafka_broker.create_topic("source", 2)
    kafka_broker.create_topic("copy", 2)
    with connect_server(tmp_path) as remote:
        plan = _plan(kafka_broker, tmp_path, remote=remote)
        with program([sys.executable, str(_COPY), plan], tmp_path / "client.log") as client:
            client.end()
            assert client.wait_for('{"read": (\\d+)}')[1] == str(ROWS)
            assert int(client.wait_for('{"batch": (\\d+)}')[1]) >= 2
    assert values_of(kafka_broker.bootstrap_servers, "copy") == numbered(0, ROWS)


def test_a_cluster_that_loses_a_worker_writes_every_row_once(kafka_broker: Broker, tmp_path: Path) -> None:
    kafka_broker.create_topic("source", 2)
    kafka_broker.create_topic("copy", 2)
    servers = kafka_broker.bootstrap_servers
    until = tmp_path / "until"
    with standalone_cluster(tmp_path, workers=2) as cluster:
        plan = _plan(kafka_broker, tmp_path, master=cluster.url, until=str(until))
        with program([sys.executable, str(_COPY), plan], tmp_path / "driver.log") as driver:
            assert driver.wait_for('{"read": (\\d+)}')[1] == str(ROWS)
            eventually(lambda: len(values_of(servers, "copy")) >= ROWS // 2, PATIENCE)
            cluster.workers[0].kill()
            for first in range(ROWS, 4 * ROWS, 10):
                produce(kafka_broker, "source", numbered(first, first + 10), partition=first // 10 % 2)
            eventually(lambda: len(values_of(servers, "copy")) >= 4 * ROWS, PATIENCE)
            until.touch()
            driver.end()
        assert list((tmp_path / "worker-1").glob("app-*")), "the other worker had no part in it"
    assert values_of(servers, "copy") == numbered(0, 4 * ROWS)


_SPEC = """name: copies
storage: file://{directory}/storage
libraries:
  - glob:
      include: transformations/**
"""
_TRANSFORMATIONS = """
from pyspark import pipelines as dp
from pyspark.sql import DataFrame

SERVERS = {{"kafka.bootstrap.servers": "{servers}"}}


@dp.temporary_view
def events() -> DataFrame:
    rows = spark.readStream.format("barnabas").options(**SERVERS, subscribe="source")
    return rows.option("startingOffsets", "earliest").load()


@dp.table
def kept() -> DataFrame:
    return spark.readStream.table("events").selectExpr("string(value) as value", "partition", "offset")


dp.create_sink("copies", "barnabas", {{**SERVERS, "topic": "copy"}})


@dp.append_flow(target="copies")
def copied() -> DataFrame:
    return spark.readStream.table("events").select("key", "value")
"""


def test_a_declarative_pipeline_fills_a_table_and_a_topic(kafka_broker: Broker, tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    kafka_broker.create_topic("source", 2)
    kafka_broker.create_topic("copy", 2)
    produce(kafka_broker, "source", numbered(0, ROWS))
    (tmp_path / "transformations").mkdir()
    (tmp_path / "spark-pipeline.yml").write_text(_SPEC.format(directory=tmp_path))
    code = _TRANSFORMATIONS.format(servers=kafka_broker.bootstrap_servers)
    (tmp_path / "transformations" / "copies.py").write_text(code)
    warehouse = tmp_path / "warehouse"
    command = [spark_program("spark-pipelines"), "run", "--spec", str(tmp_path / "spark-pipeline.yml")]
    command += ["--conf", f"spark.sql.warehouse.dir={warehouse}", "--conf", "spark.ui.enabled=false"]
    with program(command, tmp_path / "pipelines.log") as run:
        run.end()
    assert values_of(kafka_broker.bootstrap_servers, "copy") == numbered(0, ROWS)
    assert sorted(pq.read_table(warehouse / "kept")["value"].to_pylist()) == numbered(0, ROWS)


def _plan(broker: Broker, directory: Path, **where: str) -> str:
    return json.dumps(
        {
            "servers": broker.bootstrap_servers,
            "rows": ROWS,
            "per_batch": 20,
            "checkpoint": str(directory / "checkpoint"),
            **where,
        }
    )
