"""Kafka's default partitioner over a column of keys: murmur2 of each, positive, modulo the partitions.

Keys are hashed in step, four bytes at a time; the few keys that are much longer than the others are finished
one by one.
"""

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from barnabas.spark.arrow.binary_columns import as_binary
from barnabas.spark.arrow.light_arrays import nulls_of

NO_PARTITION = -1
"""Stands for a null key: the producer chooses."""

_SEED = np.uint32(0x9747B28C)
_FACTOR = np.uint32(0x5BD1E995)
_POSITIVE = np.uint32(0x7FFFFFFF)
_MASK = 0xFFFFFFFF
_FEW = 16
"""Keys below which a step over all of them costs more than Python's own arithmetic on each."""

_Hashes = NDArray[np.uint32]


def partition_of_keys(keys: pa.Array, count: int) -> NDArray[np.int32]:
    """The partition of each key among `count`; `NO_PARTITION` for null."""
    if count <= 0:
        raise ValueError(f"a topic has at least one partition, not {count}")
    partitions = ((murmur2(keys) & _POSITIVE) % np.uint32(count)).astype(np.int32)
    if keys.null_count:
        partitions[nulls_of(keys)] = NO_PARTITION
    return partitions


def murmur2(keys: pa.Array) -> _Hashes:
    """The hash of each key as an unsigned number; of null it means nothing."""
    keys = as_binary(keys)
    count = len(keys)
    if count == 0:
        return np.empty(0, np.uint32)
    _, offset_buffer, content = keys.buffers()
    offsets = np.frombuffer(offset_buffer, np.int32, count + 1, 4 * keys.offset).astype(np.int64)
    # A column of empty keys alone may come without content; a whole word can be read at the end of a key.
    first, last = int(offsets[0]), int(offsets[-1])
    octets = b"".join((memoryview(content)[first:last], bytes(4))) if content is not None else bytes(4)
    words = np.ndarray((len(octets) - 3,), "<u4", octets, strides=(1,))
    return _finished(words, offsets[:-1] - first, np.diff(offsets))


def _finished(words: _Hashes, starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> _Hashes:
    hashes = _SEED ^ lengths.astype(np.uint32)
    whole = lengths >> 2
    with np.errstate(over="ignore"):
        _mix_whole_words(words, starts, whole, hashes)
        rest = (lengths & 3).astype(np.uint32)
        tails = words[starts + (whole << 2)] & ((np.uint32(1) << (rest << np.uint32(3))) - np.uint32(1))
        hashes = np.where(rest > 0, (hashes ^ tails) * _FACTOR, hashes)
        hashes ^= hashes >> np.uint32(13)
        hashes *= _FACTOR
        hashes ^= hashes >> np.uint32(15)
    return hashes


def _mix_whole_words(
    words: _Hashes, starts: NDArray[np.int64], whole: NDArray[np.int64], hashes: _Hashes
) -> None:
    shortest = int(whole.min())
    for step in range(shortest):
        hashes *= _FACTOR
        hashes ^= _mixed(words[starts + 4 * step])
    rows = np.flatnonzero(whole > shortest)
    step = shortest
    while len(rows) >= _FEW:
        hashes[rows] = (hashes[rows] * _FACTOR) ^ _mixed(words[starts[rows] + 4 * step])
        step += 1
        rows = rows[whole[rows] > step]
    for row in rows.tolist():
        start = int(starts[row])
        long = words[start + 4 * step : start + 4 * int(whole[row]) : 4]
        hashes[row] = _mix_alone(int(hashes[row]), _mixed(long).tolist())


def _mixed(words: _Hashes) -> _Hashes:
    mixed = words * _FACTOR
    mixed ^= mixed >> np.uint32(24)
    mixed *= _FACTOR
    return mixed


def _mix_alone(value: int, mixed: list[int]) -> int:
    factor = int(_FACTOR)
    for word in mixed:
        value = (value * factor & _MASK) ^ word
    return value
