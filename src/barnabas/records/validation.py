"""What a leader checks in produced bytes, and changes in them, before they are stored (Kafka's LogValidator).

A produced partition holds exactly one batch of format v2. Usually its header and CRC are all that is looked
at, and the bytes go to the log as they came; offsets and leader epoch lie outside the CRC and are the log's
to write. A batch is unpacked only when it must be: for another codec, for the keys of a compacted topic, and
to name the records whose timestamps are out of bounds.

Deviations from Apache Kafka 4.3, which walks through every record of every batch:

- records that go through untouched are not decoded; the header's timestamps and count are believed, and a
  producer that packs nonsense under a valid CRC hands it to its own consumers;
- a batch longer than its buffer is a corrupt message, where Kafka sees no batch at all (INVALID_RECORD), and
  anything behind the batch is INVALID_RECORD, where Kafka drops a partial second batch;
- a transactional batch without a producer id is INVALID_RECORD, where Kafka stores it in no transaction;
- a codec id that does not exist is UNSUPPORTED_COMPRESSION_TYPE, where Kafka has an unknown server error;
- a batch may unpack to `unpacked_limit` bytes at most (MESSAGE_TOO_LARGE).
"""

from dataclasses import dataclass, field

from crc32c import crc32c

from barnabas.base.errors import (
    CorruptMessage,
    InvalidRecord,
    InvalidTimestamp,
    KafkaError,
    MessageTooLarge,
    UnsupportedCompressionType,
)
from barnabas.records.batch import (
    ATTRIBUTES_OFFSET,
    CODEC_MASK,
    CONTROL_MASK,
    HEADER,
    HEADER_SIZE,
    LOG_OVERHEAD,
    MAGIC_V2,
    MINIMUM_LENGTH,
    NO_PRODUCER_ID,
    NO_TIMESTAMP,
    TIMESTAMP_TYPE_MASK,
    TRANSACTIONAL_MASK,
    BatchHeader,
    Buffer,
)
from barnabas.records.builder import assemble, encode_records
from barnabas.records.compression import (
    CODEC_NAMES,
    DEFAULT_LIMIT,
    GZIP,
    LZ4,
    NONE,
    ZSTD,
    compress,
    unknown_codec,
)
from barnabas.records.record import Record, decode_payload, max_timestamp_of, unpack

_MAX_INT64 = (1 << 63) - 1
_KEEP_CODEC = -1
_NOT_PLAIN = CONTROL_MASK | TRANSACTIONAL_MASK

_unpack_header = HEADER.unpack_from
_new_tuple = tuple.__new__


@dataclass(frozen=True, slots=True)
class ValidationPolicy:
    """A topic's rules for what is appended to it, with the names and defaults of its configuration."""

    compression_type: str = "producer"
    gzip_level: int | None = None
    lz4_level: int | None = None
    zstd_level: int | None = None
    timestamp_type: str = "CreateTime"
    before_max_ms: int = _MAX_INT64
    after_max_ms: int = 3_600_000
    max_message_bytes: int = 1_048_588
    compact: bool = False
    unpacked_limit: int = DEFAULT_LIMIT
    target_codec: int = field(init=False)
    uses_append_time: bool = field(init=False)
    untouched_codecs: frozenset[int] = field(init=False)
    """Codecs whose batches are stored as they came if their header is in order."""

    def __post_init__(self) -> None:
        if self.timestamp_type not in ("CreateTime", "LogAppendTime"):
            raise ValueError(f"no timestamp type: {self.timestamp_type!r}")
        target = _target_codec(self.compression_type)
        append_time = self.timestamp_type == "LogAppendTime"
        untouched = range(len(CODEC_NAMES)) if target == _KEEP_CODEC else (target,)
        object.__setattr__(self, "target_codec", target)
        object.__setattr__(self, "uses_append_time", append_time)
        object.__setattr__(
            self, "untouched_codecs", frozenset() if append_time or self.compact else frozenset(untouched)
        )

    def level_of(self, codec: int) -> int | None:
        return {GZIP: self.gzip_level, LZ4: self.lz4_level, ZSTD: self.zstd_level}.get(codec)


@dataclass(slots=True)
class ValidatedRecords:
    """Bytes fit to be stored once base offset and leader epoch are written into them."""

    batches: list[BatchHeader]
    buffer: Buffer
    record_count: int
    max_timestamp: int
    offset_of_max_timestamp: int
    """Relative to the base offset. Like Kafka's time index, that of the batch's last record."""
    log_append_time: int


class RejectedRecords(KafkaError):
    """A batch refused for some of its records; `record_errors` are (index in the batch, reason)."""

    def __init__(self, message: str, record_errors: list[tuple[int, str]]) -> None:
        super().__init__(message)
        self.record_errors: list[tuple[int, str]] = record_errors


class InvalidRecords(RejectedRecords, InvalidRecord):
    """INVALID_RECORD with the records concerned."""

    code = InvalidRecord.code


class InvalidTimestamps(RejectedRecords, InvalidTimestamp):
    """INVALID_TIMESTAMP with the records concerned."""

    code = InvalidTimestamp.code


def validate_produced(
    records: Buffer,
    policy: ValidationPolicy,
    now_ms: int,
    *,
    from_client: bool = True,
    allow_zstd: bool = True,
) -> ValidatedRecords:
    """Check one partition's produced bytes and bring them into the form that the topic asks for.

    `from_client` is False for what the broker itself appends (transaction markers, group state); `allow_zstd`
    is False for Produce before v7, whose readers may not know the codec. Raises a `KafkaError`, and then
    nothing of `records` may be stored. On the usual path the result's buffer is `records` itself.
    """
    size = len(records)
    if size < HEADER_SIZE:
        raise _no_batch(records)
    header = _new_tuple(BatchHeader, _unpack_header(records))
    base, length, _, magic, crc, attributes, last_delta, base_time, max_time, pid, _, sequence, count = header
    codec = attributes & CODEC_MASK
    if magic != MAGIC_V2 or length + LOG_OVERHEAD != size or (codec == ZSTD and not allow_zstd):
        raise _bad_framing(header, size)
    if size > policy.max_message_bytes:
        raise _too_large(size, policy)
    if crc32c(memoryview(records)[ATTRIBUTES_OFFSET:]) != crc:
        raise CorruptMessage(f"the batch's CRC is not the stated {crc}")
    if from_client and (
        count <= 0
        or last_delta != count - 1
        or base
        or (attributes & _NOT_PLAIN and (attributes & CONTROL_MASK or pid <= NO_PRODUCER_ID))
        or (pid > NO_PRODUCER_ID and sequence < 0)
    ):
        raise _bad_header(header)
    if (
        (codec in policy.untouched_codecs or (not from_client and not policy.uses_append_time))
        and not attributes & TIMESTAMP_TYPE_MASK
        and max_time <= now_ms + policy.after_max_ms
        and base_time >= now_ms - policy.before_max_ms
    ):
        return ValidatedRecords([header], records, count, max_time, last_delta, -1)
    return _validate_deeply(records, header, policy, now_ms)


def _validate_deeply(
    records: Buffer, header: BatchHeader, policy: ValidationPolicy, now_ms: int
) -> ValidatedRecords:
    """The path of a batch that has to be changed, or looked into."""
    codec = header.compression
    if codec >= len(CODEC_NAMES):
        raise unknown_codec(codec)
    target = policy.target_codec
    # Markers stay uncompressed, whatever the topic says (as in Kafka).
    if target == _KEEP_CODEC or (header.is_control and codec == NONE):
        target = codec
    append_time = policy.uses_append_time
    max_timestamp = header.max_timestamp
    payload: bytes | None = None
    if target != codec or policy.compact or not append_time or header.attributes & TIMESTAMP_TYPE_MASK:
        payload = unpack(records, header, limit=policy.unpacked_limit)
        decoded = decode_payload(payload, header)
        _check_records(decoded, header, policy, now_ms)
        max_timestamp = max_timestamp_of(decoded)
        payload = _rebuilt_payload(payload, decoded, header, changed=target != codec)
    changed = header._replace(
        attributes=header.attributes & ~(CODEC_MASK | TIMESTAMP_TYPE_MASK)
        | target
        | (TIMESTAMP_TYPE_MASK if append_time else 0),
        max_timestamp=now_ms if append_time else max_timestamp,
    )
    buffer = records
    if payload is not None:
        buffer = assemble(changed, compress(target, payload, policy.level_of(target)))
        if len(buffer) > policy.max_message_bytes:
            raise _too_large(len(buffer), policy)
    elif changed != header:
        buffer = assemble(changed, memoryview(records)[HEADER_SIZE:])
    stored = _new_tuple(BatchHeader, _unpack_header(buffer))
    return ValidatedRecords(
        [stored],
        buffer,
        stored.record_count,
        stored.max_timestamp,
        stored.last_offset_delta,
        now_ms if append_time else -1,
    )


def _rebuilt_payload(
    payload: bytes, decoded: list[Record], header: BatchHeader, *, changed: bool
) -> bytes | None:
    """The records to pack anew, or None when the packed ones can stay.

    The bytes of the records themselves are kept, unless their offsets do not run from 0 without a gap.
    """
    base_offset = header.base_offset
    if all(record.offset - base_offset == index for index, record in enumerate(decoded)):
        return payload if changed else None
    return encode_records(decoded, range(len(decoded)), header.base_timestamp)


def _check_records(decoded: list[Record], header: BatchHeader, policy: ValidationPolicy, now_ms: int) -> None:
    """Raise with every record that lacks a key it needs or whose timestamp is refused."""
    keyless: dict[int, str] = {}
    if policy.compact:
        reason = "a compacted topic takes no record without a key"
        keyless = {index: reason for index, record in enumerate(decoded) if record.key is None}
    untimely = _timestamp_errors(decoded, header, policy, now_ms)
    # As in Kafka: a missing key hides the record's timestamp, another record's timestamp decides the code.
    if untimely.keys() - keyless.keys():
        errors = sorted((untimely | keyless).items())
        raise InvalidTimestamps("one or more records have an invalid timestamp", errors)
    if keyless:
        errors = list(keyless.items())
        raise InvalidRecords(f"{len(keyless)} of {len(decoded)} records have no key", errors)


def _timestamp_errors(
    decoded: list[Record], header: BatchHeader, policy: ValidationPolicy, now_ms: int
) -> dict[int, str]:
    claims_append_time = header.attributes & TIMESTAMP_TYPE_MASK != 0
    refused = "LogAppendTime is not a producer's to set"
    if policy.uses_append_time:
        return dict.fromkeys(range(len(decoded)), refused) if claims_append_time else {}
    earliest, latest = now_ms - policy.before_max_ms, now_ms + policy.after_max_ms
    errors: dict[int, str] = {}
    for index, record in enumerate(decoded):
        timestamp = record.timestamp
        if timestamp == NO_TIMESTAMP:
            if claims_append_time:
                errors[index] = refused
        elif not earliest <= timestamp <= latest:
            errors[index] = f"timestamp {timestamp} is not within [{earliest}, {latest}]"
    return errors


def _target_codec(compression_type: str) -> int:
    if compression_type == "producer":
        return _KEEP_CODEC
    if compression_type == "uncompressed":
        return NONE
    return CODEC_NAMES.index(compression_type)


def _no_batch(records: Buffer) -> KafkaError:
    if not records:
        return InvalidRecord("a partition was sent without a record batch")
    return CorruptMessage(f"{len(records)} bytes are no record batch")


def _bad_framing(header: BatchHeader, size: int) -> KafkaError:
    if header.magic in (0, 1):
        return InvalidRecord(f"message format v{header.magic} was sent, only v2 is accepted")
    if header.magic != MAGIC_V2:
        return CorruptMessage(f"no record batch: magic {header.magic}")
    if header.batch_length < MINIMUM_LENGTH or header.size > size:
        return CorruptMessage(f"a batch states {header.size} bytes where {size} were sent")
    if header.size == size:
        return UnsupportedCompressionType("zstd needs Produce v7 or later")
    return InvalidRecord(f"{size - header.size} bytes follow the one batch that a partition may be sent")


def _bad_header(header: BatchHeader) -> InvalidRecord:
    if header.record_count <= 0 or header.last_offset_delta != header.record_count - 1:
        return InvalidRecord(
            f"a batch of {header.record_count} records cannot end at offset delta {header.last_offset_delta}"
        )
    if header.base_offset:
        return InvalidRecord(f"the base offset of a produced batch is 0, not {header.base_offset}")
    if header.is_control:
        return InvalidRecord("control records are not a client's to write")
    if header.is_transactional and not header.has_producer_id:
        return InvalidRecord("a transactional batch has a producer id")
    return InvalidRecord(f"producer {header.producer_id} sent sequence {header.base_sequence}")


def _too_large(size: int, policy: ValidationPolicy) -> MessageTooLarge:
    return MessageTooLarge(f"a batch of {size} bytes exceeds the topic's {policy.max_message_bytes}")
