"""Walking the batches of a Fetch's record bytes: checked, unpacked or skipped before records are read.

`scan` gives one buffer that holds the uncompressed records of every batch that counts, and where each batch
stands in it. Without compression that buffer is the fetched one itself, not a copy. Control batches, batches
of aborted transactions and batches outside the requested range are skipped, but count for `next_offset`: the
position of the reader after this fetch, past the gaps that compaction leaves at the end of a batch.

A batch that is cut short at the end of the bytes is left for the next fetch. A first batch that is cut is
corrupt: a broker sends at least one batch whole (KIP-74), and a reader that waited for the rest would never
end.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from barnabas.base.errors import KafkaError, UnsupportedForMessageFormat
from barnabas.records.batch import (
    HEADER_SIZE,
    MAGIC_OFFSET,
    MAGIC_V2,
    BatchHeader,
    Buffer,
    crc_is_valid,
    parse_header,
)
from barnabas.records.compression import NONE, decompress
from barnabas.spark.arrow.aborted_producers import AbortedProducers
from barnabas.spark.arrow.corrupt_records import CorruptRecords, location

PIECE_BYTES = 4 * 1024 * 1024
"""How much `scan_pieces` unpacks before it hands over a piece."""

_LEAST_RECORD = 7
"""Bytes of the shortest record: its length, attributes, two deltas, three counts."""
_MOST_BYTES = 2**31 - 1
"""Arrow's `binary` counts its bytes in 32 bits."""
_MOST_OFFSET = 2**63 - 2


@dataclass(frozen=True, slots=True)
class ScannedBatch:
    """The records of one batch: where they stand in the work buffer, and what turns deltas into values."""

    start: int
    end: int
    count: int
    base_offset: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    timestamp_type: int


class Scanned(NamedTuple):
    """The batches to decode; rows are those with `start_offset` <= offset < `stop_offset`."""

    work: Buffer
    batches: list[ScannedBatch]
    next_offset: int
    start_offset: int
    stop_offset: int | None


def scan(
    records: Buffer,
    *,
    aborted: Sequence[tuple[int, int]] = (),
    start_offset: int,
    stop_offset: int | None = None,
    check_crc: bool = True,
    topic: str = "",
    partition: int = -1,
) -> Scanned:
    """All batches of one Fetch at once. `aborted` holds (producer id, first offset) as the Fetch lists them.

    Topic and partition only make errors say where. Compressed data may unpack to much more than was fetched:
    `scan_pieces` bounds that.
    """
    walk = _Walk(records, aborted, start_offset, stop_offset, check_crc, (topic, partition))
    return walk.piece(_MOST_BYTES)


def scan_pieces(
    records: Buffer,
    *,
    aborted: Sequence[tuple[int, int]] = (),
    start_offset: int,
    stop_offset: int | None = None,
    check_crc: bool = True,
    topic: str = "",
    partition: int = -1,
    piece_bytes: int = PIECE_BYTES,
) -> Iterator[Scanned]:
    """Like `scan`, in pieces of little more than `piece_bytes` unpacked; at least one."""
    walk = _Walk(records, aborted, start_offset, stop_offset, check_crc, (topic, partition))
    yield walk.piece(piece_bytes)
    while not walk.is_done:
        yield walk.piece(piece_bytes)


class _Walk:
    """One pass over the batches of a fetch, which can pause between two of them."""

    def __init__(
        self,
        records: Buffer,
        aborted: Sequence[tuple[int, int]],
        start_offset: int,
        stop_offset: int | None,
        check_crc: bool,
        origin: tuple[str, int],
    ) -> None:
        self._records = memoryview(records)
        self._whole: Buffer = records
        self._aborted = AbortedProducers(aborted)
        self._start_offset = start_offset
        self._stop_offset = stop_offset
        self._check_crc = check_crc
        self._origin = origin
        self._position: int = 0
        self._next_offset: int = start_offset
        self.is_done: bool = False

    def piece(self, most: int) -> Scanned:
        """The next batches, until they have `most` bytes or there are no more."""
        taken: list[tuple[BatchHeader, int]] = []
        unpacked: dict[int, bytes] = {}
        size = 0
        while size < most:
            header = self._next_header()
            if header is None:
                self.is_done = True
                break
            position = self._position
            self._position += header.size
            self._next_offset = max(self._next_offset, header.next_offset)
            batch = self._records[position : position + header.size]
            if not self._counts(header, batch):
                continue
            if header.compression == NONE:
                size += header.size - HEADER_SIZE
            else:
                unpacked[position] = payload = self._unpack(header, batch)
                size += len(payload)
            taken.append((header, position))
        if size > _MOST_BYTES or len(self._records) > _MOST_BYTES:
            raise CorruptRecords(f"{self._location(self._start_offset)}: a fetch unpacks to {size} bytes")
        work, batches = self._laid_out(taken, unpacked)
        return Scanned(work, batches, self._next_offset, self._start_offset, self._stop_offset)

    def _next_header(self) -> BatchHeader | None:
        """The header of the next whole batch that begins before the end of the range, checked."""
        position, left = self._position, len(self._records) - self._position
        if left == 0:
            return None
        magic = self._records[position + MAGIC_OFFSET] if left > MAGIC_OFFSET else MAGIC_V2
        if left < HEADER_SIZE and magic not in (0, 1):
            self._refuse_cut_first(left)
            return None
        header = self._parsed(position, magic)
        self._check_numbers(header)
        if self._stop_offset is not None and header.base_offset >= self._stop_offset:
            # The log has nothing between here and there, so the reader stands beyond its range.
            self._next_offset = max(self._next_offset, header.base_offset)
            return None
        if header.size > left:
            self._refuse_cut_first(left)
            return None
        if self._check_crc and not crc_is_valid(self._records, position, header):
            raise CorruptRecords(
                f"{self._location(header.base_offset)}: the checksum of the batch does not match"
            )
        return header

    def _parsed(self, position: int, magic: int) -> BatchHeader:
        if magic in (0, 1):
            raise UnsupportedForMessageFormat(
                f"{self._location(self._next_offset)}: message format v{magic} is not supported, only v2 is"
            )
        try:
            return parse_header(self._records, position)
        except KafkaError as error:
            raise CorruptRecords(f"{self._location(self._next_offset)}: {error.message}") from error

    def _check_numbers(self, header: BatchHeader) -> None:
        room = header.size - HEADER_SIZE
        if not 0 <= header.base_offset <= header.last_offset <= _MOST_OFFSET:
            what = f"a batch of offsets {header.base_offset} to {header.last_offset}"
        elif header.record_count < 0:
            what = f"a batch claims {header.record_count} records"
        elif header.compression == NONE and header.record_count * _LEAST_RECORD > room:
            what = f"a batch claims {header.record_count} records in {room} bytes"
        else:
            return
        raise CorruptRecords(f"{self._location(header.base_offset)}: {what}")

    def _refuse_cut_first(self, left: int) -> None:
        if self._position == 0:
            raise CorruptRecords(
                f"{self._location(self._next_offset)}: the first batch is cut after {left} bytes"
            )

    def _counts(self, header: BatchHeader, batch: memoryview) -> bool:
        try:
            aborted = self._aborted.drops(header, batch)
        except KafkaError as error:
            raise CorruptRecords(f"{self._location(header.base_offset)}: {error.message}") from error
        return not aborted and not header.is_control and header.last_offset >= self._start_offset

    def _unpack(self, header: BatchHeader, batch: memoryview) -> bytes:
        try:
            payload = decompress(header.compression, batch[HEADER_SIZE:])
        except KafkaError as error:
            raise CorruptRecords(f"{self._location(header.base_offset)}: {error.message}") from error
        if header.record_count * _LEAST_RECORD > len(payload):
            raise CorruptRecords(
                f"{self._location(header.base_offset)}: a batch claims {header.record_count} records"
                f" in {len(payload)} bytes"
            )
        return payload

    def _laid_out(
        self, taken: list[tuple[BatchHeader, int]], unpacked: dict[int, bytes]
    ) -> tuple[Buffer, list[ScannedBatch]]:
        if not unpacked:
            return self._whole, [
                _scanned(header, position + HEADER_SIZE, position + header.size) for header, position in taken
            ]
        parts: list[Buffer] = []
        batches: list[ScannedBatch] = []
        size = 0
        for header, position in taken:
            part: Buffer | None = unpacked.get(position)
            if part is None:
                part = self._records[position + HEADER_SIZE : position + header.size]
            parts.append(part)
            batches.append(_scanned(header, size, size + len(part)))
            size += len(part)
        return (parts[0] if len(parts) == 1 else b"".join(parts)), batches

    def _location(self, offset: int) -> str:
        return location(*self._origin, offset)


def _scanned(header: BatchHeader, start: int, end: int) -> ScannedBatch:
    return ScannedBatch(
        start, end, header.record_count, header.base_offset, header.last_offset_delta,
        header.base_timestamp, header.max_timestamp, header.timestamp_type,
    )  # fmt: skip
