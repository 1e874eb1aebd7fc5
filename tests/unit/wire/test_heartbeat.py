"""Heartbeat by hand: equal to kio in both directions, at every version."""

import contextlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kio.index import load_request_schema
from tests.fakes.node import entity
from tests.strategies.entities import written
from tests.strategies.kio_responses import encode_with_kio

from barnabas.base.errors import ErrorCode, InvalidRequest, KafkaError
from barnabas.wire import Reply, encode_response, parse_request
from barnabas.wire.heartbeat import API_KEY, FIRST_WITH_INSTANCE_ID, parse_heartbeat

VERSIONS = range(5)


def request(version: int, instance_id: str | None) -> bytes:
    fields: dict[str, Any] = {"group_id": "grüppe" * 30, "generation_id": 5, "member_id": "m"}
    if version >= FIRST_WITH_INSTANCE_ID:
        fields["group_instance_id"] = instance_id
    return written(entity(load_request_schema(API_KEY, version), fields))


def parse(version: int, data: bytes) -> Any:
    body, raw = parse_request(API_KEY, version, 4, memoryview(b"head" + data).toreadonly(), 4)
    assert body is raw
    return body


@pytest.mark.parametrize("instance_id", [None, "i"])
@pytest.mark.parametrize("version", VERSIONS)
def test_request_is_read_as_it_was_written(version: int, instance_id: str | None) -> None:
    expected = instance_id if version >= FIRST_WITH_INSTANCE_ID else None
    assert parse(version, request(version, instance_id)) == ("grüppe" * 30, 5, "m", expected)


def test_tags_of_newer_clients_are_skipped() -> None:
    data = request(4, "i")
    assert parse(4, data[:-1] + b"\x01\x05\x03abc") == parse(4, data)


@pytest.mark.parametrize("version", VERSIONS)
def test_request_is_refused_wherever_it_is_cut(version: int) -> None:
    data = request(version, "i")
    for size in range(len(data)):
        with pytest.raises(InvalidRequest):
            parse(version, data[:size])


@given(version=st.sampled_from(VERSIONS), garbage=st.binary(max_size=100))
def test_garbage_raises_nothing_but_kafka_errors(version: int, garbage: bytes) -> None:
    with contextlib.suppress(KafkaError):
        parse_heartbeat(version, memoryview(garbage).toreadonly(), 0)


@pytest.mark.parametrize("code", [ErrorCode.none, ErrorCode.rebalance_in_progress])
@pytest.mark.parametrize("version", VERSIONS)
def test_response_is_written_as_kio_writes_it(version: int, code: ErrorCode) -> None:
    reply = Reply(error_code=code)
    assert encode_response(API_KEY, version, 99, reply) == encode_with_kio(API_KEY, version, 99, reply)
