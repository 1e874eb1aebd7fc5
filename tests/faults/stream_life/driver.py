"""A driver of Spark, as far as a data source sees it: the same calls in the same order, without Spark.

`batches` is a generator that stops at named points of a batch: a driver that is not continued from there was
killed there. Readers and writers are pickled for each task, as Spark does.
"""

import json
import pickle
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch
from uuid import uuid4

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.streaming.datasource import ReadAllAvailable
from pyspark.sql.types import BinaryType, StringType, StructField, StructType
from tests.faults.random_life.violation import require
from tests.faults.stream_life.slow_upstream import SlowUpstream
from tests.faults.stream_life.source_model import SourceModel
from tests.faults.stream_life.stream import Stream

from barnabas.spark import exactly_once
from barnabas.spark.batch_writer import make_writer
from barnabas.spark.coordinators import ClusterCoordinators
from barnabas.spark.source import make_stream_reader
from barnabas.spark.stream_writer import make_stream_writer

SOURCE = "source"
POINTS = ("planned", "logged", "task", "written", "decided", "between", "committed")
"""Where a driver can be killed. `decided` and `between` are inside the sink's commit."""
_ATTEMPTS = 2
_READ = StructType([StructField("value", BinaryType())])
_WRITTEN = StructType([StructField("value", StringType())])


class Poison(Exception):
    """What the user's own code raises for a record that it was not made for."""


class Killed(BaseException):
    """The driver ends here and now."""


class WorkerDied(BaseException):
    """A Python worker ends here and now."""


@dataclass(frozen=True, slots=True)
class _Context:
    """The part of Spark's TaskContext that is there for a data source."""

    task: int
    properties: dict[str, str]

    def partitionId(self) -> int:  # noqa: N802
        return self.task

    def attemptNumber(self) -> int:  # noqa: N802
        return 0

    def getLocalProperty(self, name: str) -> str | None:  # noqa: N802
        return self.properties.get(name)


class Driver:
    """One run of a query. `dies_in` is a point inside the sink's commit."""

    def __init__(
        self,
        stream: Stream,
        servers: str,
        source: SourceModel,
        *,
        dies_in: str = "",
        worker_dies: bool = False,
        is_slow: bool = False,
    ) -> None:
        self._stream: Stream = stream
        self._servers: str = servers
        self._source: SourceModel = source
        self._dies_in: str = dies_in
        self._worker_dies: bool = worker_dies
        self._is_slow: bool = is_slow
        self._run_id: str = str(uuid4())
        self._reader: Any = make_stream_reader(self._source_options(), _READ)

    def run(self) -> None:
        """To the end of the data."""
        for _ in self.batches():
            pass

    def batches(self) -> Iterator[str]:
        checkpoint = self._stream.checkpoint
        query_id = checkpoint.query_id
        if checkpoint.has_pending:
            batch = checkpoint.last_logged
            yield from self._batch(query_id, batch, self._start_of(batch), checkpoint.end_of(batch))
        while True:
            batch = checkpoint.last_logged + 1
            start = self._start_of(batch)
            if batch == 0:
                self._reader.initialOffset()
            end = _through_json(self._reader.latestOffset(start, ReadAllAvailable()))
            self._reader.reportLatestOffset()
            before, now = checkpoint.position(batch - 1), self._source.position
            if batch > 0 and json.dumps(end) == json.dumps(start):
                unseen = self._source.between(before, now)
                require(not unseen, f"{self._stream.label} does not see {len(unseen)} new records")
                return
            readable = self._source.between(before, now)
            yield "planned"
            checkpoint.log(batch, end, now)
            checkpoint.narrow(batch, readable)
            yield "logged"
            if batch > 0:
                self._reader.commit(checkpoint.end_of(batch - 1))
            yield from self._batch(query_id, batch, start, end)

    def _start_of(self, batch: int) -> Any:
        found = self._stream.checkpoint.end_of(batch - 1)
        return _through_json(self._reader.initialOffset()) if found is None else found

    # --- one batch -------------------------------------------------------------------------------------

    def _batch(self, query_id: str, batch: int, start: Any, end: Any) -> Iterator[str]:
        stream, checkpoint = self._stream, self._stream.checkpoint
        position = checkpoint.position(batch)
        assert position is not None
        records = self._source.between(checkpoint.position(batch - 1), position)
        stream.begun(records)
        readable = checkpoint.narrow(batch, records)
        parts = self._reader.partitions(start, end) or [None]
        properties = {
            "sql.streaming.queryId": query_id,
            "streaming.sql.batchId": str(batch),
            "spark.jobGroup.id": self._run_id,
        }
        for target in stream.targets:
            writer = self._writer(target, batch)
            messages: list[Any] = [None] * len(parts)
            try:
                for task, part in enumerate(parts):
                    messages[task] = self._task(writer, part, _Context(task, properties))
                    yield "task"
                yield "written"
                self._commit(writer, messages, batch)
            except Exception:
                self._end(writer, "abort", messages, batch)
                raise
        yield "committed"
        checkpoint.commit(batch)
        stream.done(readable)

    def _task(self, writer: Any, part: Any, context: _Context) -> Any:
        """An attempt of a worker that dies is followed by another one."""
        for attempt in range(_ATTEMPTS):
            reader, copy = pickle.loads(pickle.dumps((self._reader, writer)))
            rows = self._rows(reader.read(part), dies=self._worker_dies and attempt == 0)
            with ExitStack() as stack:
                if self._is_slow:
                    upstream = stack.enter_context(SlowUpstream.watched())
                    rows = upstream.one_by_one(rows)
                stack.enter_context(patch.object(TaskContext, "_taskContext", context))
                if self._worker_dies and attempt == 0:
                    # A process that is killed aborts nothing.
                    stack.enter_context(patch.object(exactly_once, "_give_up", lambda *_: None))
                try:
                    return copy.write(rows)
                except WorkerDied:
                    continue
        raise AssertionError("only the first worker dies")

    def _rows(self, batches: Iterator[pa.RecordBatch], *, dies: bool) -> Iterator[pa.RecordBatch]:
        """What the user's query makes of the records."""
        for batch in batches:
            values = [value.decode() for value in batch.column("value").to_pylist()]
            if any("poison" in value for value in values) and not self._stream.skips_poison:
                raise Poison(next(value for value in values if "poison" in value))
            rows = [f"{self._stream.label}/{value}" for value in values if "poison" not in value]
            half = rows[: len(rows) // 2] if dies else rows
            yield pa.record_batch({"value": pa.array(half, pa.string())})
            if dies:
                raise WorkerDied

    def _commit(self, writer: Any, messages: list[Any], batch: int) -> None:
        with ExitStack() as stack:
            if self._dies_in == "decided":
                stack.enter_context(_death_after("decide"))
            elif self._dies_in == "between":
                stack.enter_context(_death_after("end"))
            self._end(writer, "commit", messages, batch)

    def _end(self, writer: Any, how: str, messages: list[Any], batch: int) -> None:
        """Spark calls a copy of the writer, in another process than the tasks'."""
        method = getattr(pickle.loads(pickle.dumps(writer)), how)
        if self._stream.application is None:
            method(messages, batch)
        else:
            method(messages)

    # --- options ---------------------------------------------------------------------------------------

    def _source_options(self) -> dict[str, str]:
        return {
            "kafka.bootstrap.servers": self._servers,
            "subscribe": SOURCE,
            "startingOffsets": "earliest",
            "failOnDataLoss": str(self._stream.fails_on_data_loss).lower(),
            "fetchOffset.retryIntervalMs": "10",
            "kafka.group.id": f"life-{self._stream.label}",
        }

    def _writer(self, target: str, batch: int) -> Any:
        checkpoint = str(self._stream.checkpoint.path)
        options = {
            "kafka.bootstrap.servers": self._servers,
            "topic": target,
            "checkpointlocation": checkpoint,
            "kafka.delivery.timeout.ms": "20000",
        }
        if self._stream.application is None:
            return make_stream_writer(options, _WRITTEN, overwrite=False)
        return make_writer(
            {**options, "txnappid": self._stream.application, "txnversion": str(batch)}, _WRITTEN, False
        )


def _death_after(method: str) -> Any:
    """Of the driver, once it has done this for the first time."""
    real = getattr(ClusterCoordinators, method)

    def and_die(self: ClusterCoordinators, *given: Any, **named: Any) -> None:
        real(self, *given, **named)
        raise Killed

    return patch.object(ClusterCoordinators, method, and_die)


def _through_json(offset: Any) -> Any:
    return json.loads(json.dumps(offset))
