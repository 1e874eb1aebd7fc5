import warnings

import pyarrow as pa
import pytest
from aiokafka.partitioner import murmur2 as aiokafka_murmur2
from hypothesis import given, settings
from hypothesis import strategies as st

from barnabas.spark.arrow.murmur2 import NO_PARTITION, murmur2, partition_of_keys

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # kafka-python reads its schemas in an old way
    from kafka.partitioner.default import murmur2 as kafka_python_murmur2

KEYS = st.binary(max_size=30) | st.builds(bytes.__mul__, st.binary(max_size=9), st.integers(0, 300))


@given(st.lists(KEYS, max_size=60), st.integers(0, 5))
def test_hashes_equal_those_of_other_clients(keys: list[bytes], skipped: int) -> None:
    column = pa.array(keys, pa.binary()).slice(skipped)
    expected = [kafka_python_murmur2(key) & 0xFFFFFFFF for key in keys[skipped:]]
    assert murmur2(column).tolist() == expected
    assert expected == [aiokafka_murmur2(key) & 0xFFFFFFFF for key in keys[skipped:]]


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        (b"21", -973932308),
        (b"foobar", -790332482),
        (b"a-little-bit-long-string", -985981536),
        (b"a-little-bit-longer-string", -1486304829),
        (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
        (b"abc", 479470107),
    ],
)
def test_hashes_equal_those_of_apache_kafkas_own_tests(key: bytes, expected: int) -> None:
    assert murmur2(pa.array([key])).tolist() == [expected & 0xFFFFFFFF]


@given(st.lists(st.none() | KEYS, max_size=40), st.integers(1, 1000))
def test_partitions_are_those_of_the_default_partitioner(keys: list[bytes | None], count: int) -> None:
    expected = [
        NO_PARTITION if key is None else (kafka_python_murmur2(key) & 0x7FFFFFFF) % count for key in keys
    ]
    assert partition_of_keys(pa.array(keys, pa.binary()), count).tolist() == expected
    assert partition_of_keys(pa.array(keys, pa.large_binary()), count).tolist() == expected


@settings(max_examples=10)
@given(st.lists(st.text(), max_size=20))
def test_text_is_hashed_as_utf_8(keys: list[str]) -> None:
    encoded = pa.array([key.encode() for key in keys], pa.binary())
    assert murmur2(pa.array(keys, pa.string())).tolist() == murmur2(encoded).tolist()


def test_keys_of_one_or_no_bytes_alone_are_hashed() -> None:
    assert murmur2(pa.array([b"", b""], pa.binary())).tolist() == [kafka_python_murmur2(b"") & 0xFFFFFFFF] * 2
    assert partition_of_keys(pa.array([None], pa.binary()), 3).tolist() == [NO_PARTITION]
    assert murmur2(pa.array([], pa.binary())).tolist() == []


def test_a_very_long_key_among_short_ones_is_hashed() -> None:
    keys = [b"x" * 40_000, b"short", b"y" * 39_999]
    expected = [kafka_python_murmur2(key) & 0xFFFFFFFF for key in keys]
    assert murmur2(pa.array(keys)).tolist() == expected


def test_a_topic_without_partitions_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one partition"):
        partition_of_keys(pa.array([b"k"]), 0)
