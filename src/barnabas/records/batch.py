"""The fixed header of a record batch (message format v2), and its checksum.

    offset  0  int64   base offset            } outside the checksum: the leader assigns them
            8  int32   batch length           }   (bytes that follow this field)
           12  int32   partition leader epoch }
           16  int8    magic = 2
           17  uint32  CRC-32C of everything from offset 21 to the end of the batch
           21  int16   attributes: 0-2 codec, 3 timestamp type, 4 transactional, 5 control, 6 delete horizon
           23  int32   last offset delta
           27  int64   base timestamp (with bit 6: the delete horizon)
           35  int64   max timestamp
           43  int64   producer id
           51  int16   producer epoch
           53  int32   base sequence
           57  int32   record count
           61  records, compressed as a whole by the codec of the attributes

Nothing here looks past the header, and nothing here copies a batch: buffers may be bytes, bytearray or
memoryview. Bytes that are no batch raise `CorruptMessage`; the formats v0 and v1, which Kafka 4 no longer
writes, raise `UnsupportedForMessageFormat`, so that an old log is not taken for a damaged one.
"""

from collections.abc import Iterator
from struct import Struct
from typing import NamedTuple, TypeAlias

from crc32c import crc32c

from barnabas.base.errors import CorruptMessage, UnsupportedForMessageFormat

Buffer: TypeAlias = bytes | bytearray | memoryview

HEADER = Struct(">qiibIhiqqqhii")
HEADER_SIZE = HEADER.size
LOG_OVERHEAD = 12
"""Base offset and length: what stands before the bytes that the length counts."""
MINIMUM_LENGTH = HEADER_SIZE - LOG_OVERHEAD
MAGIC_V2 = 2

LENGTH_OFFSET = 8
LEADER_EPOCH_OFFSET = 12
MAGIC_OFFSET = 16
CRC_OFFSET = 17
ATTRIBUTES_OFFSET = 21
MAX_TIMESTAMP_OFFSET = 35

CODEC_MASK = 0x07
TIMESTAMP_TYPE_MASK = 0x08
TRANSACTIONAL_MASK = 0x10
CONTROL_MASK = 0x20
DELETE_HORIZON_MASK = 0x40

CREATE_TIME = 0
LOG_APPEND_TIME = 1

NO_TIMESTAMP = -1
NO_PRODUCER_ID = -1
NO_PRODUCER_EPOCH = -1
NO_SEQUENCE = -1
NO_LEADER_EPOCH = -1

_SEQUENCES = 1 << 31
_new_tuple = tuple.__new__


class BatchHeader(NamedTuple):
    """The 61 bytes in front of a batch's records, in their order on the wire."""

    base_offset: int
    batch_length: int
    partition_leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int

    @property
    def size(self) -> int:
        """Bytes of the whole batch, header included."""
        return self.batch_length + LOG_OVERHEAD

    @property
    def last_offset(self) -> int:
        return self.base_offset + self.last_offset_delta

    @property
    def next_offset(self) -> int:
        return self.base_offset + self.last_offset_delta + 1

    @property
    def compression(self) -> int:
        return self.attributes & CODEC_MASK

    @property
    def timestamp_type(self) -> int:
        return LOG_APPEND_TIME if self.attributes & TIMESTAMP_TYPE_MASK else CREATE_TIME

    @property
    def is_transactional(self) -> bool:
        return self.attributes & TRANSACTIONAL_MASK != 0

    @property
    def is_control(self) -> bool:
        return self.attributes & CONTROL_MASK != 0

    @property
    def has_delete_horizon(self) -> bool:
        return self.attributes & DELETE_HORIZON_MASK != 0

    @property
    def has_producer_id(self) -> bool:
        return self.producer_id > NO_PRODUCER_ID

    @property
    def last_sequence(self) -> int:
        """Sequence of the last record; sequences wrap from 2**31 - 1 to 0."""
        if self.base_sequence == NO_SEQUENCE:
            return NO_SEQUENCE
        last = self.base_sequence + self.last_offset_delta
        return last if last < _SEQUENCES else last - _SEQUENCES


def parse_header(buffer: Buffer, position: int = 0) -> BatchHeader:
    """Read the header at `position`. The batch's own bytes need not all be there."""
    if position < 0 or len(buffer) - position < HEADER_SIZE:
        raise torn_header(buffer, position)
    header = _new_tuple(BatchHeader, HEADER.unpack_from(buffer, position))
    if header[3] != MAGIC_V2 or header[1] < MINIMUM_LENGTH:
        raise unreadable_header(header)
    return header


def iter_headers(buffer: Buffer, *, allow_partial: bool = False) -> Iterator[tuple[int, BatchHeader]]:
    """Walk the batches of `buffer` as (position, header).

    A batch that is cut short at the end raises `CorruptMessage`, or with `allow_partial` ends the walk, as in
    a fetched range that the sender did not align.
    """
    position, end = 0, len(buffer)
    while position < end:
        if allow_partial and end - position < HEADER_SIZE:
            return
        header = parse_header(buffer, position)
        following = position + header.size
        if following > end:
            if allow_partial:
                return
            raise CorruptMessage(f"a batch of {header.size} bytes is cut after {end - position}")
        yield position, header
        position = following


def compute_crc(buffer: Buffer, position: int, size: int) -> int:
    """CRC-32C of the batch of `size` bytes at `position`, as its header should state it."""
    with memoryview(buffer) as view:
        return crc32c(view[position + ATTRIBUTES_OFFSET : position + size])


def crc_is_valid(buffer: Buffer, position: int, header: BatchHeader) -> bool:
    """Whether the whole batch that `header` announces is at `position` and is unharmed."""
    size = header.batch_length + LOG_OVERHEAD
    return position + size <= len(buffer) and compute_crc(buffer, position, size) == header.crc


def torn_header(buffer: Buffer, position: int) -> CorruptMessage:
    """The error for a buffer that ends inside a header."""
    left = max(0, len(buffer) - position)
    return CorruptMessage(f"{left} bytes are too few for a batch header of {HEADER_SIZE}")


def unreadable_header(header: BatchHeader) -> CorruptMessage | UnsupportedForMessageFormat:
    """The error for a header whose magic or length cannot be a v2 batch's."""
    if header.magic in (0, 1):
        return UnsupportedForMessageFormat(f"message format v{header.magic} is not supported, only v2 is")
    if header.magic != MAGIC_V2:
        return CorruptMessage(f"no record batch: magic {header.magic}")
    return CorruptMessage(f"batch length {header.batch_length} is less than the least, {MINIMUM_LENGTH}")
