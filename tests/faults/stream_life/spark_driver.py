"""A query on real Spark instead of the simulated driver: the same lives, with Spark's own order of calls.

Every run is an AvailableNow run. For a driver that dies before it writes `commits/N`, the file is removed.
"""

import os
import signal
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from tests.faults.random_life.violation import require
from tests.faults.stream_life.driver import SOURCE, Poison
from tests.faults.stream_life.source_model import SourceModel
from tests.faults.stream_life.stream import Stream
from tests.integration.spark.drivers.spark_failures import MOST_STARTS, is_sparks_own

from barnabas.client.errors import ClientError
from barnabas.pipelines.common.reasons import reason_of

_RAISED = "USER_RAISED_EXCEPTION"
_DEAD_WORKER = "Python worker exited unexpectedly"


class SparkDriver:
    def __init__(
        self,
        spark: SparkSession,
        stream: Stream,
        servers: str,
        source: SourceModel,
        *,
        dies_in: str = "",
        worker_dies: bool = False,
    ) -> None:
        assert not dies_in, "no point inside a commit can be reached from outside"
        self._spark: SparkSession = spark
        self._stream: Stream = stream
        self._servers: str = servers
        self._source: SourceModel = source
        self._worker_dies: bool = worker_dies
        self._marker: Path = stream.checkpoint.path.with_suffix(".worker")
        """Whether a worker was killed in this run already."""
        self._marker.unlink(missing_ok=True)

    def batches(self) -> Iterator[str]:
        before = self._stream.checkpoint.last_logged
        self.run()
        last = self._stream.checkpoint.last_logged
        if last > before:
            self._stream.checkpoint.uncommit(last)
        yield "committed"

    def run(self) -> None:
        stream, checkpoint, now = self._stream, self._stream.checkpoint, self._source.position
        known = checkpoint.last_logged
        done = checkpoint.position(checkpoint.last_committed)
        logged = checkpoint.position(known)
        pending = (
            self._source.between(done, logged) if logged is not None and checkpoint.has_pending else set()
        )
        records = pending | self._source.between(logged, now)
        stream.begun(records)
        if pending:
            records -= pending - checkpoint.narrow(known, pending)
        try:
            self._start_until_it_ends()
        finally:
            for batch in range(known + 1, checkpoint.last_logged + 1):
                checkpoint.note(batch, now)
                checkpoint.narrow(batch, records - pending)
        end = checkpoint.position(checkpoint.last_logged)
        unseen = self._source.between(end, now)
        require(not unseen, f"{stream.label} does not see {len(unseen)} new records")
        stream.done(records)

    def _start_until_it_ends(self) -> None:
        """Spark's own failures, and workers that were killed, are followed by a new start."""
        for _ in range(MOST_STARTS):
            try:
                query = self._writer().start()
                query.awaitTermination()
                return
            except StreamingQueryException as error:
                if not is_sparks_own(str(error)) and _DEAD_WORKER not in str(error):
                    raise _converted(error) from None
        raise AssertionError("Spark does not start")

    def _writer(self) -> Any:
        checkpoint = self._stream.checkpoint.path
        writer = (
            self._rows()
            .writeStream.trigger(availableNow=True)
            .option("checkpointLocation", str(checkpoint))
            .outputMode("append")
        )
        if self._stream.application is not None:
            return writer.foreachBatch(self._write)
        return (
            writer.format("barnabas")
            .option("kafka.bootstrap.servers", self._servers)
            .option("topic", self._stream.targets[0])
        )

    def _write(self, frame: DataFrame, batch: int) -> None:
        for target in self._stream.targets:
            (
                frame.write.format("barnabas")
                .option("kafka.bootstrap.servers", self._servers)
                .option("topic", target)
                .option("checkpointLocation", str(self._stream.checkpoint.path))
                .option("txnAppId", self._stream.application)
                .option("txnVersion", str(batch))
                .mode("append")
                .save()
            )

    def _rows(self) -> DataFrame:
        records = (
            self._spark.readStream.format("barnabas")
            .option("kafka.bootstrap.servers", self._servers)
            .option("subscribe", SOURCE)
            .option("startingOffsets", "earliest")
            .option("failOnDataLoss", str(self._stream.fails_on_data_loss).lower())
            .option("fetchOffset.retryIntervalMs", "10")
            .load()
        )
        value = sf.col("value").cast("string")
        is_poison = value.contains("poison")
        if self._stream.skips_poison:
            records = records.where(~is_poison)
        row = sf.concat(sf.lit(f"{self._stream.label}/"), value)
        if not self._stream.skips_poison:
            row = sf.when(is_poison, sf.raise_error(value)).otherwise(row)
        rows = records.select(row.alias("value"))
        if self._worker_dies:
            rows = rows.mapInArrow(partial(_die_once, str(self._marker)), "value string")
        return rows


def _die_once(marker: str, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Runs in Spark's workers; the first of them is killed in the middle of its rows."""
    for batch in batches:
        yield batch
        if not Path(marker).exists():
            Path(marker).touch()
            os.kill(os.getpid(), signal.SIGKILL)


def _converted(error: StreamingQueryException) -> Exception:
    """What was raised in a worker or in the source, as far as its name and text say."""
    reason = reason_of(error)
    if _RAISED in reason:
        return Poison(reason)
    name, _, text = reason.partition(": ")
    kind: type[Exception] = type(name, (ClientError,), {})
    return kind(text)
