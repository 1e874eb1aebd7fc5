"""Checkpoints that are restored, copied and deleted, and rows that come slowly: no row is lost or doubled.

A stream copies topic `source` to a topic, in batches of ten rows. What Spark cannot tell its sink is in the
checkpoint: the directory is copied while no query runs, as a backup is.
"""

import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.integration.spark.drivers.spark_failures import MOST_STARTS, is_sparks_own
from tests.integration.spark.queries import numbered, produce
from tests.integration.spark.records import values_of
from tests.patience import PROGRAM_PATIENCE

from barnabas.testing import Broker

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.needs("pyspark", "java")
PER_BATCH = 10


class Lives:
    def __init__(self, spark: "SparkSession", broker: Broker, directory: Path) -> None:
        self.spark: SparkSession = spark
        self.broker: Broker = broker
        self.checkpoint: Path = directory / "checkpoint"
        self.produced: int = 0

    def grow(self, rows: int) -> list[str]:
        """More rows in the source."""
        added = numbered(self.produced, self.produced + rows)
        produce(self.broker, "source", added)
        self.produced += rows
        return added

    def copy(self, to: str) -> Path:
        return Path(shutil.copytree(self.checkpoint, self.checkpoint.with_name(to)))

    def restore(self, backup: Path) -> None:
        shutil.rmtree(self.checkpoint)
        shutil.copytree(backup, self.checkpoint)

    def rows(self, **options: str) -> "DataFrame":
        given = {"subscribe": "source", "startingOffsets": "earliest", "maxOffsetsPerTrigger": str(PER_BATCH)}
        reader = self.spark.readStream.format("barnabas").options(**{**given, **options})
        return reader.option("kafka.bootstrap.servers", self.broker.bootstrap_servers).load()

    def run(self, rows: "DataFrame | None" = None, *, to: str = "copy", **options: str) -> str | None:
        """To the end of the source. Returns why the query failed, None if it did not."""
        from pyspark.errors import StreamingQueryException

        given: dict[str, Any] = {"topic": to, "checkpointLocation": str(self.checkpoint), **options}
        for _ in range(MOST_STARTS):
            writer = (rows or self.rows()).select("key", "value").writeStream.format("barnabas")
            writer = writer.option("kafka.bootstrap.servers", self.broker.bootstrap_servers)
            query = writer.options(**given).trigger(availableNow=True).start()
            try:
                query.awaitTermination()
            except StreamingQueryException as error:
                if not is_sparks_own(str(error)):
                    return str(error)
            else:
                return None
        raise AssertionError(f"Spark itself failed {MOST_STARTS} times")

    def written(self, topic: str = "copy") -> list[str]:
        return values_of(self.broker.bootstrap_servers, topic)


@pytest.fixture
def lives(spark: "SparkSession", kafka_broker: Broker, tmp_path: Path) -> Iterator[Lives]:
    spark.createDataFrame([], "nothing int")  # makes this session the active one
    for topic in ("source", "copy", "test"):
        kafka_broker.create_topic(topic, 1)
    yield Lives(spark, kafka_broker, tmp_path)
    for query in spark.streams.active:
        query.stop()


def test_a_checkpoint_that_is_restored_fails_with_the_way_on(lives: Lives) -> None:
    rows = lives.grow(20)
    assert lives.run() is None
    backup = lives.copy("backup")
    rows += lives.grow(20)
    assert lives.run() is None
    lives.restore(backup)
    rows += lives.grow(20)
    failure = lives.run() or ""
    assert "topic copy already has batch 3 of query" in failure
    assert 'starts at {"source": {"0": 40}}, where it ended (startingOffsets)' in failure
    assert lives.written() == rows[:40]
    # As the message says: a new checkpoint that starts there.
    shutil.rmtree(lives.checkpoint)
    assert lives.run(lives.rows(startingOffsets='{"source":{"0":40}}')) is None
    assert lives.written() == rows


def test_a_checkpoint_that_is_one_batch_behind_is_replayed_or_refused(lives: Lives) -> None:
    rows = lives.grow(10)
    assert lives.run() is None
    backup = lives.copy("backup")
    rows += lives.grow(5)
    assert lives.run() is None
    newest = lives.copy("newest")
    # Spark has planned the batch, and does not know that it is done: a replay.
    (lives.checkpoint / "commits" / "1").unlink()
    assert lives.run() is None
    assert lives.written() == rows
    # Spark has not planned the batch, and plans another one of the same number.
    lives.restore(backup)
    rows += lives.grow(5)
    assert "read other offsets than batch 1 of this checkpoint" in (lives.run() or "")
    assert lives.written() == rows[:15]
    lives.restore(newest)
    assert lives.run() is None
    assert lives.written() == rows


def test_a_copy_of_a_checkpoint_writes_to_a_topic_of_its_own(lives: Lives) -> None:
    rows = lives.grow(20)
    assert lives.run() is None
    backup = lives.copy("backup")
    rows += lives.grow(30)
    assert lives.run() is None
    lives.restore(backup)
    assert lives.run(to="test") is None
    assert (lives.written(), lives.written("test")) == (rows, rows[20:])
    lives.restore(backup)
    assert "already has batch" in (lives.run(to="test") or "")
    assert lives.run(to="test", transactionalIdPrefix="again") is None
    assert lives.written("test") == sorted(rows[20:] * 2)


def test_rows_that_come_slower_than_every_timeout_are_written_once(lives: Lives) -> None:
    """A user function holds up the end of a task for longer than a delivery may take."""
    rows = lives.grow(25)

    def slowly(batches: "Iterator[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
        import pyarrow as pa

        for number, batch in enumerate(batches):
            if (
                number == 4
            ):  # Spark's buffers hold back the end of each batch: the sink is some batches behind
                time.sleep(5)
            # Large rows: the sink sends what makes some megabytes, and keeps the rest until the end.
            large = pa.array([value.as_py() + b"." * 900_000 for value in batch["value"]], pa.binary())
            yield pa.RecordBatch.from_arrays([batch["key"], large], ["key", "value"])

    lives.spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "5")
    try:
        source = lives.rows(maxOffsetsPerTrigger="1000").select("key", "value")
        slow = source.mapInArrow(slowly, "key binary, value binary")
        short = {"kafka.request.timeout.ms": "2000", "kafka.delivery.timeout.ms": "4000"}
        assert lives.run(slow, **short) is None
    finally:
        lives.spark.conf.unset("spark.sql.execution.arrow.maxRecordsPerBatch")
    assert [value[:4] for value in lives.written()] == rows


def test_settings_that_exclude_exactly_once_fail_before_a_task_runs(lives: Lives) -> None:
    lives.grow(1)
    failure = lives.run(None, **{"kafka.acks": "1"}) or ""
    assert "Exactly once needs an idempotent producer" in failure
    assert "PYTHON_DATA_SOURCE_ERROR" in failure, failure[:3000]
    assert "Job aborted" not in failure


def test_spark_refuses_update_mode_for_sinks_in_python(lives: Lives) -> None:
    """`PythonWriteBuilder` has no `SupportsStreamingUpdateAsAppend`: no Python sink can change that."""
    from pyspark.errors import StreamingQueryException
    from pyspark.sql import functions as sf

    counts = lives.rows().groupBy("key").agg(sf.count("*").cast("string").alias("value"))
    writer = counts.writeStream.format("barnabas").outputMode("update")
    writer = writer.option("kafka.bootstrap.servers", lives.broker.bootstrap_servers)
    query = writer.option("topic", "copy").option("checkpointLocation", str(lives.checkpoint)).start()
    with pytest.raises(StreamingQueryException, match="does not support Update mode"):
        query.awaitTermination(int(PROGRAM_PATIENCE))
