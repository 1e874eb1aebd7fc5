"""A batch with some of its records, or with none.

What stays: base offset, last offset (and with it the producer's last sequence), producer, leader epoch,
codec, timestamp type. A batch that gets its first delete horizon (KIP-534) has it instead of the base
timestamp, and bit 6 of the attributes says so.
"""

from barnabas.base.errors import InvalidRecord
from barnabas.records.batch import (
    CODEC_MASK,
    DELETE_HORIZON_MASK,
    NO_TIMESTAMP,
    TIMESTAMP_TYPE_MASK,
    BatchHeader,
    Buffer,
)
from barnabas.records.builder import assemble
from barnabas.records.compression import compress
from barnabas.records.record import unpack
from barnabas.storage.cleaning.record_walk import (
    keep_records,
    rebase_timestamps,
    timestamp_deltas,
)


def filter_batch(
    batch: Buffer, header: BatchHeader, kept: bytearray | None, horizon_ms: int | None
) -> tuple[BatchHeader, bytes]:
    """The batch with the records that `kept` marks (None: all), and its header.

    `horizon_ms` is set where it is to get a delete horizon.
    """
    payload = unpack(batch, header)
    count = header.record_count
    try:
        if kept is not None:
            payload, last_at = keep_records(payload, kept)
            count = kept.count(1)
            max_timestamp = _max_timestamp(payload, count, last_at, header)
            header = header._replace(record_count=count, max_timestamp=max_timestamp)
        if horizon_ms is not None:
            payload = rebase_timestamps(payload, count, horizon_ms - header.base_timestamp)
            attributes = header.attributes | DELETE_HORIZON_MASK
            header = header._replace(attributes=attributes, base_timestamp=horizon_ms)
    except IndexError:
        raise InvalidRecord("a record runs off the end of its batch") from None
    data = assemble(header, compress(header.compression, payload))
    return header, data


def _max_timestamp(payload: bytes, count: int, last_at: int, header: BatchHeader) -> int:
    """The largest timestamp of the records; the last one mostly has it, and looking there is cheap."""
    if header.attributes & TIMESTAMP_TYPE_MASK:
        return header.max_timestamp
    if header.base_timestamp + timestamp_deltas(payload, 1, last_at)[0] == header.max_timestamp:
        return header.max_timestamp
    return header.base_timestamp + max(timestamp_deltas(payload, count))


def empty_batch(header: BatchHeader) -> tuple[BatchHeader, bytes]:
    """The header alone: where a producer's last sequence, or the end of the clean part, must not be lost."""
    header = header._replace(
        attributes=header.attributes & ~(CODEC_MASK | DELETE_HORIZON_MASK),
        base_timestamp=NO_TIMESTAMP,
        record_count=0,
    )
    return header, assemble(header, b"")
