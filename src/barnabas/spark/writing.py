"""Rows of a task become records: chunks of a useful size, split by partition, handed to a producer.

Spark hands over some thousand rows at a time; they are gathered to chunks of a few megabytes, because every
step from here on is vectorised. A chunk is sorted by partition with a stable sort: rows of one key keep their
order. Rows without a key, and without a partition of their own, go to one partition for a chunk, the next one
for the next chunk (KIP-480's idea); the first depends on batch and task, so that small batches wander too.
"""

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from barnabas.spark.arrow.light_arrays import nulls_of, number_array, numbers_of
from barnabas.spark.arrow.murmur2 import NO_PARTITION, partition_of_keys
from barnabas.spark.arrow.record_batches import RowColumns
from barnabas.spark.exactly_once import Written
from barnabas.spark.planning.sink_columns import NULL_TOPIC, SinkColumns

CHUNK_BYTES = 4 << 20
Numbers = npt.NDArray[np.int64]


class UnusableRow(ValueError):
    """A row says something that no record can."""


class RecordProducer(Protocol):
    """The part of `wire.producer.Producer` that writing needs."""

    def partition_count(self, topic: str) -> int: ...

    def send(self, topic: str, partition: int, columns: RowColumns) -> int: ...

    def attend(self) -> None: ...


@dataclass(frozen=True, slots=True)
class RowsToSend:
    """Rows of one topic. None if the frame has no such column."""

    rows: RowColumns
    partition: pa.Array | None

    @property
    def count(self) -> int:
        return len(self.rows.value)

    def taken(self, order: Numbers) -> "RowsToSend":
        picked = number_array(order)
        key, value, headers, times = self.rows
        taken = RowColumns(
            None if key is None else key.take(picked),
            value.take(picked),
            None if headers is None else headers.take(picked),
            times if isinstance(times, int) else times[order],
        )
        return RowsToSend(taken, None if self.partition is None else self.partition.take(picked))

    def cut(self, start: int, stop: int) -> RowColumns:
        size = stop - start
        key, value, headers, times = self.rows
        return RowColumns(
            None if key is None else key.slice(start, size),
            value.slice(start, size),
            None if headers is None else headers.slice(start, size),
            times if isinstance(times, int) else times[start:stop],
        )


class RowWriter:
    """Writes the rows of one task. `turn` chooses the first partition of rows without a key."""

    def __init__(self, producer: RecordProducer, columns: SinkColumns, topic: str | None, turn: int) -> None:
        self._producer: RecordProducer = producer
        self._columns: SinkColumns = columns
        self._topic: str | None = topic
        self._turn: int = turn

    def write(self, batches: Iterator[pa.RecordBatch]) -> Written:
        rows, first_topic = 0, None
        for gathered, is_last in _gathered(batches):
            for topic, chunk in self._by_topic(gathered):
                self._send(topic, chunk)
                rows += chunk.count
                first_topic = first_topic or topic
            self._turn += 1
            if not is_last:
                self._producer.attend()
        return Written(rows, first_topic)

    def _by_topic(self, table: pa.Table) -> Iterator[tuple[str, RowsToSend]]:
        chunk = self._chunk(table)
        if self._topic is not None or self._columns.topic is None:
            yield self._topic or "", chunk
            return
        names = _combined(table.column(self._columns.topic)).dictionary_encode()
        if names.null_count:
            raise UnusableRow(NULL_TOPIC)
        topics = names.dictionary.to_pylist()
        if len(topics) == 1:
            yield topics[0], chunk
            return
        codes = numbers_of(names.indices)
        for code, topic in enumerate(topics):
            yield topic, chunk.taken(np.flatnonzero(codes == code))

    def _chunk(self, table: pa.Table) -> RowsToSend:
        def column(number: int | None) -> pa.Array | None:
            return None if number is None else _combined(table.column(number))

        columns = self._columns
        value, times = column(columns.value), _milliseconds(column(columns.timestamp))
        rows = RowColumns(column(columns.key), value, column(columns.headers), times)
        return RowsToSend(rows, column(columns.partition))

    def _send(self, topic: str, chunk: RowsToSend) -> None:
        partitions = self._partitions(topic, chunk)
        first = int(partitions[0])
        if (partitions == first).all():
            self._producer.send(topic, first, chunk.rows)
            return
        # Numbers of two bytes are sorted by their digits, in a fraction of the time.
        small = partitions.astype(np.uint16) if partitions.max() < 1 << 16 else partitions
        order = np.argsort(small, kind="stable")
        chunk, partitions = chunk.taken(order), partitions[order]
        edges = [0, *(np.flatnonzero(np.diff(partitions)) + 1).tolist(), chunk.count]
        for start, stop in pairwise(edges):
            self._producer.send(topic, int(partitions[start]), chunk.cut(start, stop))

    def _partitions(self, topic: str, chunk: RowsToSend) -> Numbers:
        """The partition that the row names, else that of its key, else the current one of keyless rows."""
        count = self._producer.partition_count(topic)
        key, given = chunk.rows.key, chunk.partition
        found = np.full(chunk.count, NO_PARTITION, np.int64)
        if key is not None and (given is None or given.null_count):
            found[:] = partition_of_keys(key, count)
        found[found == NO_PARTITION] = self._turn % count
        if given is not None and given.null_count < chunk.count:
            is_given = ~nulls_of(given)
            numbers = numbers_of(given)[is_given]
            _check(topic, numbers, count)
            found[is_given] = numbers
        return found


def _check(topic: str, given: Numbers, count: int) -> None:
    least, most = int(given.min()), int(given.max())
    if least < 0:
        raise UnusableRow(
            f"Invalid partition: {least}. Partition number should always be non-negative or null."
        )
    if most >= count:
        raise UnusableRow(f"Partition {most} of topic {topic} with partition count {count} does not exist")


# --- chunks and columns ----------------------------------------------------------------------------------


def _gathered(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[pa.Table, bool]]:
    """Chunks, and whether no more rows are awaited. Most tasks have one chunk, and need no thread."""
    waiting: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        if batch.num_rows == 0:
            continue
        waiting.append(batch)
        size += batch.nbytes
        if size >= CHUNK_BYTES:
            yield pa.Table.from_batches(waiting), False
            waiting, size = [], 0
    if waiting:
        yield pa.Table.from_batches(waiting), True


def _combined(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks)


def _milliseconds(array: pa.Array | None) -> Numbers | int:
    """Since 1970; rows without a time get the present one. Spark counts in microseconds."""
    present = time.time_ns() // 1_000_000
    if array is None:
        return present
    if pa.types.is_timestamp(array.type):
        times = numbers_of(array, null=present * 1000) // 1000
    else:
        times = numbers_of(array, null=present)
    if len(times) and (least := int(times.min())) < 0:
        raise UnusableRow(f"Invalid timestamp: {least}. Timestamp should always be non-negative or null.")
    return times
