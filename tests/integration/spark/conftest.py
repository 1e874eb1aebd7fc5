"""One Spark session and one broker for all tests of the data source.

A session costs ten seconds, and so does its first query: all tests of this folder share it. Where a test
compares with Spark's own connector, its jars are given to the session, because that is when Spark takes them.
"""

import functools
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from benchmarks.spark_connector import ConnectorUnavailable, fetch_connector
from tests.integration.clients.golden_log_dir import adopt
from tests.integration.clients.jars import JarsUnavailable, fetch_jars
from tests.integration.spark.queries import Queries
from tests.integration.spark.spark_programs import SHORT_LIFE

from barnabas.spark.worker_python import worker_python
from barnabas.testing import Broker

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_CHECKPOINTS = "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
_SESSION: Mapping[str, str] = {
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.session.timeZone": "UTC",
    "spark.driver.memory": "1g",
    "spark.ui.showConsoleProgress": "false",
    # On a local disk, a fifth of a second less for each micro-batch.
    "spark.sql.streaming.checkpointFileManagerClass": _CHECKPOINTS,
    "spark.sql.streaming.pollingDelay": "10ms",
    "spark.log.level": "ERROR",
    "spark.driver.extraJavaOptions": SHORT_LIFE,
}


@pytest.fixture(scope="session")
def spark(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator["SparkSession"]:
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = worker_python()
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    builder = SparkSession.builder.master("local[2]").appName("barnabas tests")
    for key, value in _SESSION.items():
        builder = builder.config(key, value)
    builder = builder.config("spark.sql.warehouse.dir", str(tmp_path_factory.mktemp("warehouse")))
    if any(_is_comparison(item) for item in request.session.items):
        builder = builder.config("spark.jars", ",".join(map(str, _connector_jars())))
    session = builder.getOrCreate()
    yield session
    session.stop()


@functools.cache
def _connector_jars() -> list[Path]:
    """None where they cannot be had."""
    try:
        return fetch_connector(fetch_jars().parent)
    except (ConnectorUnavailable, JarsUnavailable):
        return []


def _is_comparison(item: pytest.Item) -> bool:
    """A test that needs the connector, and is not skipped for want of Maven Central."""
    return item.get_closest_marker("maven") is not None and "connector" in getattr(item, "fixturenames", ())


@pytest.fixture(scope="session")
def kafka_broker_session() -> Iterator[Broker]:
    """In a process of its own, with its own interpreter lock."""
    quick = {
        "log.cleaner.backoff.ms": 100,
        "transaction.abort.timed.out.transaction.cleanup.interval.ms": 100,
    }
    with Broker(process=True, config=quick) as broker:
        yield broker


@pytest.fixture(scope="session")
def golden_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """What Apache Kafka wrote: all codecs, aborted transactions, a compacted log, LogAppendTime."""
    with adopt(tmp_path_factory.mktemp("golden")) as broker:
        yield broker


@pytest.fixture
def queries(spark: "SparkSession", kafka_broker: Broker, tmp_path: Path) -> Iterator[Queries]:
    """Queries of the shared broker; those still running are stopped after the test."""
    queries = Queries(spark, kafka_broker, tmp_path)
    yield queries
    queries.stop()


@pytest.fixture
def connector(spark: "SparkSession") -> str:
    """The name of Spark's own format; only for tests with the marker `maven`."""
    if not _connector_jars():
        pytest.skip("connector is missing; to get it: a network that reaches Maven Central")
    return "kafka"
