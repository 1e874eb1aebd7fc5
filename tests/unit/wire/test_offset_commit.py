"""OffsetCommit by hand: equal to kio in both directions, at every version."""

import contextlib
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kio.index import load_request_schema
from tests.fakes.node import entity
from tests.strategies.entities import written
from tests.strategies.kio_responses import encode_with_kio

from barnabas.base.errors import ErrorCode, InvalidRequest, KafkaError
from barnabas.base.ids import ZERO_UUID
from barnabas.wire import Reply, encode_response, parse_request
from barnabas.wire.offset_commit import (
    API_KEY,
    FIRST_FLEXIBLE,
    FIRST_WITH_INSTANCE_ID,
    FIRST_WITH_LEADER_EPOCH,
    FIRST_WITH_TOPIC_IDS,
    LAST_WITH_RETENTION_TIME,
    CommitTopicResult,
    parse_offset_commit,
)

VERSIONS = range(2, 11)
ID = UUID(int=77)


def request(version: int, metadata: str | None = "nöte", instance_id: str | None = "i") -> bytes:
    partition: dict[str, Any] = {
        "partition_index": 3,
        "committed_offset": 2**40,
        "committed_metadata": metadata,
    }
    if version >= FIRST_WITH_LEADER_EPOCH:
        partition["committed_leader_epoch"] = 7
    named: dict[str, Any] = {"topic_id": ID} if version >= FIRST_WITH_TOPIC_IDS else {"name": "täglich"}
    fields: dict[str, Any] = {
        "group_id": "grüppe" * 30,
        "generation_id_or_member_epoch": 5,
        "member_id": "m",
        "topics": [named | {"partitions": [partition, partition | {"partition_index": 0}]}, named],
    }
    if version >= FIRST_WITH_INSTANCE_ID:
        fields["group_instance_id"] = instance_id
    if version <= LAST_WITH_RETENTION_TIME:
        fields["retention_time"] = timedelta(milliseconds=1234)
    return written(entity(load_request_schema(API_KEY, version), fields))


def parse(version: int, data: bytes) -> Any:
    body, raw = parse_request(API_KEY, version, version, memoryview(b"head" + data).toreadonly(), 4)
    assert body is raw
    return body


@pytest.mark.parametrize("metadata", [None, "", "nöte"])
@pytest.mark.parametrize("instance_id", [None, "i"])
@pytest.mark.parametrize("version", VERSIONS)
def test_request_is_read_as_it_was_written(
    version: int, metadata: str | None, instance_id: str | None
) -> None:
    parsed = parse(version, request(version, metadata, instance_id))

    assert (parsed.group_id, parsed.generation_id_or_member_epoch, parsed.member_id) == (
        "grüppe" * 30,
        5,
        "m",
    )
    assert parsed.group_instance_id == (instance_id if version >= FIRST_WITH_INSTANCE_ID else None)
    assert parsed.retention_time_ms == (1234 if version <= LAST_WITH_RETENTION_TIME else -1)
    named = ("", ID) if version >= FIRST_WITH_TOPIC_IDS else ("täglich", ZERO_UUID)
    assert [(topic.name, topic.topic_id) for topic in parsed.topics] == [named, named]
    epoch = 7 if version >= FIRST_WITH_LEADER_EPOCH else -1
    assert parsed.topics[0].partitions == [(3, 2**40, epoch, metadata), (0, 2**40, epoch, metadata)]
    assert parsed.topics[1].partitions == []


@pytest.mark.parametrize("version", range(FIRST_FLEXIBLE, 11))
def test_tags_of_newer_clients_are_skipped(version: int) -> None:
    data = request(version)
    assert parse(version, data[:-1] + b"\x01\x05\x03abc") == parse(version, data)


@pytest.mark.parametrize("version", VERSIONS)
def test_request_is_refused_wherever_it_is_cut(version: int) -> None:
    data = request(version)
    for size in range(len(data)):
        with pytest.raises(InvalidRequest):
            parse(version, data[:size])


@given(version=st.sampled_from(VERSIONS), garbage=st.binary(max_size=200))
def test_garbage_raises_nothing_but_kafka_errors(version: int, garbage: bytes) -> None:
    with contextlib.suppress(KafkaError):
        parse_offset_commit(version, memoryview(garbage).toreadonly(), 0)


@given(version=st.sampled_from(VERSIONS), position=st.integers(0, 120), byte=st.integers(0, 255))
def test_flipped_bytes_raise_nothing_but_kafka_errors(version: int, position: int, byte: int) -> None:
    data = bytearray(request(version))
    data[position] = byte
    with contextlib.suppress(KafkaError):
        parse_offset_commit(version, memoryview(data).toreadonly(), 0)


@pytest.mark.parametrize("version", VERSIONS)
def test_response_is_written_as_kio_writes_it(version: int) -> None:
    partitions = [(3, ErrorCode.none), (0, ErrorCode.illegal_generation)]
    topics = [CommitTopicResult("täglich", ID, partitions), CommitTopicResult("t2", ID, [])]
    kio = Reply(
        topics=[
            Reply(
                name=name,
                topic_id=topic_id,
                partitions=[Reply(partition_index=index, error_code=code) for index, code in results],
            )
            for name, topic_id, results in topics
        ]
    )
    by_hand = encode_response(API_KEY, version, 99, Reply(topics=topics))
    assert by_hand == encode_with_kio(API_KEY, version, 99, kio)
