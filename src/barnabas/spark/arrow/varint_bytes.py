"""Writing zig-zag varints of many rows at once.

`Varints` holds one number a row, with the bytes that it needs; `packed` joins several of them into one column
of bytes, row by row. The bytes are laid into a matrix with room for the widest number of each column, out of
which the unused bytes are then left.
"""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

_SEVEN = np.uint64(7)
_THRESHOLDS = np.array([1 << bits for bits in range(7, 64, 7)], np.uint64)
"""The least number that needs two bytes, three bytes, ..."""


class Varints:
    """The numbers of a column, zig-zag, and how many bytes each of them takes."""

    def __init__(self, numbers: NDArray[np.int64]) -> None:
        self.raw: NDArray[np.uint64] = ((numbers << 1) ^ (numbers >> 63)).view(np.uint64)
        self.widest: int = _size(int(self.raw.max(initial=0)))
        # One byte a size, and sums of a few sizes fit it as well.
        self.sizes: NDArray[np.uint8] = np.ones(len(numbers), np.uint8)
        for threshold in _THRESHOLDS[: self.widest - 1]:
            self.sizes += self.raw >= threshold


def _size(raw: int) -> int:
    return max(1, (raw.bit_length() + 6) // 7)


def size_of(number: int) -> int:
    """Bytes of one number."""
    return _size((number << 1) ^ (number >> 63))


def packed(columns: Sequence[Varints | int]) -> pa.Array:
    """For each row the bytes of its numbers, one behind the other, as a `binary` column.

    An int among the columns is one byte, the same in each row.
    """
    varints = [column for column in columns if isinstance(column, Varints)]
    count = len(varints[0].raw)
    width = sum(column.widest for column in varints) + len(columns) - len(varints)
    octets = np.empty((count, width), np.uint8)
    used = np.ones((count, width), np.bool_)
    totals = np.full(count, len(columns) - len(varints), np.uint8)
    at = 0
    for column in columns:
        if isinstance(column, int):
            octets[:, at] = column
            at += 1
            continue
        _lay(octets, used, at, column)
        at += column.widest
        totals += column.sizes
    offsets = np.zeros(count + 1, np.int32)
    np.cumsum(totals, out=offsets[1:])
    content = octets.ravel() if int(offsets[-1]) == octets.size else octets[used]
    return pa.Array.from_buffers(pa.binary(), count, [None, pa.py_buffer(offsets), pa.py_buffer(content)])


def _lay(octets: NDArray[np.uint8], used: NDArray[np.bool_], at: int, column: Varints) -> None:
    rest = column.raw
    for index in range(column.widest):
        low = rest.astype(np.uint8)
        if index < column.widest - 1:
            low &= 0x7F
            low |= (column.sizes > index + 1).view(np.uint8) << 7
            rest = rest >> _SEVEN
        octets[:, at + index] = low
        if index:
            np.greater(column.sizes, index, out=used[:, at + index])
