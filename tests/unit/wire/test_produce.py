"""Produce by hand: equal to kio in both directions, at every version."""

import contextlib
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kio.index import load_request_schema, load_response_schema
from kio.schema.errors import ErrorCode
from tests.strategies.entities import as_reply, entity_in, filled, written

from barnabas.base.errors import InvalidRequest, KafkaError
from barnabas.base.ids import ZERO_UUID
from barnabas.wire.primitives import LeaderHint, NodeEndpoint
from barnabas.wire.produce import (
    API_KEY,
    FIRST_FLEXIBLE,
    FIRST_WITH_LEADER_HINTS,
    FIRST_WITH_TOPIC_IDS,
    ProducePartitionResult,
    ProduceTopicResult,
    encode_produce_response,
    parse_produce,
)

VERSIONS = range(3, 14)
ID = UUID(int=77)
LARGE = b"\x01" * 40_000


# --- requests ----------------------------------------------------------------------------------------------


def request(version: int, *records: bytes | None, transactional_id: str | None = None) -> Any:
    entity: Any = load_request_schema(API_KEY, version)
    topic = entity_in(fields(entity)["topic_data"])
    partition = entity_in(fields(topic)["partition_data"])
    data = tuple(partition(index=number, records=each) for number, each in enumerate(records))
    named: dict[str, Any] = {"topic_id": ID} if version >= FIRST_WITH_TOPIC_IDS else {"name": "täglich"}
    timeout = timedelta(milliseconds=1500)
    topics = (topic(**named, partition_data=data), topic(**named, partition_data=()))
    return entity(transactional_id=transactional_id, acks=-1, timeout=timeout, topic_data=topics)


def fields(entity: Any) -> dict[str, Any]:
    return {name: field.type for name, field in entity.__dataclass_fields__.items()}


@pytest.mark.parametrize("transactional_id", [None, "", "t1"])
@pytest.mark.parametrize(
    "records",
    [(b"small",), (LARGE,), (LARGE, None, b"", b"tail"), (None,), ()],
    ids=["small", "large", "mixed", "null", "nothing"],
)
@pytest.mark.parametrize("version", VERSIONS)
def test_request_is_read_as_kio_reads_it(
    version: int, records: tuple[bytes | None, ...], transactional_id: str | None
) -> None:
    sent = request(version, *records, transactional_id=transactional_id)

    parsed = parse_produce(version, memoryview(written(sent)).toreadonly(), 0)

    by_id = version >= FIRST_WITH_TOPIC_IDS
    assert parsed.transactional_id == transactional_id
    assert (parsed.acks, parsed.timeout_ms) == (-1, 1500)
    assert [(each.name, each.topic_id) for each in parsed.topics] == [
        ("", ID) if by_id else ("täglich", ZERO_UUID)
    ] * 2
    found = [(each.partition, each.records) for each in parsed.topics[0].partitions]
    assert [(number, None if each is None else bytes(each)) for number, each in found] == list(
        enumerate(records)
    )
    assert parsed.topics[1].partitions == []


@pytest.mark.parametrize("version", VERSIONS)
def test_records_stay_views_of_the_receive_buffer(version: int) -> None:
    frame = memoryview(b"head" + written(request(version, LARGE))).toreadonly()

    records = parse_produce(version, frame, 4).topics[0].partitions[0].records

    assert isinstance(records, memoryview)
    assert records.obj is frame.obj


@pytest.mark.parametrize("version", range(FIRST_FLEXIBLE, 14))
def test_tags_of_newer_clients_are_skipped(version: int) -> None:
    data = written(request(version, LARGE))
    assert data.endswith(b"\x00")
    tagged = data[:-1] + b"\x01\x05\x03abc"

    parsed = parse_produce(version, memoryview(tagged).toreadonly(), 0)

    assert parsed.topics[0].partitions[0].records == LARGE


@pytest.mark.parametrize("version", VERSIONS)
def test_request_is_refused_wherever_it_is_cut(version: int) -> None:
    data = written(request(version, b"records", None))

    for size in range(len(data)):
        with pytest.raises(InvalidRequest):
            parse_produce(version, memoryview(data[:size]).toreadonly(), 0)


@given(version=st.sampled_from(VERSIONS), garbage=st.binary(max_size=200), large=st.booleans())
def test_garbage_raises_nothing_but_kafka_errors(version: int, garbage: bytes, large: bool) -> None:
    pad = b"\x00" * 40_000 if large else b""
    with contextlib.suppress(KafkaError):
        parse_produce(version, memoryview(pad + garbage).toreadonly(), len(pad))


@given(version=st.sampled_from(VERSIONS), position=st.integers(0, 60), byte=st.integers(0, 255))
def test_flipped_bytes_raise_nothing_but_kafka_errors(version: int, position: int, byte: int) -> None:
    data = bytearray(written(request(version, LARGE, None)))
    data[position] = byte
    with contextlib.suppress(KafkaError):
        parse_produce(version, memoryview(data).toreadonly(), 0)


def test_impossible_counts_are_refused_before_anything_is_made_of_them() -> None:
    head = b"\xff\xff" + b"\xff\xff" + b"\x00\x00\x00\x01"

    with pytest.raises(InvalidRequest, match="array"):
        parse_produce(3, memoryview(head + b"\x7f\xff\xff\xff" + LARGE).toreadonly(), 0)


# --- responses ---------------------------------------------------------------------------------------------

HINT = LeaderHint(4, 11)
ENDPOINTS = (NodeEndpoint(4, "höst", 9093, None), NodeEndpoint(5, "other", 9094, "rack"))
RESULTS = {
    "success": ProducePartitionResult(0, 0, 1 << 40, -1, 12),
    "append time": ProducePartitionResult(1, 0, 3, 1_700_000_000_000, 0),
    "error": ProducePartitionResult(2, ErrorCode.message_too_large, error_message="too large"),
    "record errors": ProducePartitionResult(
        3, ErrorCode.invalid_record, record_errors=((0, "no key"), (7, None)), error_message="bad records"
    ),
    "leader hint": ProducePartitionResult(4, ErrorCode.not_leader_or_follower, leader=HINT),
    "many": ProducePartitionResult(5, 87, record_errors=tuple((each, "m" * 200) for each in range(150))),
}


def kio_response(
    version: int, topics: list[ProduceTopicResult], throttle_ms: int, endpoints: tuple[NodeEndpoint, ...]
) -> bytes:
    entity = load_response_schema(API_KEY, version)
    topic_type = entity_in(fields(entity)["responses"])
    partition_type = entity_in(fields(topic_type)["partition_responses"])
    values: dict[str, Any] = {"throttle_time": timedelta(milliseconds=throttle_ms)}
    if "node_endpoints" in fields(entity):
        endpoint_type = entity_in(fields(entity)["node_endpoints"])
        values["node_endpoints"] = tuple(endpoint_type(**each._asdict()) for each in endpoints)
    values["responses"] = tuple(
        topic_type(
            **({"topic_id": topic.topic_id} if version >= FIRST_WITH_TOPIC_IDS else {"name": topic.name}),
            partition_responses=tuple(kio_partition(partition_type, each) for each in topic.partitions),
        )
        for topic in topics
    )
    return written(entity(**values))


def kio_partition(partition_type: Any, result: ProducePartitionResult) -> Any:
    known = fields(partition_type)
    at = result.log_append_time
    values: dict[str, Any] = {
        "index": result.partition,
        "error_code": ErrorCode(result.error_code),
        "base_offset": result.base_offset,
        "log_append_time": None if at < 0 else datetime.fromtimestamp(at / 1000, UTC),
        "log_start_offset": result.log_start_offset,
        "error_message": result.error_message,
    }
    if "record_errors" in known:
        error_type = entity_in(known["record_errors"])
        values["record_errors"] = tuple(
            error_type(batch_index=index, batch_index_error_message=message)
            for index, message in result.record_errors
        )
    if "current_leader" in known and result.leader is not None:
        values["current_leader"] = entity_in(known["current_leader"])(**result.leader._asdict())
    return partition_type(**{name: value for name, value in values.items() if name in known})


def body_of(version: int, frame: bytes) -> bytes:
    assert int.from_bytes(frame[:4], "big") == len(frame) - 4
    assert frame[4:8] == (99).to_bytes(4, "big")
    if version < FIRST_FLEXIBLE:
        return frame[8:]
    assert frame[8] == 0
    return frame[9:]


@pytest.mark.parametrize("name", RESULTS)
@pytest.mark.parametrize("version", VERSIONS)
def test_response_is_written_as_kio_writes_it(version: int, name: str) -> None:
    topics = [
        ProduceTopicResult("t" * 150, ID, [RESULTS[name], RESULTS["success"]]),
        ProduceTopicResult("empty", ID, []),
    ]

    frame = encode_produce_response(version, 99, topics, throttle_ms=7)

    assert body_of(version, frame) == kio_response(version, topics, 7, ())


@pytest.mark.parametrize("endpoints", [(), ENDPOINTS[:1], ENDPOINTS])
@pytest.mark.parametrize("version", VERSIONS)
def test_endpoints_are_written_where_the_version_has_them(
    version: int, endpoints: tuple[NodeEndpoint, ...]
) -> None:
    topics = [ProduceTopicResult("t", ID, list(RESULTS.values()))]

    frame = encode_produce_response(version, 99, topics, endpoints=endpoints)

    assert body_of(version, frame) == kio_response(version, topics, 0, endpoints)
    assert ("höst".encode() in frame) == (bool(endpoints) and version >= FIRST_WITH_LEADER_HINTS)


def test_kio_s_own_samples_are_read() -> None:
    """Guards the helpers above: a filled request of kio's is read, field by field."""
    for version in VERSIONS:
        sent = filled(load_request_schema(API_KEY, version))
        parsed = parse_produce(version, memoryview(written(sent)).toreadonly(), 0)
        reply = as_reply(sent)
        assert [len(topic.partitions) for topic in parsed.topics] == [
            len(topic.partition_data) for topic in reply.topic_data
        ]
