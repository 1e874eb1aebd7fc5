import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies.records import CODECS, record_lists

from barnabas.base.errors import (
    CorruptMessage,
    ErrorCode,
    InvalidRecord,
    InvalidTimestamp,
    KafkaError,
    MessageTooLarge,
    UnsupportedCompressionType,
    error_of,
)
from barnabas.records.batch import HEADER_SIZE, LOG_APPEND_TIME, crc_is_valid, parse_header
from barnabas.records.builder import assemble, build_batch, encode_records
from barnabas.records.compression import CODEC_NAMES, GZIP, NONE, SNAPPY, ZSTD, compress
from barnabas.records.control import build_end_marker
from barnabas.records.deep_validation import DeepValidation, UnpackingDeferred
from barnabas.records.record import Record, decode_records
from barnabas.records.record_scan import RecordScan
from barnabas.records.rejected_records import RejectedRecords
from barnabas.records.validation import validate_produced
from barnabas.records.validation_policy import ValidationPolicy

NOW = 1_700_000_000_000
HOUR = 3_600_000
RECORDS = [Record(0, NOW - 5, b"k", b"v" * 50, (("h", b"x"),)), Record(1, NOW, None, b"w" * 50)]
BATCH = build_batch(RECORDS, producer_id=3, producer_epoch=1, base_sequence=8)
POLICY = ValidationPolicy()


def _changed(batch: bytes = BATCH, **changes: int) -> bytes:
    """The batch with other header fields under a right CRC and length."""
    return assemble(parse_header(batch)._replace(**changes), batch[HEADER_SIZE:])


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_a_sound_batch_goes_through_untouched(codec: int, kind: type) -> None:
    batch = kind(build_batch(RECORDS, compression=codec))
    validated = validate_produced(batch, POLICY, NOW)
    assert validated.buffer is batch
    assert validated.batches == [parse_header(batch)]
    assert (validated.record_count, validated.max_timestamp, validated.log_append_time) == (2, NOW, -1)
    assert validated.offset_of_max_timestamp == 1


def test_base_offset_of_a_client_has_to_be_zero() -> None:
    with pytest.raises(InvalidRecord, match="base offset"):
        validate_produced(build_batch(RECORDS, base_offset=1), POLICY, NOW)
    validate_produced(build_batch(RECORDS, base_offset=1), POLICY, NOW, from_client=False)


@pytest.mark.parametrize("codec", CODECS)
def test_the_topics_own_codec_goes_through_untouched(codec: int) -> None:
    name = "uncompressed" if codec == NONE else CODEC_NAMES[codec]
    batch = build_batch(RECORDS, compression=codec)
    assert validate_produced(batch, ValidationPolicy(compression_type=name), NOW).buffer is batch


@given(st.sampled_from(CODECS), st.sampled_from(CODECS), record_lists(), st.booleans())
def test_recompression_keeps_all_but_the_codec(
    source: int, target: int, records: list[Record], append_time: bool
) -> None:
    policy = ValidationPolicy(
        compression_type="uncompressed" if target == NONE else CODEC_NAMES[target],
        timestamp_type="LogAppendTime" if append_time else "CreateTime",
        max_message_bytes=1 << 30,
        after_max_ms=1 << 60,
    )
    batch = build_batch(
        records, compression=source, producer_id=3, producer_epoch=1, base_sequence=8, transactional=True
    )
    validated = validate_produced(memoryview(batch), policy, NOW)
    (header,) = validated.batches
    before = parse_header(batch)
    assert header == parse_header(validated.buffer)
    assert crc_is_valid(validated.buffer, 0, header)
    assert header.size == len(validated.buffer)
    assert header.compression == target
    assert header[9:] == before[9:]
    assert header.is_transactional
    assert header.last_offset_delta == len(records) - 1
    times = [NOW] * len(records) if append_time else [record.timestamp for record in records]
    assert validated.max_timestamp == header.max_timestamp == max(times)
    assert validated.log_append_time == (NOW if append_time else -1)
    assert decode_records(validated.buffer) == [
        record._replace(timestamp=time) for record, time in zip(records, times, strict=True)
    ]


def test_recompression_uses_the_level_of_the_topic() -> None:
    batch = build_batch([Record(0, NOW, None, bytes(range(256)) * 200 + b"abc" * 9000)])
    sizes = {
        level: len(validate_produced(batch, ValidationPolicy("gzip", gzip_level=level), NOW).buffer)
        for level in (1, 9)
    }
    assert sizes[9] < sizes[1]


def test_recompression_renumbers_inner_offsets() -> None:
    odd = build_batch([Record(4, NOW, b"a", b"1"), Record(9, NOW, b"b", b"2")], keep_offsets=True)
    odd = _changed(odd, last_offset_delta=1)
    validated = validate_produced(odd, ValidationPolicy("gzip"), NOW)
    assert [record.offset for record in decode_records(validated.buffer)] == [0, 1]


def test_log_append_time_changes_only_the_header() -> None:
    batch = build_batch(RECORDS, compression=SNAPPY)
    validated = validate_produced(batch, ValidationPolicy(timestamp_type="LogAppendTime"), NOW + 7)
    (header,) = validated.batches
    assert header.timestamp_type == LOG_APPEND_TIME
    assert validated.max_timestamp == header.max_timestamp == validated.log_append_time == NOW + 7
    assert crc_is_valid(validated.buffer, 0, header)
    assert validated.buffer[HEADER_SIZE:] == batch[HEADER_SIZE:]
    assert header._replace(attributes=0, crc=0, max_timestamp=0) == parse_header(batch)._replace(
        attributes=0, crc=0, max_timestamp=0
    )


def test_log_append_time_minds_no_bounds() -> None:
    late = build_batch([Record(0, NOW + 99 * HOUR, None, b"")])
    assert validate_produced(late, ValidationPolicy(timestamp_type="LogAppendTime"), NOW).max_timestamp == NOW


@pytest.mark.parametrize(
    ("batch", "error"),
    [
        pytest.param(b"", InvalidRecord, id="nothing"),
        pytest.param(BATCH + BATCH, InvalidRecord, id="two batches"),
        pytest.param(BATCH + b"\0", InvalidRecord, id="bytes after the batch"),
        pytest.param(BATCH[:-1], CorruptMessage, id="cut"),
        pytest.param(BATCH[:-1] + b"!", CorruptMessage, id="crc"),
        pytest.param(_changed(magic=1), InvalidRecord, id="format v1"),
        pytest.param(_changed(magic=0), InvalidRecord, id="format v0"),
        pytest.param(_changed(magic=3), CorruptMessage, id="format v3"),
        pytest.param(_changed(record_count=0), InvalidRecord, id="no records"),
        pytest.param(_changed(record_count=-2), InvalidRecord, id="negative count"),
        pytest.param(_changed(record_count=3), InvalidRecord, id="count is not the range"),
        pytest.param(_changed(last_offset_delta=-1), InvalidRecord, id="negative range"),
        pytest.param(_changed(attributes=0x20), InvalidRecord, id="control batch"),
        pytest.param(_changed(base_sequence=-1), InvalidRecord, id="producer without sequence"),
        pytest.param(_changed(attributes=5), UnsupportedCompressionType, id="codec 5"),
        pytest.param(_changed(attributes=7), UnsupportedCompressionType, id="codec 7"),
    ],
)
def test_a_bad_batch_is_refused(batch: bytes, error: type[KafkaError]) -> None:
    with pytest.raises(error) as raised:
        validate_produced(batch, POLICY, NOW)
    assert error_of(raised.value)[0] == error.code


def test_every_truncation_is_refused() -> None:
    for cut in range(1, len(BATCH)):
        with pytest.raises(CorruptMessage):
            validate_produced(memoryview(BATCH)[:cut], POLICY, NOW)


@given(st.binary(max_size=200), st.integers(0, len(BATCH) - 1), st.integers(1, 255))
def test_garbage_and_damage_are_kafka_errors(garbage: bytes, position: int, flip: int) -> None:
    damaged = bytearray(BATCH)
    damaged[position] ^= flip
    outside_the_crc = 12 <= position < 16  # the leader epoch; the base offset before it has to be 0
    for data in (garbage, BATCH[:17] + garbage):
        with pytest.raises(KafkaError):
            validate_produced(data, POLICY, NOW)
    if outside_the_crc:
        validate_produced(damaged, POLICY, NOW)
    else:
        with pytest.raises(KafkaError):
            validate_produced(damaged, POLICY, NOW)


@given(st.binary(max_size=100), st.sampled_from(CODECS), st.booleans())
def test_garbage_under_a_right_crc_is_a_kafka_error_where_it_is_read(
    garbage: bytes, codec: int, compact: bool
) -> None:
    header = parse_header(BATCH)._replace(attributes=codec)
    policy = ValidationPolicy(compression_type=CODEC_NAMES[1 + codec % 4], compact=compact)
    with pytest.raises(KafkaError):
        validate_produced(assemble(header, garbage), policy, NOW)


def test_zstd_needs_a_reader_that_knows_it() -> None:
    batch = build_batch(RECORDS, compression=ZSTD)
    validate_produced(batch, POLICY, NOW, allow_zstd=True)
    with pytest.raises(UnsupportedCompressionType):
        validate_produced(batch, POLICY, NOW, allow_zstd=False)
    validate_produced(build_batch(RECORDS, compression=GZIP), POLICY, NOW, allow_zstd=False)


def test_a_batch_may_have_the_largest_size_and_not_a_byte_more() -> None:
    validate_produced(BATCH, ValidationPolicy(max_message_bytes=len(BATCH)), NOW)
    with pytest.raises(MessageTooLarge):
        validate_produced(BATCH, ValidationPolicy(max_message_bytes=len(BATCH) - 1), NOW)


def test_the_size_is_checked_again_after_recompression() -> None:
    batch = build_batch([Record(0, NOW, None, bytes(100_000))], compression=GZIP)
    policy = ValidationPolicy(compression_type="uncompressed", max_message_bytes=50_000)
    with pytest.raises(MessageTooLarge):
        validate_produced(batch, policy, NOW)


def test_a_bomb_is_not_unpacked() -> None:
    bomb = build_batch([Record(0, NOW, b"k", bytes(1_000_000))], compression=GZIP)
    for policy in (
        ValidationPolicy(compact=True, max_message_bytes=20_000),
        ValidationPolicy(compression_type="lz4", max_message_bytes=20_000),
    ):
        with pytest.raises(MessageTooLarge):
            validate_produced(bomb, policy, NOW)


@pytest.mark.parametrize("codec", CODECS)
def test_a_compacted_topic_names_the_records_without_a_key(codec: int) -> None:
    records = [
        Record(0, NOW, b"k", b""),
        Record(1, NOW, None, b""),
        Record(2, NOW, b"", b""),
        Record(3, NOW, None, b""),
    ]
    policy = ValidationPolicy(compact=True)
    with pytest.raises(RejectedRecords) as raised:
        validate_produced(build_batch(records, compression=codec), policy, NOW)
    assert isinstance(raised.value, InvalidRecord)
    assert raised.value.code is ErrorCode.invalid_record
    assert [index for index, _ in raised.value.record_errors] == [1, 3]
    keyed = build_batch([record._replace(key=b"k") for record in records], compression=codec)
    assert validate_produced(keyed, policy, NOW).buffer is keyed


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize(
    ("times", "refused"),
    [
        ((NOW, NOW + HOUR), []),
        ((NOW, NOW + HOUR + 1), [1]),
        ((NOW - HOUR, NOW), []),
        ((NOW - HOUR - 1, NOW), [0]),
        ((NOW - HOUR - 1, NOW + HOUR + 1), [0, 1]),
        ((-1, NOW), []),
        ((-1, -1), []),
    ],
)
def test_timestamps_out_of_bounds_are_named(codec: int, times: tuple[int, ...], refused: list[int]) -> None:
    policy = ValidationPolicy(before_max_ms=HOUR, after_max_ms=HOUR)
    batch = build_batch([Record(i, time, b"k", b"") for i, time in enumerate(times)], compression=codec)
    if not refused:
        assert validate_produced(batch, policy, NOW).buffer is batch
        return
    with pytest.raises(RejectedRecords) as raised:
        validate_produced(batch, policy, NOW)
    assert isinstance(raised.value, InvalidTimestamp)
    assert raised.value.code is ErrorCode.invalid_timestamp
    assert [index for index, _ in raised.value.record_errors] == refused


def test_by_default_the_past_is_open_and_the_future_an_hour() -> None:
    validate_produced(build_batch([Record(0, 0, None, b"")]), POLICY, NOW)
    with pytest.raises(InvalidTimestamp):
        validate_produced(build_batch([Record(0, NOW + HOUR + 1, None, b"")]), POLICY, NOW)


def test_a_bad_timestamp_decides_the_code_unless_its_record_lacks_a_key_too() -> None:
    policy = ValidationPolicy(compact=True)
    late = NOW + 2 * HOUR
    with pytest.raises(InvalidRecord):
        validate_produced(build_batch([Record(0, late, None, b"")]), policy, NOW)
    with pytest.raises(RejectedRecords) as raised:
        validate_produced(build_batch([Record(0, late, b"k", b""), Record(1, NOW, None, b"")]), policy, NOW)
    assert isinstance(raised.value, InvalidTimestamp)
    assert [index for index, _ in raised.value.record_errors] == [0, 1]


def test_a_header_that_overstates_its_latest_timestamp_is_corrected() -> None:
    validated = validate_produced(_changed(max_timestamp=NOW + 9 * HOUR), POLICY, NOW)
    assert validated.max_timestamp == NOW
    assert crc_is_valid(validated.buffer, 0, validated.batches[0])
    assert decode_records(validated.buffer) == RECORDS


def test_log_append_time_is_not_a_producers_to_claim() -> None:
    claimed = build_batch(RECORDS, timestamp_type=LOG_APPEND_TIME, log_append_time=NOW)
    with pytest.raises(RejectedRecords) as raised:
        validate_produced(claimed, ValidationPolicy(timestamp_type="LogAppendTime"), NOW)
    assert isinstance(raised.value, InvalidTimestamp)
    assert [index for index, _ in raised.value.record_errors] == [0, 1]
    without_time = build_batch(RECORDS, timestamp_type=LOG_APPEND_TIME)
    with pytest.raises(InvalidTimestamp):
        validate_produced(without_time, POLICY, NOW)


def test_a_claim_of_log_append_time_is_dropped_where_create_time_rules() -> None:
    claimed = build_batch(RECORDS, timestamp_type=LOG_APPEND_TIME, log_append_time=NOW)
    (header,) = validate_produced(claimed, POLICY, NOW).batches
    assert header.timestamp_type == 0
    assert header.max_timestamp == NOW


@pytest.mark.parametrize(
    "policy", [POLICY, ValidationPolicy(compression_type="zstd"), ValidationPolicy(compact=True)], ids=str
)
def test_the_brokers_own_markers_pass_and_stay_uncompressed(policy: ValidationPolicy) -> None:
    marker = build_end_marker(1, 0, True, 0, NOW)
    validated = validate_produced(marker, policy, NOW, from_client=False)
    assert validated.buffer is marker
    with pytest.raises(InvalidRecord):
        validate_produced(marker, policy, NOW)


@pytest.mark.parametrize("settings", [{"compression_type": "brotli"}, {"timestamp_type": "Sometime"}])
def test_a_policy_of_unknown_words_is_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        ValidationPolicy(**settings)


def test_offset_and_leader_epoch_may_be_written_without_a_new_crc() -> None:
    validated = validate_produced(BATCH, POLICY, NOW)
    stored = bytearray(validated.buffer)
    struct.pack_into(">q", stored, 0, 77)
    struct.pack_into(">i", stored, 12, 5)
    header = parse_header(stored)
    assert crc_is_valid(stored, 0, header)
    assert (header.last_offset, header.partition_leader_epoch) == (78, 5)


# --- headers that cannot be believed ----------------------------------------------------------------------


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize(
    ("times", "base", "claimed", "stored"),
    [
        pytest.param([-1, -1], -1, 0, -1, id="no timestamps, as librdkafka sends them"),
        pytest.param([NOW - 5, NOW], NOW - 5, -1, NOW, id="no maximum, as Sarama sends it"),
        pytest.param([NOW - 5, NOW], NOW - 5, 0, NOW, id="1970"),
        pytest.param([NOW - 5, NOW], NOW - 5, NOW - 6, NOW, id="before the base"),
        pytest.param([NOW - 5, NOW], 0, 0, NOW, id="base of 1970"),
        pytest.param([NOW - 5, NOW], NOW - 5, NOW + 2 * HOUR, NOW, id="the future"),
        pytest.param([NOW], NOW, 2**63 - 1, NOW, id="the end of time"),
        pytest.param([-7, -9], -7, NOW, -1, id="negative records"),
    ],
)
def test_the_records_decide_where_the_header_cannot_be_believed(
    codec: int, times: list[int], base: int, claimed: int, stored: int
) -> None:
    records = [Record(index, time, b"k", b"v") for index, time in enumerate(times)]
    payload = compress(codec, encode_records(records, range(len(records)), base))
    header = parse_header(build_batch(records, compression=codec))
    batch = assemble(header._replace(base_timestamp=base, max_timestamp=claimed), payload)
    validated = validate_produced(batch, ValidationPolicy(after_max_ms=2**62 if claimed > NOW else HOUR), NOW)
    (found,) = validated.batches
    assert validated.max_timestamp == found.max_timestamp == stored
    assert crc_is_valid(validated.buffer, 0, found)
    assert [record.timestamp for record in decode_records(validated.buffer)] == times


def test_a_timestamp_beyond_64_bits_wraps_as_in_java() -> None:
    header = parse_header(build_batch([Record(0, 5, b"k", b"v")]))._replace(base_timestamp=2**63 - 1)
    batch = assemble(header, encode_records([Record(0, 5, b"k", b"v")], [0], 0))
    policy = ValidationPolicy(after_max_ms=2**63 - 1)
    with pytest.raises(InvalidTimestamp) as refused:
        validate_produced(batch, policy, NOW)
    assert isinstance(refused.value, RejectedRecords)
    assert str(4 - 2**63) in refused.value.record_errors[0][1]


@pytest.mark.parametrize("policy", [POLICY, ValidationPolicy(timestamp_type="LogAppendTime")])
@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("claimed", [100_000, 2**31 - 1])
def test_more_records_than_there_can_be_are_refused(
    codec: int, claimed: int, policy: ValidationPolicy
) -> None:
    batch = build_batch(RECORDS, compression=codec)
    with pytest.raises(InvalidRecord):
        validate_produced(_changed(batch, record_count=claimed, last_offset_delta=claimed - 1), policy, NOW)


@pytest.mark.parametrize("codec", CODECS)
def test_the_smallest_records_are_as_many_as_they_say(codec: int) -> None:
    records = [Record(index, NOW, None, None) for index in range(5000)]
    batch = build_batch(records, compression=codec)
    assert validate_produced(batch, POLICY, NOW).record_count == 5000


@given(record_lists(), st.integers(1, 5))
def test_a_scan_in_steps_finds_what_a_scan_at_once_finds(records: list[Record], step: int) -> None:
    batch = build_batch(records)
    header = parse_header(batch)
    whole, stepped = (RecordScan(batch[HEADER_SIZE:], header, needs_keys=True) for _ in range(2))
    whole.run()
    while not stepped.step(step):
        pass
    assert (whole.max_timestamp, whole.keyless) == (stepped.max_timestamp, stepped.keyless)
    assert whole.max_timestamp == max(-1, *(record.timestamp for record in records))
    assert whole.keyless == [index for index, record in enumerate(records) if record.key is None]
    assert whole.is_numbered


# --- large batches ----------------------------------------------------------------------------------------


def _deferred(batch: bytes, policy: ValidationPolicy) -> DeepValidation:
    with pytest.raises(UnpackingDeferred) as later:
        validate_produced(memoryview(batch), policy, NOW, may_defer=True)
    validation = later.value.validation
    validation.keep()
    return validation


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize(
    "policy",
    [
        ValidationPolicy(compact=True),
        ValidationPolicy("gzip"),
        ValidationPolicy("uncompressed", timestamp_type="LogAppendTime"),
    ],
)
def test_a_large_batch_comes_out_the_same_in_parts(codec: int, policy: ValidationPolicy) -> None:
    records = [Record(index, NOW + index % 7, b"k", b"v" * 90) for index in range(3000)]
    batch = build_batch(records, compression=codec)
    at_once = validate_produced(batch, policy, NOW)
    if (at_once.buffer is batch and not policy.compact) or (codec == NONE and policy.target_codec == NONE):
        return  # nothing to unpack
    validation = _deferred(batch, policy)
    validation.unpack()
    steps = 1
    while not validation.scan(500):
        steps += 1
    if validation.must_pack:
        validation.pack()
    validation.release()
    assert steps == 6
    assert validation.finish(NOW) == at_once


def test_a_small_batch_is_not_deferred() -> None:
    batch = build_batch([Record(index, NOW, b"k", b"v" * 90) for index in range(100)], compression=ZSTD)
    validated = validate_produced(batch, ValidationPolicy(compact=True), NOW, may_defer=True)
    assert validated.buffer == batch


@pytest.mark.parametrize("codec", [GZIP, SNAPPY, ZSTD])
def test_a_small_batch_that_unpacks_to_much_is_deferred(codec: int) -> None:
    batch = build_batch([Record(0, NOW, b"k", bytes(1_000_000))], compression=codec)
    _deferred(batch, ValidationPolicy(compact=True))


def test_many_records_with_other_offsets_are_refused() -> None:
    records = [Record(index + 1, NOW, b"k", b"") for index in range(10_001)]
    batch = _changed(build_batch(records, keep_offsets=True), last_offset_delta=10_000)
    with pytest.raises(InvalidRecord, match="offsets"):
        validate_produced(batch, ValidationPolicy("gzip"), NOW)
