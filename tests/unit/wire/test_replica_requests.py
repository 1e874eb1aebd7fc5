from io import BytesIO
from typing import Any

import pytest
from kio.schema.errors import ErrorCode
from kio.serial import entity_reader, entity_writer

from barnabas.base.errors import InvalidRequest
from barnabas.base.ids import TopicPartition
from barnabas.wire import message_codec as codec
from barnabas.wire.outgoing_request import OutgoingRequest
from barnabas.wire.replica_requests import (
    EARLIEST_TIMESTAMP,
    EpochEndOffset,
    EpochQuery,
    ListedOffset,
    OffsetQuery,
    epoch_end_request,
    parse_epoch_ends,
    parse_replica_offsets,
    replica_offsets_request,
)

A0, A1, B0 = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)


def _read(request: OutgoingRequest) -> Any:
    entity = codec._class(request.api, request.version, "request")
    body = b"".join(request.parts)
    found, size = entity_reader(entity)(body, 0)
    assert size == len(body)
    return found


def _written(api: str, version: int, fields: dict[str, Any]) -> memoryview:
    entity, buffer = codec._class(api, version, "response"), BytesIO()
    entity_writer(entity)(buffer, codec._build(entity, fields))
    return memoryview(bytearray(buffer.getvalue()))


def test_epochs_are_requested_in_the_name_of_the_replica() -> None:
    builder = epoch_end_request(3, [EpochQuery(A0, 7, 5), EpochQuery(B0, 2, 1), EpochQuery(A1, 8, 6)])
    request = _read(builder.build(builder.newest))
    assert request.replica_id == 3
    assert [
        (
            topic.topic,
            [(each.partition, each.current_leader_epoch, each.leader_epoch) for each in topic.partitions],
        )
        for topic in request.topics
    ] == [("a", [(0, 7, 5), (1, 8, 6)]), ("b", [(0, 2, 1)])]


def test_ends_of_epochs_are_read() -> None:
    partitions = [
        {"partition": 0, "error_code": ErrorCode(0), "leader_epoch": 4, "end_offset": 90},
        {"partition": 1, "error_code": ErrorCode.fenced_leader_epoch},
    ]
    fields = {"topics": [{"topic": "a", "partitions": partitions}]}
    found = parse_epoch_ends(4, _written("offset_for_leader_epoch", 4, fields))
    assert found == {A0: EpochEndOffset(0, 4, 90), A1: EpochEndOffset(74, -1, -1)}


@pytest.mark.parametrize("version", range(4, 11))
def test_offsets_are_requested_in_the_name_of_the_replica(version: int) -> None:
    builder = replica_offsets_request(3, [OffsetQuery(A1, 7, EARLIEST_TIMESTAMP)])
    assert builder.oldest <= version <= builder.newest
    request = _read(builder.build(version))
    assert request.replica_id == 3
    (topic,) = request.topics
    (partition,) = topic.partitions
    assert (topic.name, partition.partition_index, partition.current_leader_epoch) == ("a", 1, 7)


@pytest.mark.parametrize("version", range(4, 11))
def test_listed_offsets_are_read(version: int) -> None:
    partition = {"partition_index": 1, "error_code": ErrorCode(0), "offset": 12, "leader_epoch": 3}
    fields = {"topics": [{"name": "a", "partitions": [partition]}]}
    found = parse_replica_offsets(version, _written("list_offsets", version, fields))
    assert found == {A1: ListedOffset(0, 12, 3)}


def test_bytes_that_are_no_response_are_refused() -> None:
    with pytest.raises(InvalidRequest, match="OFFSET_FOR_LEADER_EPOCH"):
        parse_epoch_ends(4, memoryview(b"\x00\x00"))
