"""Slices of a buffer as an Arrow column of bytes.

Two lists of positions alternate in one array of offsets over the buffer (slice, gap, slice, gap, ...), which
Arrow takes as a binary array without a copy; `take` then copies the slices alone into a column of their own,
in C++. Slices are in order and do not overlap.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from barnabas.records.batch import Buffer
from barnabas.spark.arrow.light_arrays import no_bytes, number_array
from barnabas.spark.arrow.varints import Positions


def gathered(work: Buffer, starts: Positions, ends: Positions, nulls: NDArray[np.bool_]) -> pa.Array:
    """A `binary` column of `work[start:end]`, null where `nulls` says so."""
    count = len(starts)
    if count == 0:
        return no_bytes()
    offsets = np.empty(2 * count, np.int32)
    offsets[0::2] = starts
    offsets[1::2] = ends
    slices = pa.Array.from_buffers(
        pa.binary(), 2 * count - 1, [None, pa.py_buffer(offsets), pa.py_buffer(work)]
    )
    rows = np.arange(0, 2 * count, 2, dtype=np.int32)
    return pc.take(slices, number_array(rows, nulls), boundscheck=False)
