"""Control batches: the marker that ends a transaction in a partition (KIP-98).

One record, uncompressed, in a batch of the producer whose transaction it ends. Key: version 0 and whether it
is an abort (0) or a commit (1); value: version 0 and the epoch of the coordinator. Equal to Kafka's byte for
byte.
"""

from struct import Struct

from barnabas.records.batch import (
    CONTROL_MASK,
    MAGIC_V2,
    NO_LEADER_EPOCH,
    NO_SEQUENCE,
    TRANSACTIONAL_MASK,
    BatchHeader,
)
from barnabas.records.builder import assemble

ABORT = 0
COMMIT = 1

_ATTRIBUTES = TRANSACTIONAL_MASK | CONTROL_MASK
_MARKER = Struct(">5s hh c hi c")
"""The whole record. Its length is 16, key and value have 4 and 6 bytes (as varints 32, 8 and 12); attributes,
deltas and the count of headers are zero."""
_HEAD, _VALUE_LENGTH, _NO_HEADERS = b"\x20\x00\x00\x00\x08", b"\x0c", b"\x00"


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
    header = BatchHeader(
        base_offset, 0, leader_epoch, MAGIC_V2, 0, _ATTRIBUTES, 0, timestamp, timestamp,
        producer_id, producer_epoch, NO_SEQUENCE, 1,
    )  # fmt: skip
    return assemble(header, record)
