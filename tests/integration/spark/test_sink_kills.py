"""Drivers killed with SIGKILL, JVM and all, at chosen points of a batch, then started on the same checkpoint.

Every driver runs two copies of one topic at once: to another topic, and to Parquet files. The order names a
point in one of them; the other dies wherever it happens to be. Both must hold every row once in the end.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from confluent_kafka import Producer
from tests.integration.spark.drivers.spark_failures import MOST_STARTS, is_sparks_own
from tests.integration.spark.queries import numbered
from tests.integration.spark.records import values_of
from tests.integration.spark.spark_programs import environment

from barnabas.client.admin.features import SAFE_DOWNGRADE, update_features
from barnabas.client.admin.topics import create_topic
from barnabas.client.cluster import Cluster
from barnabas.client.settings import ClientSettings
from barnabas.testing import Broker

pytestmark = pytest.mark.needs("pyspark", "java")
ROWS = numbered(0, 80)
_DRIVER = "tests.integration.spark.drivers.stream_query"
_KILLED = -9
_ONE_BROKER = "offsets.topic.num.partitions=1\ntransaction.state.log.num.partitions=1\n"
_LONGEST_LIFE = 900


class Copies:
    def __init__(self, servers: str, directory: Path) -> None:
        self.servers: str = servers
        self.directory: Path = directory
        self.orders: Path = directory / "orders.json"
        with Cluster(ClientSettings.of(servers)) as cluster:
            create_topic(cluster, "source", partitions=2, replicas=1)
            create_topic(cluster, "copy", partitions=3, replicas=1)
        producer = Producer({"bootstrap.servers": servers})
        for number, row in enumerate(ROWS):
            producer.produce("source", row, row, number % 2)
        assert producer.flush(60) == 0

    def live(self, event: str | None = None, *, master: str = "local[2]", spares_driver: bool = False) -> int:
        """One life of a driver; its exit code. A life that Spark could not begin does not count."""
        plan: dict[str, object] = {
            "servers": self.servers,
            "source": "source",
            "topic": "copy",
            "directory": str(self.directory),
            "orders": str(self.orders),
            "per_batch": 20,
            "master": master,
            "spares_driver": spares_driver,
        }
        if event is not None:
            plan["order"] = {"event": event, "batch": 1}
        for _ in range(MOST_STARTS):
            ended = subprocess.run(
                [sys.executable, "-m", _DRIVER, json.dumps(plan)],
                cwd=Path(__file__).parents[3],
                env=environment(),
                check=False,
                timeout=_LONGEST_LIFE,
                stdin=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
            )
            sys.stderr.write(ended.stderr)
            if ended.returncode <= 0 or not is_sparks_own(ended.stderr):
                return ended.returncode
        raise AssertionError(f"Spark itself failed {MOST_STARTS} times")

    def check(self) -> None:
        assert values_of(self.servers, "copy") == ROWS
        files = _committed_files(self.directory / "parquet")
        found = [value for each in files for value in pq.read_table(each)["value"].to_pylist()]
        assert sorted(value.decode() for value in found) == ROWS


def _committed_files(directory: Path) -> Iterator[Path]:
    """Those that Spark's log of the sink names; a killed driver leaves others behind."""
    for log in (directory / "_spark_metadata").iterdir():
        if log.name.isdigit():
            for line in log.read_text().splitlines()[1:]:
                yield Path(json.loads(line)["path"].removeprefix("file://"))


@pytest.fixture
def copies(kafka_broker: Broker, tmp_path: Path) -> Copies:
    return Copies(kafka_broker.bootstrap_servers, tmp_path)


def test_a_driver_killed_between_two_commits(copies: Copies) -> None:
    assert copies.live("commit-1") == _KILLED
    assert copies.live() == 0
    copies.check()


@pytest.mark.soak
@pytest.mark.parametrize(
    "event", ["planned", "in-read", "in-write", "after-write", "commit-0", "after-commit"]
)
def test_a_driver_killed_at_other_points(copies: Copies, event: str) -> None:
    assert copies.live(event) == _KILLED
    assert copies.live() == 0
    copies.check()


@pytest.mark.soak
def test_a_driver_killed_again_and_again(copies: Copies) -> None:
    for event in ("commit-1", "commit-0", "in-read", "after-write"):
        # A task of a batch that is committed in part has nothing left to write, nor the driver to commit.
        copies.live(event)
    assert copies.live() == 0
    copies.check()


@pytest.mark.soak
@pytest.mark.parametrize("event", ["in-read", "in-write", "after-write"])
def test_a_worker_killed_is_replaced_within_the_query(copies: Copies, event: str) -> None:
    assert copies.live(event, master="local[2,4]", spares_driver=True) == 0
    assert not copies.orders.exists()
    copies.check()


# --- the same on Apache Kafka ------------------------------------------------------------------------------


@pytest.fixture
def apache_kafka(tmp_path: Path) -> Iterator[str]:
    from benchmarks.apache_kafka import ApacheKafka, default_cache

    (tmp_path / "kafka").mkdir()
    broker = ApacheKafka.fetch(default_cache()).launch(tmp_path / "kafka", _ONE_BROKER)
    yield f"127.0.0.1:{broker.port}"
    broker.stop()


def _set_transaction_version(servers: str, version: int) -> None:
    with Cluster(ClientSettings.of(servers)) as cluster:
        if version == 1:
            assert update_features(cluster, {"transaction.version": 1}, SAFE_DOWNGRADE) == {
                "transaction.version": None
            }


@pytest.mark.soak
@pytest.mark.needs("apache-kafka")
@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("event", ["in-write", "commit-1", "after-commit"])
def test_on_apache_kafka_too(apache_kafka: str, tmp_path: Path, version: int, event: str) -> None:
    _set_transaction_version(apache_kafka, version)
    copies = Copies(apache_kafka, tmp_path)
    assert copies.live(event) == _KILLED
    assert copies.live() == 0
    copies.check()
