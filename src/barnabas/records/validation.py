"""What a leader checks in produced bytes, and changes in them, before they are stored (Kafka's LogValidator).

A produced partition holds exactly one batch of format v2. Usually its header and CRC are all that is looked
at, and the bytes go to the log as they came; offsets and leader epoch lie outside the CRC and are the log's
to write. A batch is unpacked only when it must be (`deep_validation`): for another codec, for the keys of a
compacted topic, and when its header cannot be believed.

A header is believed if its max timestamp is not before its base timestamp, both are later than 1970, and
neither is out of the topic's bounds or more than an hour ahead of the clock; its record count if so many
records could be in so many bytes (compressed ones, 32 to 1). Clients that send other headers
exist: librdkafka states base -1 and max 0 for records without timestamps, Sarama always max -1. Then the
records decide, as in Kafka: the max timestamp becomes theirs.

Deviations from Apache Kafka 4.3, which walks through every record of every batch:

- records that go through untouched are not decoded; a producer that packs nonsense under a valid CRC hands
  it to its own consumers. A max timestamp that is wrong and could be right is stored; retention looks at the
  records before it deletes by it (`storage.timestamp_check`);
- a batch longer than its buffer is a corrupt message, where Kafka sees no batch at all (INVALID_RECORD), and
  anything behind the batch is INVALID_RECORD, where Kafka drops a partial second batch;
- a transactional batch without a producer id is INVALID_RECORD, where Kafka stores it in no transaction;
- a codec id that does not exist is UNSUPPORTED_COMPRESSION_TYPE, where Kafka has an unknown server error;
- a batch may unpack to `unpacked_limit` bytes at most (MESSAGE_TOO_LARGE).
"""

from crc32c import crc32c

from barnabas.base.errors import (
    CorruptMessage,
    InvalidRecord,
    KafkaError,
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
    TIMESTAMP_TYPE_MASK,
    TRANSACTIONAL_MASK,
    BatchHeader,
    Buffer,
)
from barnabas.records.compression import CODEC_NAMES, ZSTD
from barnabas.records.deep_validation import (
    DeepValidation,
    UnpackingDeferred,
    ValidatedRecords,
    changed_batch,
    too_large,
)
from barnabas.records.validation_policy import KEEP_CODEC, ValidationPolicy

_NOT_PLAIN = CONTROL_MASK | TRANSACTIONAL_MASK

_LEAST_RECORD = 7
"""Length, attributes, timestamp, offset, key, value and headers: a byte each."""
_MOST_RECORDS_PER_BYTE = (1 / _LEAST_RECORD, *[32 / _LEAST_RECORD] * 4)
"""By codec. No batch without compression has more; one that is compressed and has is looked into."""

_unpack_header = HEADER.unpack_from
_new_tuple = tuple.__new__


def validate_produced(
    records: Buffer,
    policy: ValidationPolicy,
    now_ms: int,
    *,
    from_client: bool = True,
    allow_zstd: bool = True,
    may_defer: bool = False,
) -> ValidatedRecords:
    """Check one partition's produced bytes and bring them into the form that the topic requires.

    `from_client` is False for what the broker itself appends (transaction markers, group state); `allow_zstd`
    is False for Produce before v7, whose readers may not know the codec. With `may_defer` a large batch that
    must be unpacked raises `UnpackingDeferred`. Raises a `KafkaError`, and then nothing of `records` may be
    stored. On the usual path the result's buffer is `records` itself.
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
        raise too_large(size, policy)
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
    if from_client:
        if (
            codec in policy.untouched_codecs
            and not attributes & TIMESTAMP_TYPE_MASK
            and 0 < base_time <= max_time <= now_ms + policy.believed_ahead_ms
            and base_time >= now_ms - policy.before_max_ms
            and count <= (size - HEADER_SIZE) * _MOST_RECORDS_PER_BYTE[codec]
        ):
            return ValidatedRecords([header], records, count, max_time, last_delta, -1)
    elif not policy.uses_append_time and not attributes & TIMESTAMP_TYPE_MASK:
        return ValidatedRecords([header], records, count, max_time, last_delta, -1)
    if _is_only_stamped(header, policy):
        return changed_batch(records, None, header, policy, codec, max_time, now_ms)
    deep = DeepValidation(records, header, policy, now_ms)
    if not may_defer:
        return deep.run(now_ms)
    validated = deep.run_if_small(now_ms)
    if validated is None:
        raise UnpackingDeferred(deep)
    return validated


def _is_only_stamped(header: BatchHeader, policy: ValidationPolicy) -> bool:
    """Whether the header gets the time of the append, and the records stay unread."""
    codec = header.compression
    return (
        policy.uses_append_time
        and not policy.compact
        and not header.attributes & TIMESTAMP_TYPE_MASK
        and codec < len(CODEC_NAMES)
        and header.record_count <= (header.size - HEADER_SIZE) * _MOST_RECORDS_PER_BYTE[codec]
        and (policy.target_codec in (KEEP_CODEC, codec) or (header.is_control and not codec))
    )


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
