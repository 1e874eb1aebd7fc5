"""Encoding: Arrow columns as record batches, as a producer sends them.

The varints around keys and values are computed for all rows of a batch together, and one join of Arrow lays
everything into one buffer: that buffer is the records. Bytes equal those of `records.builder` for the same
rows. Head and body of a batch stay apart, so that sending copies nothing.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
from crc32c import crc32c
from numpy.typing import NDArray

from barnabas.records.batch import (
    ATTRIBUTES_OFFSET,
    HEADER,
    HEADER_SIZE,
    LOG_OVERHEAD,
    MAGIC_V2,
    NO_LEADER_EPOCH,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    TRANSACTIONAL_MASK,
    BatchHeader,
    Buffer,
)
from barnabas.records.compression import NONE, compress
from barnabas.spark.arrow.binary_columns import as_binary, joined, lengths_of
from barnabas.spark.arrow.header_bytes import HeaderBytes, encoded_headers
from barnabas.spark.arrow.light_arrays import bytes_scalar
from barnabas.spark.arrow.varint_bytes import Varints, packed, size_of

DEFAULT_BATCH_BYTES = 1_000_000
"""A little below the 1 MiB that a topic takes by default."""

Numbers: TypeAlias = NDArray[np.int64]

_SEQUENCES = 1 << 31
_ATTRIBUTES = 0
_TOGETHER = 1 << 20
"""Bytes that are encoded in one go: small batches share the fixed cost, and large ones stay in the caches."""
_NO_HEADERS = bytes_scalar(b"\x00")


class RowColumns(NamedTuple):
    """The rows to write. Keys and values are binary or string of any variant; None means null throughout.

    Timestamps are milliseconds, one a row or one for all.
    """

    key: pa.Array | None
    value: pa.Array
    headers: pa.Array | None
    timestamp_ms: Numbers | int


@dataclass(frozen=True, slots=True)
class EncodedBatch:
    """One batch: its 61 bytes of header, its records as stored, how many, and the sequence of the first."""

    head: bytes
    body: Buffer
    count: int
    base_sequence: int

    @property
    def size(self) -> int:
        """Bytes of the whole batch."""
        return len(self.head) + len(self.body)


class Span(NamedTuple):
    """The rows of one batch."""

    first: int
    after: int


class Producing(NamedTuple):
    """What the producer states in each header."""

    codec: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    is_transactional: bool
    level: int | None

    def sequence_after(self, records: int) -> int:
        """Sequences wrap from 2**31 - 1 to 0."""
        return NO_SEQUENCE if self.base_sequence < 0 else (self.base_sequence + records) % _SEQUENCES


def encode(
    columns: RowColumns,
    *,
    codec: int = NONE,
    producer_id: int = NO_PRODUCER_ID,
    producer_epoch: int = NO_PRODUCER_EPOCH,
    base_sequence: int = NO_SEQUENCE,
    is_transactional: bool = False,
    batch_bytes: int = DEFAULT_BATCH_BYTES,
    level: int | None = None,
) -> list[EncodedBatch]:
    """All rows as batches of at most `batch_bytes` before compression; a longer row has a batch to itself."""
    producing = Producing(codec, producer_id, producer_epoch, base_sequence, is_transactional, level)
    rows = _Rows(columns)
    batches: list[EncodedBatch] = []
    for spans in rows.groups(batch_bytes - HEADER_SIZE):
        content, positions = _records(rows, spans)
        batches += (
            _encoded(rows, span, content[start:end], producing)
            for span, (start, end) in zip(spans, pairwise(positions), strict=True)
        )
    return batches


class _Rows:
    """The columns with the sizes of their rows."""

    def __init__(self, columns: RowColumns) -> None:
        self.count: int = len(columns.value)
        self.keys: pa.Array | None = columns.key
        self.values: pa.Array = columns.value
        self.key_lengths: Numbers = (
            np.full(self.count, -1, np.int64) if columns.key is None else lengths_of(columns.key)
        )
        self.value_lengths: Numbers = lengths_of(columns.value)
        self.headers: HeaderBytes | None = (
            None if columns.headers is None else encoded_headers(columns.headers)
        )
        self.timestamps: Numbers = _times(columns.timestamp_ms, self.count)
        lengths = {len(self.key_lengths), self.count, len(self.timestamps)}
        if len(lengths) > 1 or (columns.headers is not None and len(columns.headers) != self.count):
            raise ValueError("the columns of the rows have different lengths")

    def groups(self, most: int) -> Iterator[list[Span]]:
        """Neighbouring spans that are encoded together, as far as caches are glad of it."""
        group: list[Span] = []
        size = 0
        for span, bytes_of_span in self._spans(most):
            if group and size + bytes_of_span > _TOGETHER:
                yield group
                group, size = [], 0
            group.append(span)
            size += bytes_of_span
        if group:
            yield group

    def _spans(self, most: int) -> Iterator[tuple[Span, int]]:
        """Rows whose records surely fit in `most` bytes together, and a bound for these bytes."""
        if self.count == 0:
            return
        ends = np.cumsum(self._sizes())
        first, before = 0, 0
        while first < self.count:
            after = max(first + 1, int(np.searchsorted(ends, before + most, "right")))
            end = int(ends[after - 1])
            yield Span(first, after), end - before
            first, before = after, end

    def _sizes(self) -> Numbers:
        """For each row no less bytes than its record will have."""
        sizes = np.maximum(self.key_lengths, 0) + np.maximum(self.value_lengths, 0)
        # Sums, unlike the numbers themselves, are of Python: the span of all times may need 65 bits.
        time_span = int(self.timestamps.max()) - int(self.timestamps.min())
        overhead = 1 + size_of(min(time_span, 2**63 - 1)) + size_of(self.count)
        overhead += size_of(int(self.key_lengths.max())) + size_of(int(self.value_lengths.max()))
        if self.headers is None:
            overhead += 1
        else:
            sizes += self.headers.sizes
            overhead += size_of(int(self.headers.counts.max()))
        return sizes + (overhead + size_of(int(sizes.max()) + overhead))


def _times(timestamps: Numbers | int, count: int) -> Numbers:
    times = np.asarray(timestamps, np.int64)
    return times if times.ndim else np.full(count, times, np.int64)


def _encoded(rows: _Rows, span: Span, records: memoryview, producing: Producing) -> EncodedBatch:
    times = rows.timestamps[span.first : span.after]
    body: Buffer = records if producing.codec == NONE else compress(producing.codec, records, producing.level)
    count = span.after - span.first
    sequence = producing.sequence_after(span.first)
    header = BatchHeader(
        0, HEADER_SIZE - LOG_OVERHEAD + len(body), NO_LEADER_EPOCH, MAGIC_V2, 0,
        producing.codec | (TRANSACTIONAL_MASK if producing.is_transactional else 0), count - 1,
        int(times[0]), int(times.max()), producing.producer_id, producing.producer_epoch, sequence, count,
    )  # fmt: skip
    checksum = crc32c(body, crc32c(HEADER.pack(*header)[ATTRIBUTES_OFFSET:]))
    return EncodedBatch(HEADER.pack(*header._replace(crc=checksum)), body, count, sequence)


def _records(rows: _Rows, spans: list[Span]) -> tuple[memoryview, list[int]]:
    """The uncompressed records of these spans, and where each begins; the last position is the end."""
    first, after = spans[0].first, spans[-1].after
    here, count = slice(first, after), after - first
    firsts = np.array([span.first for span in spans], np.int64)
    counts = [span.after - span.first for span in spans]
    key_lengths, value_lengths = rows.key_lengths[here], rows.value_lengths[here]
    times = Varints(rows.timestamps[here] - np.repeat(rows.timestamps[firsts], counts))
    offsets = Varints(np.arange(first, after) - np.repeat(firsts, counts))
    keys, values = Varints(key_lengths), Varints(value_lengths)
    lengths = (times.sizes + offsets.sizes + keys.sizes + values.sizes + np.uint8(1)).astype(np.int64)
    lengths += np.maximum(key_lengths, 0)
    lengths += np.maximum(value_lengths, 0)
    headers: list[pa.Array | pa.Scalar] = [_NO_HEADERS]
    if rows.headers is None:
        lengths += 1
    else:
        header_counts = Varints(rows.headers.counts[here])
        lengths += header_counts.sizes
        lengths += rows.headers.sizes[here]
        headers = [packed([header_counts]), rows.headers.encoded.slice(first, count)]
    column = joined(
        packed([Varints(lengths), _ATTRIBUTES, times, offsets, keys]),
        *([] if rows.keys is None else [as_binary(rows.keys.slice(first, count))]),
        packed([values]),
        as_binary(rows.values.slice(first, count)),
        *headers,
    )
    positions = np.frombuffer(column.buffers()[1], np.int32)[column.offset :]
    return memoryview(column.buffers()[2]), positions[np.append(firsts - first, count)].tolist()
