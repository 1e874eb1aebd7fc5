"""Decoding the headers of records into lists of (key, value).

The j-th headers of all records that have so many are read together. Records with very many headers, which
are rare, are finished one by one. A record without headers has a null list, as in Spark.
"""

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from barnabas.base.errors import CorruptMessage
from barnabas.records.varint import decode_varint
from barnabas.spark.arrow.corrupt_records import BrokenRow, refuse
from barnabas.spark.arrow.row_schema import HEADER_TYPE, HEADERS_TYPE
from barnabas.spark.arrow.slices import gathered
from barnabas.spark.arrow.varints import Numbers, Positions, Windows

_TOGETHER = 32
"""Headers of a record that are read in step with those of the others."""
_LEAST_HEADER = 2
_NO_KEY = "the key of a header is missing or runs off the end of its record"
_NO_VALUE = "the value of a header runs off the end of its record"


class _Slices:
    """Where keys and values of all headers stand, by the number of the header."""

    def __init__(self, count: int) -> None:
        self.key_starts: Positions = np.empty(count, np.int64)
        self.key_ends: Positions = np.empty(count, np.int64)
        self.value_starts: Positions = np.empty(count, np.int64)
        self.value_ends: Positions = np.empty(count, np.int64)
        self.value_nulls: NDArray[np.bool_] = np.zeros(count, np.bool_)


def header_lists(windows: Windows, positions: Positions, ends: Positions) -> pa.Array:
    """The column of headers of records whose count of headers stands at `positions`."""
    counts, positions = windows.varints(positions)
    refuse(
        (counts < 0) | (counts > (ends - positions) // _LEAST_HEADER), "a record claims absurdly many headers"
    )
    offsets = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=offsets[1:])
    slices = _Slices(int(offsets[-1]))
    after = _read_in_step(windows, counts, offsets, positions, ends, slices)
    refuse(after != ends, "the headers of a record do not end where it ends")
    keys = _strings(gathered(windows.work, slices.key_starts, slices.key_ends, np.zeros(1, np.bool_)))
    values = gathered(windows.work, slices.value_starts, slices.value_ends, slices.value_nulls)
    pairs = pa.StructArray.from_arrays([keys, values], fields=list(HEADER_TYPE))
    present = counts > 0
    valid = None if present.all() else pa.py_buffer(np.packbits(present, bitorder="little"))
    return pa.Array.from_buffers(
        HEADERS_TYPE, len(counts), [valid, pa.py_buffer(offsets.astype(np.int32))], children=[pairs]
    )


def _read_in_step(
    windows: Windows,
    counts: Numbers,
    offsets: Numbers,
    positions: Positions,
    ends: Positions,
    slices: _Slices,
) -> Positions:
    """Fill `slices`; gives the position after the last header of each record."""
    after = positions.copy()
    rows = np.flatnonzero(counts > 0)
    for number in range(min(_TOGETHER, int(counts.max(initial=0)))):
        if number:
            rows = rows[counts[rows] > number]
        at = offsets[rows] + number
        limits = ends[rows]
        key_lengths, key_starts = windows.varints(after[rows])
        key_ends = key_starts + key_lengths
        refuse((key_lengths < 0) | (key_ends >= limits) | (key_ends < 0), _NO_KEY, rows)
        value_lengths, value_starts = windows.varints(key_ends)
        value_ends = value_starts + np.maximum(value_lengths, 0)
        refuse((value_ends > limits) | (value_ends < 0), _NO_VALUE, rows)
        slices.key_starts[at], slices.key_ends[at] = key_starts, key_ends
        slices.value_starts[at], slices.value_ends[at] = value_starts, value_ends
        slices.value_nulls[at] = value_lengths < 0
        after[rows] = value_ends
    for row in np.flatnonzero(counts > _TOGETHER).tolist():
        try:
            after[row] = _read_rest(windows, int(offsets[row]), int(counts[row]), int(after[row]), slices)
        except CorruptMessage as error:
            raise BrokenRow(row, error.message) from error
    return after


def _read_rest(windows: Windows, first: int, count: int, start: int, slices: _Slices) -> int:
    """The headers of one record after those that were read in step; a wrong length shows at its end."""
    work, size = windows.work, windows.size
    at = start
    for number in range(first + _TOGETHER, first + count):
        length, at = decode_varint(work, at)
        if not 0 <= length <= size - at:
            raise CorruptMessage(_NO_KEY)
        slices.key_starts[number] = at
        slices.key_ends[number] = at = at + length
        length, at = decode_varint(work, at)
        if length > size - at:
            raise CorruptMessage(_NO_VALUE)
        slices.value_nulls[number] = length < 0
        slices.value_starts[number] = at
        slices.value_ends[number] = at = at + max(length, 0)
    return at


def _strings(keys: pa.Array) -> pa.Array:
    """Keys as UTF-8; malformed bytes are replaced, as Java does."""
    try:
        return keys.cast(pa.string())
    except pa.ArrowInvalid:
        return pa.array([key.decode("utf-8", "replace") for key in keys.to_pylist()], pa.string())
