"""A user function that takes its time: no row comes before the rows before it are acknowledged.

A sink that sends and receives only while rows come would wait for ever, or until its requests time out.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

import pyarrow as pa
from tests.faults.random_life.violation import require
from tests.patience import PATIENCE

from barnabas.spark import sink, writing
from barnabas.spark.wire.producer import Producer

_INTERVAL = 0.005
_MOST_ROWS = 3
"""That are awaited one by one; the rest comes at once."""


class SlowUpstream:
    patience: float = PATIENCE

    def __init__(self) -> None:
        self._producers: list[Producer] = []

    @classmethod
    @contextmanager
    def watched(cls) -> "Iterator[SlowUpstream]":
        """With every row sent as it comes, by producers that are known here."""
        upstream = cls()

        def made(*given: object, **named: object) -> Producer:
            producer = Producer(*given, **named)  # type: ignore[arg-type]
            upstream._producers.append(producer)
            return producer

        with patch.object(sink, "Producer", made), patch.object(writing, "CHUNK_BYTES", 1):
            yield upstream

    def one_by_one(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for row in range(min(_MOST_ROWS, batch.num_rows)):
                yield batch.slice(row, 1)
                self._await_delivery()
            if batch.num_rows > _MOST_ROWS:
                yield batch.slice(_MOST_ROWS)

    def _await_delivery(self) -> None:
        deadline = time.monotonic() + self.patience
        while not all(_is_delivered(each) for each in self._producers):
            require(time.monotonic() < deadline, "rows are not delivered while more rows are awaited")
            time.sleep(_INTERVAL)


def _is_delivered(producer: Producer) -> bool:
    return producer._failure is not None or producer._outbox is None or producer._outbox.is_empty
