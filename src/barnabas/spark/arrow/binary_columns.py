"""Arrow columns of bytes, whatever variant they come in, and joining them row by row."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from barnabas.spark.arrow.light_arrays import bytes_scalar, numbers_of

_NOTHING = bytes_scalar(b"")


def as_binary(column: pa.Array) -> pa.Array:
    """The same bytes as `binary`: strings as their UTF-8; no copy unless offsets or views must change."""
    if column.type == pa.binary():
        return column
    if not (_has_offsets(column.type) or _has_views(column.type)):
        raise TypeError(f"a key, a value or a header must be binary or string, not {column.type}")
    return column.cast(pa.binary())


def _has_offsets(kind: pa.DataType) -> bool:
    types = pa.types
    return bool(
        types.is_binary(kind)
        or types.is_string(kind)
        or types.is_large_binary(kind)
        or types.is_large_string(kind)
    )


def _has_views(kind: pa.DataType) -> bool:
    """Types whose rows Arrow cannot measure; a column of nulls alone counts, too."""
    types = pa.types
    return bool(
        types.is_binary_view(kind)
        or types.is_string_view(kind)
        or types.is_fixed_size_binary(kind)
        or types.is_null(kind)
    )


def lengths_of(column: pa.Array) -> NDArray[np.int64]:
    """The bytes of each row, -1 for null."""
    lengths = pc.binary_length(column if _has_offsets(column.type) else as_binary(column))
    return numbers_of(lengths, null=-1)


def joined(*columns: pa.Array) -> pa.Array:
    """Row by row the bytes of all columns, one behind the other; null has none. At most 2 GiB together."""
    return pc.binary_join_element_wise(*columns, _NOTHING, null_handling="replace", null_replacement=b"")
