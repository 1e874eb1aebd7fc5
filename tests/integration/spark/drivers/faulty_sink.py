"""The data source under another name, whose sink dies where a file of orders says.

`{"event": "commit-1", "batch": 1, "kill": [4711]}` kills these processes and then its own, with SIGKILL,
before the second transaction of batch 1 is committed. Events: `in-write` (all rows are at the broker),
`after-write` (a task is done), `commit-<n>` (before the n-th commit), `after-commit`; `planned` and `in-read`
are the source's. It is removed first, so that it is met once. With `"pause": <path>` no process dies: a
file appears there, and its end is waited for.

Spark's workers get this module by value: it is no module of theirs.
"""

import json
import os
import signal
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from unittest.mock import patch

from pyspark import TaskContext
from pyspark.sql.datasource import WriterCommitMessage

from barnabas.spark.coordinators import ClusterCoordinators
from barnabas.spark.stream_writer import StreamWriter
from barnabas.spark.writing import RowWriter
from pyspark_barnabas import DefaultSource

NAME = "barnabas_faulty"
_BATCH_ID = "streaming.sql.batchId"


class Orders:
    def __init__(self, path: str, batch: int) -> None:
        self._path: Path = Path(path)
        self._batch: int = batch

    def met(self, event: str) -> None:
        try:
            order = json.loads(self._path.read_text())
            if order["event"] != event or order["batch"] != self._batch:
                return
            self._path.unlink()  # of two tasks one succeeds
        except FileNotFoundError:
            return
        if "pause" in order:
            _pause(Path(order["pause"]))
            return
        for victim in [*order["kill"], os.getpid()]:
            os.kill(victim, signal.SIGKILL)
        time.sleep(60)  # the signal is on its way


def _pause(mark: Path) -> None:
    mark.touch()
    while mark.exists():
        time.sleep(0.02)


def _batch_of_task() -> int:
    context = TaskContext.get()
    assert context is not None
    return int(context.getLocalProperty(_BATCH_ID) or -1)


class FaultyWriter(StreamWriter):
    def __init__(self, options: Mapping[str, str], schema: Any) -> None:
        super().__init__(options, schema)
        self._orders: str = options["orders"]

    def write(self, iterator: Iterator[Any]) -> WriterCommitMessage:
        orders = Orders(self._orders, _batch_of_task())
        write = RowWriter.write

        def flushed(self: Any, batches: Iterator[Any]) -> Any:
            written = write(self, batches)
            self._producer.flush()
            orders.met("in-write")
            return written

        with patch.object(RowWriter, "write", flushed):
            message = super().write(iterator)
        orders.met("after-write")
        return message

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        orders = Orders(self._orders, batchId)
        end = ClusterCoordinators.end
        number = 0

        def counted(self: Any, *who: Any, commit: bool) -> None:
            nonlocal number
            if commit:
                orders.met(f"commit-{number}")
                number += 1
            end(self, *who, commit=commit)

        with patch.object(ClusterCoordinators, "end", counted):
            super().commit(messages, batchId)
        orders.met("after-commit")


def faulty_reader(reader: Any, path: str) -> Any:
    """`planned` comes once Spark has written down what a batch reads; it counts batches from the first."""

    class Faulty(type(reader)):  # type: ignore[misc]
        planned = 0

        def partitions(self, start: Any, end: Any) -> Any:
            Orders(path, self.planned).met("planned")
            self.planned += 1
            return super().partitions(start, end)

        def read(self, partition: Any) -> Iterator[Any]:
            yield from super().read(partition)
            Orders(path, _batch_of_task()).met("in-read")

    reader.__class__ = Faulty
    return reader


class FaultySource(DefaultSource):
    @classmethod
    def name(cls) -> str:
        return NAME

    def streamReader(self, schema: Any) -> Any:  # noqa: N802
        return faulty_reader(super().streamReader(schema), self.options["orders"])

    def streamWriter(self, schema: Any, overwrite: bool) -> FaultyWriter:  # noqa: N802
        return FaultyWriter(self.options, schema)
