"""Arrow arrays and scalars from numpy and bytes, without pandas.

`pa.array` and `pa.scalar` look whether pandas is installed by importing it: 0.4 s in every new worker of
Spark. Arrays that are made of buffers skip that check.
"""

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

_TYPES = {np.dtype(np.int32): pa.int32(), np.dtype(np.int64): pa.int64()}


def number_array(
    values: NDArray[Any], nulls: NDArray[np.bool_] | None = None, kind: pa.DataType | None = None
) -> pa.Array:
    """The numbers of an array, without a copy if they lie side by side; null where `nulls` says so."""
    values = np.ascontiguousarray(values)
    valid = None
    if nulls is not None and nulls.any():
        valid = pa.py_buffer(np.packbits(~nulls, bitorder="little"))
    kind = kind or _TYPES[values.dtype]
    return pa.Array.from_buffers(kind, len(values), [valid, pa.py_buffer(values)])


def bytes_scalar(value: bytes, kind: pa.DataType | None = None) -> pa.Scalar:
    """Of `binary`, or of `string` if that is requested and the bytes are its UTF-8."""
    offsets = pa.py_buffer(np.array([0, len(value)], np.int32))
    return pa.Array.from_buffers(kind or pa.binary(), 1, [None, offsets, pa.py_buffer(value)])[0]


def no_bytes() -> pa.Array:
    """A `binary` column without rows."""
    return pa.Array.from_buffers(
        pa.binary(), 0, [None, pa.py_buffer(np.zeros(1, np.int32)), pa.py_buffer(b"")]
    )


def numbers_of(column: pa.Array, null: int = 0) -> NDArray[np.int64]:
    """A column of integers (or of times) as numpy's, `null` for missing ones. numpy's own conversion of Arrow
    arrays goes through pandas as well.
    """
    if pa.types.is_null(column.type):
        return np.full(len(column), null, np.int64)
    kind = np.dtype(f"i{column.type.bit_width // 8}")
    stored = column.buffers()[1]
    if stored is None or not len(column):
        return np.full(len(column), null, np.int64)
    values = np.frombuffer(stored, kind)[column.offset : column.offset + len(column)].astype(np.int64)
    if column.null_count:
        values[nulls_of(column)] = null
    return values


def nulls_of(column: pa.Array) -> NDArray[np.bool_]:
    if pa.types.is_null(column.type):
        return np.ones(len(column), np.bool_)
    valid = column.buffers()[0]
    if valid is None or not column.null_count:
        return np.zeros(len(column), np.bool_)
    bits = np.unpackbits(np.frombuffer(valid, np.uint8), bitorder="little")
    nulls: NDArray[np.bool_] = bits[column.offset : column.offset + len(column)] == 0
    return nulls
