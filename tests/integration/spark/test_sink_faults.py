"""A stream from topic to topic whose Python processes are killed at chosen points, then started again.

Here the JVM lives on: what is killed is the worker of a task, or the one by which the driver commits, and the
query fails with it. Spark then knows no more than after a crash of its own: the batch has no commit file, and
runs again. `test_sink_kills.py` kills the JVM.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.integration.spark.drivers.spark_failures import MOST_STARTS, is_sparks_own
from tests.integration.spark.queries import eventually, numbered, produce
from tests.integration.spark.records import records_of, values_of

from barnabas.client.admin.group_offsets import committed_offsets
from barnabas.client.cluster import Cluster
from barnabas.client.settings import ClientSettings
from barnabas.spark.sink_identity import SinkIdentity
from barnabas.testing import Broker

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

pytestmark = pytest.mark.needs("pyspark", "java")
PER_BATCH = 20
ROWS = numbered(0, 100)


class Copy:
    """Copies topic `source` to topic `copy`, in five batches of two tasks."""

    def __init__(self, spark: "SparkSession", broker: Broker, directory: Path) -> None:
        self.spark: SparkSession = spark
        self.broker: Broker = broker
        self.directory: Path = directory
        self.orders: Path = directory / "orders.json"
        self.is_scattered: bool = False
        """Whether chance decides which task has which rows, anew each time a batch runs."""

    def order(self, event: str, batch: int = 1, **more: object) -> None:
        self.orders.write_text(json.dumps({"event": event, "batch": batch, "kill": [], **more}))

    def start(self, **options: str) -> "StreamingQuery":
        from pyspark.sql import functions as sf

        common = {
            "kafka.bootstrap.servers": self.broker.bootstrap_servers,
            "kafka.retry.backoff.ms": "20",
            "orders": str(self.orders),
        }
        rows = self.spark.readStream.format("barnabas_faulty").options(
            **common, subscribe="source", startingOffsets="earliest", maxOffsetsPerTrigger=str(PER_BATCH)
        )
        records = rows.load().select("key", "value")
        if self.is_scattered:
            records = records.repartition(2, sf.rand())
        writer = records.writeStream.format("barnabas_faulty")
        writer = writer.options(**common, topic="copy", checkpointLocation=str(self.directory / "checkpoint"))
        return writer.options(**options).trigger(availableNow=True).start()

    def run(self, **options: str) -> bool:
        """Whether it came to its end. Started again where Spark itself failed."""
        from pyspark.errors import StreamingQueryException

        for _ in range(MOST_STARTS):
            query = self.start(**options)
            try:
                query.awaitTermination()
            except StreamingQueryException as error:
                if not is_sparks_own(str(error)):
                    return False
            else:
                return True
        raise AssertionError(f"Spark itself failed {MOST_STARTS} times")

    def copied(self) -> list[str]:
        return values_of(self.broker.bootstrap_servers, "copy")

    def progress(self) -> list[int]:
        """The next batch of each task."""
        with Cluster(ClientSettings.of(self.broker.bootstrap_servers)) as cluster:
            query = json.loads((self.directory / "checkpoint" / "metadata").read_text())["id"]
            sink = SinkIdentity("spark-sink", query, "copy")
            found = [committed_offsets(cluster, sink.transactional_id(task)) for task in range(2)]
        return [max((each.offset for each in task.values()), default=0) for task in found]


@pytest.fixture
def copy(spark: "SparkSession", kafka_broker: Broker, tmp_path: Path) -> Iterator[Copy]:
    from pyspark import cloudpickle
    from tests.integration.spark.drivers import faulty_sink

    cloudpickle.register_pickle_by_value(faulty_sink)  # type: ignore[no-untyped-call]
    spark.dataSource.register(faulty_sink.FaultySource)
    # A query looks for its sink in the active session: this makes it ours again, whatever was active before.
    spark.createDataFrame([], "nothing int")
    kafka_broker.create_topic("source", 2)
    kafka_broker.create_topic("copy", 3)
    for partition in range(2):
        produce(kafka_broker, "source", ROWS[partition::2], partition)
    yield Copy(spark, kafka_broker, tmp_path)
    for query in spark.streams.active:
        query.stop()


def test_a_quiet_run_copies_every_row_and_shows_its_progress(copy: Copy) -> None:
    assert copy.run()
    assert copy.copied() == ROWS
    assert copy.progress() == [5, 5]
    # Rows without a key wander from batch to batch, and from task to task.
    assert {each.partition for each in records_of(copy.broker.bootstrap_servers, "copy")} == {0, 1, 2}
    assert copy.run()
    assert copy.copied() == ROWS


def test_a_process_killed_at_any_point_loses_nothing_and_writes_nothing_twice(copy: Copy) -> None:
    points = {
        "in-write": [0, 0],
        "after-write": [1, 1],
        "commit-0": [2, 2],
        "commit-1": [4, 3],
        "after-commit": [5, 5],
    }
    for batch, (event, progress) in enumerate(points.items()):
        copy.order(event, batch)
        assert not copy.run(), event
        assert not copy.orders.exists(), event
        assert copy.progress() == progress, event
    assert copy.run()
    assert copy.copied() == ROWS
    assert copy.progress() == [5, 5]


def test_rows_that_chance_spreads_over_tasks_are_written_once_as_well(copy: Copy) -> None:
    copy.is_scattered = True
    for batch in (0, 2):
        copy.order("commit-1", batch)
        assert not copy.run()
        assert not copy.orders.exists()
    assert copy.run()
    assert copy.copied() == ROWS


def test_without_exactly_once_there_are_no_transactions(copy: Copy) -> None:
    assert copy.run(exactlyOnce="false")
    assert copy.copied() == ROWS
    assert copy.progress() == [0, 0]


def test_a_broker_killed_in_the_middle_of_a_batch_costs_only_time(copy: Copy) -> None:
    mark = copy.directory / "paused"
    copy.order("in-write", 1, pause=str(mark))
    query = copy.start()
    for following in ("commit-1", None):
        eventually(mark.exists, 120)
        copy.broker.kill()
        if following is not None:
            copy.order(following, 2, pause=str(mark))
        copy.broker.start()
        mark.unlink()
    assert query.awaitTermination(120)
    assert copy.copied() == ROWS
    assert copy.progress() == [5, 5]
