import gzip
import random
import struct

import cramjam
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies.records import CODECS

from barnabas.base.errors import CorruptMessage, KafkaError, MessageTooLarge, UnsupportedCompressionType
from barnabas.records.compression import (
    GZIP,
    LZ4,
    NONE,
    SNAPPY,
    ZSTD,
    compress,
    decompress,
    decompress_view,
    unpacked_limit_of,
)

PACKERS = (GZIP, SNAPPY, LZ4, ZSTD)
plain = st.binary(max_size=300) | st.builds(bytes.__mul__, st.binary(max_size=20), st.integers(0, 20_000))


@given(st.sampled_from(CODECS), plain)
def test_what_is_packed_unpacks_to_the_same(codec: int, data: bytes) -> None:
    packed = compress(codec, memoryview(data))
    assert decompress(codec, packed) == data
    assert decompress(codec, memoryview(b"xx" + packed)[2:]) == data


@pytest.mark.parametrize("codec", PACKERS)
def test_data_of_many_blocks_survives_whether_it_packs_or_not(codec: int) -> None:
    noise = random.Random(1).randbytes(200_000)
    data = noise + b"a" * 300_000 + noise[:70_000]
    assert decompress(codec, compress(codec, data)) == data


@pytest.mark.parametrize(
    ("codec", "levels"), [(GZIP, (-1, 1, 9)), (LZ4, (1, 9, 17)), (ZSTD, (-131072, 1, 3, 22))]
)
def test_every_level_of_kafka_is_taken(codec: int, levels: tuple[int, ...]) -> None:
    data = b"some words, some words again " * 400
    for level in levels:
        assert decompress(codec, compress(codec, data, level)) == data


def test_lz4_is_framed_as_java_reads_it() -> None:
    packed = compress(LZ4, b"a" * 70_000)
    assert packed[:7] == bytes.fromhex("04224d18604082")
    assert packed[-4:] == b"\0\0\0\0"
    assert bytes(cramjam.lz4.decompress(packed)) == b"a" * 70_000


def test_linked_lz4_blocks_with_checksums_are_read() -> None:
    data = random.Random(2).randbytes(1000) * 300
    assert decompress(LZ4, bytes(cramjam.lz4.compress(data))) == data


def test_snappy_is_framed_as_xerial_and_raw_is_read_too() -> None:
    data = b"0123456789" * 10_000
    packed = compress(SNAPPY, data)
    assert packed[:16] == b"\x82SNAPPY\0" + struct.pack(">ii", 1, 1)
    assert decompress(SNAPPY, bytes(cramjam.snappy.compress_raw(data))) == data


def test_gzip_members_follow_one_another() -> None:
    assert decompress(GZIP, gzip.compress(b"one ") + gzip.compress(b"two")) == b"one two"


@pytest.mark.parametrize("codec", PACKERS)
def test_a_bomb_is_refused_at_the_limit(codec: int) -> None:
    bomb = compress(codec, bytes(3_000_000))
    assert len(decompress(codec, bomb, 3_000_000)) == 3_000_000
    for limit in (2_999_999, 100_000, 1, 0):
        with pytest.raises(MessageTooLarge):
            decompress(codec, bomb, limit)


def test_a_stated_size_is_not_believed() -> None:
    claims_4_gib = b"\xff\xff\xff\xff\x0f"
    for data in (claims_4_gib, b"\x82SNAPPY\0" + struct.pack(">iii", 1, 1, 5) + claims_4_gib):
        with pytest.raises(CorruptMessage):
            decompress(SNAPPY, data)


@pytest.mark.parametrize("codec", PACKERS)
def test_every_truncation_is_corrupt_or_shorter(codec: int) -> None:
    data = random.Random(3).randbytes(90) * 3
    packed = compress(codec, data)
    for cut in range(len(packed)):
        try:
            assert len(decompress(codec, packed[:cut])) < len(data)
        except CorruptMessage:
            continue


@given(st.sampled_from(PACKERS), st.binary(max_size=100), st.data())
def test_garbage_and_damage_are_kafka_errors(codec: int, garbage: bytes, draw: st.DataObject) -> None:
    packed = bytearray(compress(codec, garbage * 3))
    packed[draw.draw(st.integers(0, len(packed) - 1))] ^= draw.draw(st.integers(1, 255))
    for data in (garbage, packed, bytes(packed[:8]) + garbage):
        try:
            unpacked = decompress(codec, data, 1_000_000)
        except KafkaError:
            continue
        assert len(unpacked) <= 1_000_000


def test_no_packing_copies_and_knows_no_limit() -> None:
    assert decompress(NONE, memoryview(b"abc"), 1) == b"abc"


@pytest.mark.parametrize("codec", [5, 6, 7])
def test_an_unknown_codec_is_unsupported(codec: int) -> None:
    with pytest.raises(UnsupportedCompressionType):
        compress(codec, b"")
    with pytest.raises(UnsupportedCompressionType):
        decompress(codec, b"")


# --- without a copy -----------------------------------------------------------------------------------------


@given(st.sampled_from(CODECS), plain)
def test_a_view_has_the_same_bytes(codec: int, data: bytes) -> None:
    assert decompress_view(codec, compress(codec, data), max(1, len(data))) == data


@pytest.mark.parametrize("codec", PACKERS)
def test_a_view_is_as_large_as_the_limit_and_not_a_byte_larger(codec: int) -> None:
    packed = compress(codec, bytes(1_000_000))
    assert len(decompress_view(codec, packed, 1_000_000)) == 1_000_000
    with pytest.raises(MessageTooLarge):
        decompress_view(codec, packed, 999_999)


@pytest.mark.parametrize("codec", PACKERS)
def test_a_view_of_data_that_is_cut_short_is_refused(codec: int) -> None:
    packed = compress(codec, random.Random(5).randbytes(50_000))
    for cut in (1, 10, len(packed) // 2):
        with pytest.raises(CorruptMessage):
            decompress_view(codec, packed[:-cut], 100_000)


@given(st.sampled_from(range(8)), st.binary(max_size=200))
def test_a_view_of_garbage_is_a_kafka_error(codec: int, garbage: bytes) -> None:
    try:
        decompress_view(codec, garbage, 10_000)
    except KafkaError:
        return


def test_several_gzip_members_are_one_view() -> None:
    packed = gzip.compress(b"a" * 1000) + gzip.compress(b"b" * 300_000)
    assert decompress_view(GZIP, packed, 301_000) == b"a" * 1000 + b"b" * 300_000


@pytest.mark.parametrize(
    ("largest_batch", "limit"),
    [(1_048_588, 33_554_816), (100, 3200), (1 << 23, 128 << 20), (200 << 20, 200 << 20)],
)
def test_what_may_be_unpacked_follows_the_largest_batch(largest_batch: int, limit: int) -> None:
    assert unpacked_limit_of(largest_batch) == limit
