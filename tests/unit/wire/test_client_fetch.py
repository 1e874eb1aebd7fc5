"""Both encodings give equal bytes: the one by hand and kio's. What the broker's side writes is read back."""

import uuid
from io import BytesIO
from typing import Any

import pytest
from kio.schema.errors import ErrorCode
from kio.serial import entity_writer

from barnabas.base.ids import ZERO_UUID
from barnabas.wire import message_codec as codec
from barnabas.wire.client_fetch import (
    NEWEST,
    OLDEST,
    EpochEnd,
    FetchedPartition,
    FetchResponse,
    fetch_request,
    parse_fetch_response,
)
from barnabas.wire.fetch import FetchPartition, FetchRequest, FetchTopic, ForgottenTopic, parse_fetch
from barnabas.wire.primitives import LeaderHint, NodeEndpoint
from barnabas.wire.response_reader import MALFORMED

TOPIC_ID = uuid.UUID("12345678-1234-5678-1234-567812345678")
OTHER_ID = uuid.UUID("87654321-1234-5678-1234-567812345678")
VERSIONS = range(OLDEST, NEWEST + 1)
CONSUMER = FetchRequest(
    -1, 500, 1, 8 << 20, 1, 0, -1, [FetchTopic("é", TOPIC_ID, [FetchPartition(3, 2**40, 9)])], [], "rack-a"
)
FOLLOWER = FetchRequest(
    2,
    500,
    1,
    10 << 20,
    0,
    77,
    5,
    [
        FetchTopic("é", TOPIC_ID, [FetchPartition(3, 2**40, 9, 7, 6, 11), FetchPartition(4, 1, 9, 8, -1, 0)]),
        FetchTopic("other", OTHER_ID, [FetchPartition(0, 0, 9, 1, 1, 0)]),
    ],
    [ForgottenTopic("é", TOPIC_ID, [1, 2]), ForgottenTopic("gone", OTHER_ID, [0])],
    "",
    2**33,
)


def _written(version: int, part: str, fields: dict[str, Any]) -> bytes:
    entity = codec._class("fetch", version, part)
    buffer = BytesIO()
    entity_writer(entity)(buffer, codec._build(entity, fields))
    return buffer.getvalue()


def _kio_request(version: int, request: FetchRequest) -> bytes:
    topics = [
        {
            "topic": topic.name,
            "topic_id": topic.topic_id,
            "partitions": [
                {
                    "partition": each.partition,
                    "current_leader_epoch": each.leader_epoch,
                    "fetch_offset": each.offset,
                    "last_fetched_epoch": each.last_fetched_epoch,
                    "log_start_offset": each.log_start_offset,
                    "partition_max_bytes": each.max_bytes,
                }
                for each in topic.partitions
            ],
        }
        for topic in request.topics
    ]
    forgotten = [
        {"topic": each.name, "topic_id": each.topic_id, "partitions": list(each.partitions)}
        for each in request.forgotten
    ]
    fields = {
        "replica_id": request.replica_id,
        "replica_state": {"replica_id": request.replica_id, "replica_epoch": request.replica_epoch},
        "max_wait": request.max_wait_ms,
        "min_bytes": request.min_bytes,
        "max_bytes": request.max_bytes,
        "isolation_level": request.isolation_level,
        "session_id": request.session_id,
        "session_epoch": request.session_epoch,
        "topics": topics,
        "forgotten_topics_data": forgotten,
        "rack_id": request.rack_id,
    }
    return _written(version, "request", fields)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("request_sent", [CONSUMER, FOLLOWER], ids=["consumer", "follower"])
def test_request_has_the_bytes_that_kio_writes(version: int, request_sent: FetchRequest) -> None:
    request = fetch_request(version, request_sent)
    assert b"".join(request.parts) == _kio_request(version, request_sent)
    assert request.is_flexible == codec._class("fetch", version, "request").__flexible__


@pytest.mark.parametrize("version", range(15, NEWEST + 1))
def test_request_of_a_follower_arrives_as_it_was_sent(version: int) -> None:
    parsed = parse_fetch(version, memoryview(b"".join(fetch_request(version, FOLLOWER).parts)), 0)
    nameless = [each._replace(name="") for each in FOLLOWER.topics]
    forgotten = [each._replace(name="", partitions=tuple(each.partitions)) for each in FOLLOWER.forgotten]
    assert parsed == FOLLOWER._replace(topics=nameless, forgotten=forgotten)


def _response(version: int, **changed: Any) -> memoryview:
    partition = {
        "partition_index": 3,
        "error_code": ErrorCode(0),
        "high_watermark": 900,
        "last_stable_offset": 800,
        "log_start_offset": 7,
        "aborted_transactions": [],
        "preferred_read_replica": 2,
        "records": b"records",
    }
    partitions = [partition | changed, {**partition, "partition_index": 4, "records": None}]
    fields = {
        "throttle_time": 5,
        "error_code": ErrorCode(0),
        "session_id": 77,
        "responses": [{"topic": "é", "topic_id": TOPIC_ID, "partitions": partitions}],
        "node_endpoints": [{"node_id": 9, "host": "h", "port": 9092, "rack": None}],
    }
    return memoryview(_written(version, "response", fields))


def _partitions(response: FetchResponse) -> list[FetchedPartition]:
    (topic,) = response.topics
    return topic.partitions


@pytest.mark.parametrize("version", VERSIONS)
def test_response_that_kio_writes_is_read(version: int) -> None:
    aborted = [{"producer_id": 12, "first_offset": 34}, {"producer_id": 56, "first_offset": 78}]
    response = parse_fetch_response(version, _response(version, aborted_transactions=aborted))
    assert (response.throttle_ms, response.error_code) == (5, 0)
    assert response.session_id == (77 if version >= 7 else 0)
    assert list(response.endpoints) == ([NodeEndpoint(9, "h", 9092, None)] if version >= 16 else [])
    (topic,) = response.topics
    assert (topic.name, topic.topic_id) == (("", TOPIC_ID) if version >= 13 else ("é", ZERO_UUID))
    first, second = topic.partitions
    assert first[:5] == (3, 0, 900, 800, 7 if version >= 5 else -1)
    assert first.aborted == [(12, 34), (56, 78)]
    assert first.preferred_read_replica == (2 if version >= 11 else -1)
    assert (bytes(first.records), len(second.records)) == (b"records", 0)
    assert (first.diverging, first.leader, first.snapshot) == (None, None, None)


@pytest.mark.parametrize("version", range(12, NEWEST + 1))
def test_tagged_fields_of_a_partition_are_read(version: int) -> None:
    response = _response(
        version,
        diverging_epoch={"epoch": 4, "end_offset": 2**35},
        current_leader={"leader_id": 9, "leader_epoch": 6},
        snapshot_id={"end_offset": 12, "epoch": 3},
    )
    first, second = _partitions(parse_fetch_response(version, response))
    assert first.diverging == EpochEnd(4, 2**35)
    assert first.leader == LeaderHint(9, 6)
    assert first.snapshot == (12, 3)
    assert (second.diverging, second.leader, second.snapshot) == (None, None, None)


@pytest.mark.parametrize("version", VERSIONS)
def test_records_are_a_view_of_the_response(version: int) -> None:
    response = memoryview(bytearray(_response(version)))
    assert _partitions(parse_fetch_response(version, response))[0].records.obj is response.obj


@pytest.mark.parametrize("version", VERSIONS)
def test_absent_arrays_and_records_are_empty(version: int) -> None:
    response = _response(version, records=None, aborted_transactions=None)
    first = _partitions(parse_fetch_response(version, response))[0]
    assert (len(first.records), list(first.aborted)) == (0, [])


@pytest.mark.parametrize("version", [OLDEST, NEWEST])
def test_response_cut_anywhere_is_refused(version: int) -> None:
    response = _response(version, aborted_transactions=[{"producer_id": 12, "first_offset": 34}])
    for size in range(len(response)):
        with pytest.raises(MALFORMED):
            parse_fetch_response(version, response[:size])
