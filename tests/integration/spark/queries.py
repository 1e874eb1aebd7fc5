"""Queries as a user writes them, short: what was read is kept by batch, so that a replay shows."""

import json
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from confluent_kafka import Producer

from barnabas.testing import Broker

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

FORMAT = "barnabas"


class Collected:
    """The rows of each micro-batch, in the order of partition and offset; a list per time that it ran."""

    def __init__(self) -> None:
        self.batches: defaultdict[int, list[list[Row]]] = defaultdict(list)
        self._lock: threading.Lock = threading.Lock()

    def take(self, rows: "DataFrame", batch: int) -> None:
        found = sorted(rows.collect(), key=lambda row: (row.topic, row.partition, row.offset))
        with self._lock:
            self.batches[batch].append(found)

    @property
    def values(self) -> list[str]:
        """Of all rows of all runs."""
        return sorted(row.value.decode() for runs in self.batches.values() for run in runs for row in run)

    def of_batch(self, batch: int) -> list[list[str]]:
        return [[row.value.decode() for row in run] for run in self.batches[batch]]


class Queries:
    def __init__(self, spark: "SparkSession", broker: Broker, directory: Path) -> None:
        self.spark: SparkSession = spark
        self.broker: Broker = broker
        self.checkpoint: Path = directory / "checkpoint"
        self._running: list[StreamingQuery] = []

    # --- batches -----------------------------------------------------------------------------------------

    def read(
        self,
        topic: str,
        options: Mapping[str, object] | None = None,
        *,
        schema: str | None = None,
        form: str = FORMAT,
        broker: Broker | None = None,
    ) -> "DataFrame":
        reader = self.spark.read.format(form)
        if schema is not None:
            reader = reader.schema(schema)
        return reader.options(**self._options(topic, options, broker)).load()

    def rows(self, topic: str, options: Mapping[str, object] | None = None, **more: Any) -> "list[Row]":
        return sorted(
            self.read(topic, options, **more).collect(),
            key=lambda row: (row.topic, row.partition, row.offset),
        )

    def values(self, topic: str, options: Mapping[str, object] | None = None, **more: Any) -> list[str]:
        return [row.value.decode() for row in self.rows(topic, options, **more)]

    # --- streams -----------------------------------------------------------------------------------------

    def start(
        self,
        topic: str,
        options: Mapping[str, object] | None = None,
        *,
        into: Collected,
        available_now: bool = False,
        form: str = FORMAT,
        broker: Broker | None = None,
    ) -> "StreamingQuery":
        stream = self.spark.readStream.format(form).options(**self._options(topic, options, broker)).load()
        writer = stream.writeStream.foreachBatch(into.take)
        writer = writer.option("checkpointLocation", str(self.checkpoint))
        if available_now:
            writer = writer.trigger(availableNow=True)
        query = writer.start()
        self._running.append(query)
        return query

    def available_now(
        self, topic: str, options: Mapping[str, object] | None = None, **more: Any
    ) -> Collected:
        """What one run to the end of the data reads."""
        collected = Collected()
        query = self.start(
            topic,
            {"startingOffsets": "earliest", **(options or {})},
            into=collected,
            available_now=True,
            **more,
        )
        query.awaitTermination()
        return collected

    def stop(self) -> None:
        for query in self._running:
            query.stop()
        self._running.clear()

    def offsets(self, batch: int) -> dict[str, dict[str, int]]:
        """The end of a batch in the checkpoint, of topics alone."""
        lines = (self.checkpoint / "offsets" / str(batch)).read_text().splitlines()
        found: dict[str, dict[str, int]] = json.loads(lines[-1])
        return {topic: partitions for topic, partitions in found.items() if not topic.startswith("@")}

    def _options(
        self, topic: str, options: Mapping[str, object] | None, broker: Broker | None
    ) -> dict[str, Any]:
        given = {"subscribe": topic, **(options or {})}
        if "subscribePattern" in given or "assign" in given:
            del given["subscribe"]
        return {"kafka.bootstrap.servers": (broker or self.broker).bootstrap_servers, **given}


def produce(broker: Broker, topic: str, values: Iterable[str | None], partition: int = 0) -> None:
    """Values as strings to one partition, all at once: no reader sees some of them alone."""
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "linger.ms": 1000})
    for value in values:
        producer.produce(topic, value, partition=partition)
    assert producer.flush(30) == 0


def numbered(first: int, last: int) -> list[str]:
    return [f"{number:04}" for number in range(first, last)]


def eventually(holds: Callable[[], bool], timeout: float = 60.0) -> None:
    deadline = time.monotonic() + timeout
    while not holds():
        assert time.monotonic() < deadline, "it did not come to be"
        time.sleep(0.05)
