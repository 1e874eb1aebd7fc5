"""Decoding: the records of scanned batches as the columns of a row.

The numbers of a record (two deltas, two lengths) are read for all records together; keys and values are then
slices of the work buffer, which Arrow gathers in one pass. Only columns that are requested are built. Nothing
is read past the end that a record's own length gives it, whatever the lengths inside it claim.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from barnabas.base.errors import CorruptMessage
from barnabas.records.batch import LOG_APPEND_TIME
from barnabas.spark.arrow.batch_scan import Scanned, ScannedBatch
from barnabas.spark.arrow.boundaries import BrokenChain, find_records
from barnabas.spark.arrow.corrupt_records import (
    BrokenRow,
    CorruptRecords,
    MalformedTimestamp,
    location,
    refuse,
)
from barnabas.spark.arrow.headers import header_lists
from barnabas.spark.arrow.light_arrays import bytes_scalar, number_array
from barnabas.spark.arrow.row_schema import ROW_SCHEMA, TIMESTAMP_TYPE, projected
from barnabas.spark.arrow.slices import gathered
from barnabas.spark.arrow.varints import Numbers, Positions, Windows

_MICROSECONDS = 1000
_MOST_MILLISECONDS = (2**63 - 1) // _MICROSECONDS


class _Rows(NamedTuple):
    """The rows in the requested range: their numbers, and where the rest of each record stands."""

    offsets: Numbers
    timestamps: Numbers
    timestamp_types: NDArray[np.int32]
    positions: Positions
    ends: Positions


def decode(
    scanned: Scanned, topic: str, partition: int, columns: Sequence[str] = tuple(ROW_SCHEMA.names)
) -> pa.RecordBatch:
    """The rows of `scanned` that lie in its range, with these columns in this order."""
    projected(columns)
    windows = Windows(scanned.work)
    offset = scanned.batches[0].base_offset if scanned.batches else scanned.start_offset
    try:
        bounds = find_records(windows, scanned.batches)
        rows = _numbers(windows, scanned, bounds.contents, bounds.ends)
        offset = int(rows.offsets[0]) if len(rows.offsets) else offset
        try:
            contents = _contents(windows, rows, set(columns) & {"key", "value", "headers"})
        except BrokenRow as error:
            where = location(topic, partition, int(rows.offsets[error.row]))
            raise CorruptRecords(f"{where}: {error}") from error
    except BrokenChain as error:
        where = location(topic, partition, error.batch.base_offset)
        raise CorruptRecords(f"{where}: {error}") from error
    except CorruptRecords:
        raise
    except CorruptMessage as error:
        # A number of nine and more bytes that does not end; which one is unknown.
        raise CorruptRecords(f"{location(topic, partition, offset)} or after: {error.message}") from error
    return _record_batch(rows, contents, columns, topic, partition)


def _record_batch(
    rows: _Rows, contents: dict[str, pa.Array], columns: Sequence[str], topic: str, partition: int
) -> pa.RecordBatch:
    count = len(rows.offsets)
    builders: dict[str, Callable[[], pa.Array]] = {
        "topic": lambda: pa.repeat(bytes_scalar(topic.encode(), pa.string()), count),
        "partition": lambda: number_array(np.full(count, partition, np.int32)),
        "offset": lambda: number_array(rows.offsets),
        "timestamp": lambda: _microseconds(rows, topic, partition),
        "timestampType": lambda: number_array(rows.timestamp_types),
    }
    arrays = [contents[name] if name in contents else builders[name]() for name in columns]
    if not arrays:
        return pa.RecordBatch.from_struct_array(pa.array([{}] * count, pa.struct([])))
    return pa.RecordBatch.from_arrays(arrays, schema=projected(columns))


def _numbers(windows: Windows, scanned: Scanned, contents: Positions, ends: Positions) -> _Rows:
    batches = scanned.batches
    counts = np.array([batch.count for batch in batches], np.int64)
    deltas, positions = windows.varints(contents + 1)
    offset_deltas, positions = windows.varints(positions)
    limits = _spread((batch.last_offset_delta for batch in batches), counts)
    wrong = (offset_deltas < 0) | (offset_deltas > limits)
    if wrong.any():
        _raise_broken(batches, counts, wrong, "a record's offset is not one of its batch")
    offsets = offset_deltas + _spread((batch.base_offset for batch in batches), counts)
    timestamps, types = _timestamps(batches, counts, deltas)
    rows = _Rows(offsets, timestamps, types, positions, ends)
    low, high = scanned.start_offset, scanned.stop_offset
    inside = offsets >= low
    if high is not None:
        inside &= offsets < high
    if inside.all():
        return rows
    return _Rows(offsets[inside], timestamps[inside], types[inside], positions[inside], ends[inside])


def _timestamps(
    batches: Sequence[ScannedBatch], counts: Numbers, deltas: Numbers
) -> tuple[Numbers, NDArray[np.int32]]:
    """Times in milliseconds. Sums wrap around like Java's; `_microseconds` refuses what is too great."""
    bases = _spread((batch.base_timestamp for batch in batches), counts)
    if all(batch.timestamp_type != LOG_APPEND_TIME for batch in batches):
        return bases + deltas, np.zeros(len(deltas), np.int32)
    types = _spread((batch.timestamp_type for batch in batches), counts).astype(np.int32)
    append_times = _spread((batch.max_timestamp for batch in batches), counts)
    return np.where(types == LOG_APPEND_TIME, append_times, bases + deltas), types


def _spread(values: Iterable[int], counts: Numbers) -> Numbers:
    """A number of each batch, once for each of its records."""
    return np.repeat(np.fromiter(values, np.int64, len(counts)), counts)


def _microseconds(rows: _Rows, topic: str, partition: int) -> pa.Array:
    wrong = (rows.timestamps > _MOST_MILLISECONDS) | (rows.timestamps < -_MOST_MILLISECONDS)
    if wrong.any():
        first = int(wrong.argmax())
        where = location(topic, partition, int(rows.offsets[first]))
        raise MalformedTimestamp(
            f"{where}: the timestamp {rows.timestamps[first]} ms does not fit 64 bits of microseconds"
        )
    return number_array(rows.timestamps * _MICROSECONDS, kind=TIMESTAMP_TYPE)


def _contents(windows: Windows, rows: _Rows, wanted: set[str]) -> dict[str, pa.Array]:
    """Key, value and headers, as far as they are wanted."""
    if not wanted:
        return {}
    key_lengths, key_starts = windows.varints(rows.positions)
    key_ends = key_starts + np.maximum(key_lengths, 0)
    # At least the length of the value and the count of headers follow.
    refuse((key_ends > rows.ends - 2) | (key_ends < 0), "a key runs off the end of its record")
    found: dict[str, pa.Array] = {}
    if wanted == {"key"}:
        return {"key": gathered(windows.work, key_starts, key_ends, key_lengths < 0)}
    value_lengths, value_starts = windows.varints(key_ends)
    value_ends = value_starts + np.maximum(value_lengths, 0)
    refuse((value_ends > rows.ends - 1) | (value_ends < 0), "a value runs off the end of its record")
    if "key" in wanted:
        found["key"] = gathered(windows.work, key_starts, key_ends, key_lengths < 0)
    if "value" in wanted:
        found["value"] = gathered(windows.work, value_starts, value_ends, value_lengths < 0)
    if "headers" in wanted:
        found["headers"] = header_lists(windows, value_ends, rows.ends)
    return found


def _raise_broken(
    batches: Sequence[ScannedBatch], counts: Numbers, wrong: NDArray[np.bool_], what: str
) -> None:
    number = int(np.searchsorted(np.cumsum(counts), int(wrong.argmax()), "right"))
    raise BrokenChain(batches[number], what)
