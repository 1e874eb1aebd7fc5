"""Control batches: the marker that ends a transaction in a partition (KIP-98).

One record, uncompressed, in a batch of the producer whose transaction it ends. Key: version 0 and whether it
is an abort (0) or a commit (1); value: version 0 and the epoch of the coordinator. Equal to Kafka's byte for
byte.
"""

from struct import Struct

from barnabas.records.batch import (
    CONTROL_MASK,
    HEADER,
    HEADER_SIZE,
    LOG_OVERHEAD,
    MAGIC_V2,
    NO_LEADER_EPOCH,
    NO_SEQUENCE,
    TRANSACTIONAL_MASK,
    Buffer,
)
from barnabas.records.builder import with_checksum

ABORT = 0
COMMIT = 1

_ATTRIBUTES = TRANSACTIONAL_MASK | CONTROL_MASK
_MARKER = Struct(">5s hh c hi c")
"""The whole record. Its length is 16, key and value have 4 and 6 bytes (as varints 32, 8 and 12); attributes,
deltas and the count of headers are zero."""
_HEAD, _VALUE_LENGTH, _NO_HEADERS = b"\x20\x00\x00\x00\x08", b"\x0c", b"\x00"
_SIZE = HEADER_SIZE + _MARKER.size


def build_end_marker(
    producer_id: int,
    producer_epoch: int,
    is_commit: bool,
    coordinator_epoch: int,
    timestamp: int,
    *,
    base_offset: int = 0,
    leader_epoch: int = NO_LEADER_EPOCH,
) -> bytes:
    """The batch that commits or aborts what the producer wrote before it in the same partition."""
    kind = COMMIT if is_commit else ABORT
    record = _MARKER.pack(_HEAD, 0, kind, _VALUE_LENGTH, 0, coordinator_epoch, _NO_HEADERS)
    head = HEADER.pack(
        base_offset, _SIZE - LOG_OVERHEAD, leader_epoch, MAGIC_V2, 0, _ATTRIBUTES, 0, timestamp, timestamp,
        producer_id, producer_epoch, NO_SEQUENCE, 1,
    )  # fmt: skip
    return with_checksum(head, record)


def read_usual_marker(batch: Buffer) -> tuple[bool, int, int] | None:
    """Whether it commits, the coordinator's epoch and the timestamp of a marker built like those here.

    Returns None for every other batch, which `decode_records` can read. A marker is read on each way into a
    log, and its numbers are always at the same offsets.
    """
    if len(batch) != _SIZE:
        return None
    header = HEADER.unpack_from(batch)
    head, _, kind, value_length, _, coordinator_epoch, headers = _MARKER.unpack_from(batch, HEADER_SIZE)
    _, length, _, magic, _, attributes, _, timestamp, _, _, _, _, count = header
    if (
        (head, value_length, headers) != (_HEAD, _VALUE_LENGTH, _NO_HEADERS)
        or (length, magic, attributes, count) != (_SIZE - LOG_OVERHEAD, MAGIC_V2, _ATTRIBUTES, 1)
        or kind not in (ABORT, COMMIT)
    ):
        return None
    return kind == COMMIT, coordinator_epoch, timestamp
