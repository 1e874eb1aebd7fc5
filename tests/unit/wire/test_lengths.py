"""Lengths that cannot be are found before kio would reserve memory for them."""

import struct
from collections.abc import Iterator

import pytest
from kio.index import load_request_schema
from tests.strategies.entities import filled, written

from barnabas.base.errors import InvalidRequest
from barnabas.handlers.registry import APIS
from barnabas.wire.lengths import length_check
from barnabas.wire.schemas import parse_request

EVERY = [
    (api.key, version) for api in APIS.values() for version in range(api.min_version, api.max_version + 1)
]


def _samples(key: int, version: int) -> Iterator[bytes]:
    schema = load_request_schema(key, version)
    for nulls in (False, True):
        for elements in (0, 1, 3):
            yield written(filled(schema, nulls=nulls, elements=elements))


@pytest.mark.parametrize(("key", "version"), EVERY)
def test_good_requests_are_walked_to_their_end(key: int, version: int) -> None:
    check = length_check(load_request_schema(key, version))
    for data in _samples(key, version):
        assert check(memoryview(b"head" + data), 4, []) == 4 + len(data)


@pytest.mark.parametrize(("key", "version"), EVERY)
def test_no_prefix_of_a_request_passes(key: int, version: int) -> None:
    check = length_check(load_request_schema(key, version))
    data = written(filled(load_request_schema(key, version)))
    for end in range(len(data)):
        with pytest.raises(InvalidRequest):
            check(memoryview(data[:end]), 0, [])


@pytest.mark.parametrize("count", [2**31 - 1, 2**30, 1_000_000, 5, -2, -(2**31)])
def test_array_that_is_longer_than_its_request_is_invalid(count: int) -> None:
    metadata, version = 3, 1
    body = struct.pack(">i", count) + b"\x00\x00"
    with pytest.raises(InvalidRequest, match=r"topics has .* elements"):
        parse_request(metadata, version, 13, memoryview(body).toreadonly(), 0)


@pytest.mark.parametrize("count", [b"\xff\xff\xff\xff\x0f", b"\xff\xff\xff\xff\x07", b"\x80\x80\x40"])
def test_compact_array_that_is_longer_than_its_request_is_invalid(count: bytes) -> None:
    metadata, version = 3, 12
    with pytest.raises(InvalidRequest, match=r"topics has .* elements"):
        parse_request(metadata, version, 13, memoryview(count + bytes(20)).toreadonly(), 0)


def test_null_where_the_schema_has_none_is_invalid() -> None:
    delete_topics, version = 20, 1
    body = struct.pack(">ii", -1, 1000)
    with pytest.raises(InvalidRequest, match="topic_names has -1 elements"):
        parse_request(delete_topics, version, 6, memoryview(body).toreadonly(), 0)


def test_unknown_tags_are_passed_over() -> None:
    metadata, version = 3, 12
    plain = b"\x00\x00\x00" + b"\x00"
    tagged = b"\x00\x00\x00" + b"\x02\x63\x01x\x64\x02yz"
    expected, _ = parse_request(metadata, version, 13, memoryview(plain).toreadonly(), 0)
    found, _ = parse_request(metadata, version, 13, memoryview(tagged).toreadonly(), 0)
    assert found == expected


def test_unknown_tags_of_nested_structures_are_passed_over() -> None:
    create_topics, version = 19, 7
    topic = b"\x02t" + struct.pack(">ih", 1, 1) + b"\x01\x01"
    options = struct.pack(">i?", 1000, False)
    plain = b"\x03" + (topic + b"\x00") * 2 + options + b"\x00"
    tagged = b"\x03" + (topic + b"\x01\x09\x03abc") * 2 + options + b"\x01\x07\x00"
    expected, _ = parse_request(create_topics, version, 7, memoryview(plain).toreadonly(), 0)
    found, _ = parse_request(create_topics, version, 7, memoryview(b"head" + tagged).toreadonly(), 4)
    assert found == expected


def test_known_tags_are_kept_beside_unknown_ones() -> None:
    fetch, version = 1, 12
    cluster = b"\x00\x05\x05here"
    body = struct.pack(">iiiibii", -1, 500, 1, 1000, 0, 0, -1) + b"\x01\x01\x01"
    tagged = memoryview(body + b"\x02" + cluster + b"\x63\x01x").toreadonly()
    found, _ = parse_request(fetch, version, version, tagged, 0)
    assert found.cluster_id == "here"


def test_torn_tags_are_invalid() -> None:
    metadata, version = 3, 12
    body = b"\x00\x00\x00" + b"\x01\x63\x05x"
    with pytest.raises(InvalidRequest):
        parse_request(metadata, version, 13, memoryview(body).toreadonly(), 0)
