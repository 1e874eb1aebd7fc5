"""Encoding a column of headers: for each row the bytes that stand behind its value.

The headers of all rows are one flat column in Arrow. Each becomes its bytes in one join; those of a row are
then neighbours, so a row's headers are a slice of the result.
"""

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from barnabas.spark.arrow.binary_columns import as_binary, joined, lengths_of
from barnabas.spark.arrow.light_arrays import numbers_of
from barnabas.spark.arrow.varint_bytes import Varints, packed


class HeaderBytes(NamedTuple):
    """How many headers each row has, the bytes of these, and how many bytes that are."""

    counts: NDArray[np.int64]
    encoded: pa.Array
    sizes: NDArray[np.int64]


def encoded_headers(headers: pa.Array) -> HeaderBytes | None:
    """The bytes of `list<struct<key, value>>`; None if no row has any. A null list is an empty one."""
    counts = numbers_of(pc.list_value_length(headers))
    pairs = headers.flatten()
    if len(pairs) == 0:
        return None
    keys, values = (as_binary(column) for column in pairs.flatten())
    if pairs.null_count or keys.null_count:
        raise ValueError("a header has no key")
    content = joined(packed([Varints(lengths_of(keys))]), keys, packed([Varints(lengths_of(values))]), values)
    starts = np.frombuffer(content.buffers()[1], np.int32, len(pairs) + 1, 4 * content.offset)
    offsets = starts[np.concatenate((np.zeros(1, np.int64), np.cumsum(counts)))]
    encoded = pa.Array.from_buffers(
        pa.binary(), len(headers), [None, pa.py_buffer(offsets), content.buffers()[2]]
    )
    return HeaderBytes(counts, encoded, np.diff(offsets).astype(np.int64))
