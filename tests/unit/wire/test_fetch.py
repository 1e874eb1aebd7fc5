"""Fetch by hand: the request in one shape, the response equal to kio's at every version."""

import contextlib
from datetime import timedelta
from typing import Any, NamedTuple
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kio.index import load_request_schema, load_response_schema
from kio.schema.errors import ErrorCode
from tests.strategies.entities import entity_in, filled, written

from barnabas.base.errors import InvalidRequest, KafkaError
from barnabas.base.ids import ZERO_UUID
from barnabas.wire.fetch import (
    API_KEY,
    FIRST_FLEXIBLE,
    FIRST_WITH_ENDPOINTS,
    FIRST_WITH_REPLICA_STATE,
    FIRST_WITH_SESSIONS,
    FIRST_WITH_TOPIC_IDS,
    FetchPartitionResult,
    FetchTopicResult,
    encode_fetch_response,
    parse_fetch,
)
from barnabas.wire.primitives import LeaderHint, NodeEndpoint

VERSIONS = range(4, 19)
ID = UUID(int=78)


def fields(entity: Any) -> dict[str, Any]:
    return {name: field.type for name, field in entity.__dataclass_fields__.items()}


# --- requests ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", VERSIONS)
def test_request_keeps_every_field(version: int) -> None:
    sent = filled(load_request_schema(API_KEY, version))

    parsed = parse_fetch(version, memoryview(written(sent)).toreadonly(), 0)

    by_id = version >= FIRST_WITH_TOPIC_IDS
    has_sessions = version >= FIRST_WITH_SESSIONS
    replica_id = sent.replica_state.replica_id if version >= FIRST_WITH_REPLICA_STATE else sent.replica_id
    assert parsed.replica_id == replica_id
    assert parsed.max_wait_ms == sent.max_wait / timedelta(milliseconds=1)
    assert (parsed.min_bytes, parsed.max_bytes) == (sent.min_bytes, sent.max_bytes)
    assert parsed.isolation_level == sent.isolation_level
    assert parsed.session_id == (sent.session_id if has_sessions else 0)
    assert parsed.session_epoch == (sent.session_epoch if has_sessions else -1)
    assert parsed.rack_id == getattr(sent, "rack_id", "")
    for topic, original in zip(parsed.topics, sent.topics, strict=True):
        assert (topic.name, topic.topic_id) == (
            ("", original.topic_id) if by_id else (original.topic, ZERO_UUID)
        )
        for partition, wanted in zip(topic.partitions, original.partitions, strict=True):
            assert partition == (
                wanted.partition,
                wanted.fetch_offset,
                wanted.partition_max_bytes,
                getattr(wanted, "current_leader_epoch", -1),
                getattr(wanted, "last_fetched_epoch", -1),
                getattr(wanted, "log_start_offset", -1),
            )
    forgotten = getattr(sent, "forgotten_topics_data", ())
    assert [(each.name, each.topic_id, tuple(each.partitions)) for each in parsed.forgotten] == [
        ("" if by_id else each.topic, each.topic_id if by_id else ZERO_UUID, each.partitions)
        for each in forgotten
    ]


@pytest.mark.parametrize("version", VERSIONS)
def test_request_is_refused_wherever_it_is_cut(version: int) -> None:
    data = written(filled(load_request_schema(API_KEY, version)))

    for size in range(len(data)):
        with pytest.raises(InvalidRequest):
            parse_fetch(version, memoryview(data[:size]).toreadonly(), 0)


@given(version=st.sampled_from(VERSIONS), garbage=st.binary(max_size=300))
def test_garbage_raises_nothing_but_kafka_errors(version: int, garbage: bytes) -> None:
    with contextlib.suppress(KafkaError):
        parse_fetch(version, memoryview(garbage).toreadonly(), 0)


# --- responses ---------------------------------------------------------------------------------------------


class Range(NamedTuple):
    """Records that lie somewhere else; only their size is known to the encoder."""

    content: bytes

    @property
    def size(self) -> int:
        return len(self.content)


ENDPOINTS = (NodeEndpoint(4, "host", 9093, None), NodeEndpoint(5, "other", 9094, "rack"))
RECORDS = Range(b"\x07" * 300)
RESULTS = {
    "records": FetchPartitionResult(0, 0, 1 << 40, 1 << 39, 3, None, RECORDS),
    "nothing yet": FetchPartitionResult(1, 0, 12, 11, 0),
    "error": FetchPartitionResult(2, ErrorCode.offset_out_of_range),
    "nothing aborted": FetchPartitionResult(3, 0, 12, 11, 0, [], RECORDS),
    "aborted": FetchPartitionResult(4, 0, 12, 11, 0, [(9, 2), (1 << 40, 3)], RECORDS),
    "many aborted": FetchPartitionResult(5, 0, 12, 11, 0, [(9, each) for each in range(200)]),
    "leader hint": FetchPartitionResult(6, ErrorCode.fenced_leader_epoch, leader=LeaderHint(5, 9)),
    "diverging": FetchPartitionResult(7, 0, 12, 11, 0, diverging=(3, 1 << 33)),
    "both": FetchPartitionResult(8, 6, leader=LeaderHint(5, 9), diverging=(3, 8)),
}


def kio_response(version: int, topics: list[FetchTopicResult], **given: Any) -> bytes:
    top: dict[str, Any] = {
        "throttle_time": timedelta(0),
        "error_code": ErrorCode.none,
        "session_id": 0,
    } | given
    entity = load_response_schema(API_KEY, version)
    topic_type = entity_in(fields(entity)["responses"])
    partition_type = entity_in(fields(topic_type)["partitions"])
    known = fields(entity)
    values = {name: value for name, value in top.items() if name in known}
    if "node_endpoints" in values:
        endpoint_type = entity_in(known["node_endpoints"])
        values["node_endpoints"] = tuple(endpoint_type(**each._asdict()) for each in top["node_endpoints"])
    values["responses"] = tuple(
        topic_type(
            **({"topic_id": topic.topic_id} if version >= FIRST_WITH_TOPIC_IDS else {"topic": topic.name}),
            partitions=tuple(kio_partition(partition_type, each) for each in topic.partitions),
        )
        for topic in topics
    )
    return written(entity(**values))


def kio_partition(partition_type: Any, result: FetchPartitionResult) -> Any:
    known = fields(partition_type)
    aborted_type = entity_in(known["aborted_transactions"])
    values: dict[str, Any] = {
        "partition_index": result.partition,
        "error_code": ErrorCode(result.error_code),
        "high_watermark": result.high_watermark,
        "last_stable_offset": result.last_stable_offset,
        "log_start_offset": result.log_start_offset,
        "records": result.records.content if isinstance(result.records, Range) else b"",
        "aborted_transactions": None
        if result.aborted is None
        else tuple(
            aborted_type(producer_id=producer, first_offset=first) for producer, first in result.aborted
        ),
    }
    if "current_leader" in known and result.leader is not None:
        values["current_leader"] = entity_in(known["current_leader"])(**result.leader._asdict())
    if "diverging_epoch" in known and result.diverging is not None:
        epoch, end_offset = result.diverging
        values["diverging_epoch"] = entity_in(known["diverging_epoch"])(epoch=epoch, end_offset=end_offset)
    return partition_type(**{name: value for name, value in values.items() if name in known})


def body_of(version: int, parts: list[Any]) -> bytes:
    frame = b"".join(part.content if isinstance(part, Range) else bytes(part) for part in parts)
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
        FetchTopicResult("t" * 150, ID, [RESULTS[name], RESULTS["records"], RESULTS[name]]),
        FetchTopicResult("empty", ID, []),
    ]

    parts = encode_fetch_response(version, 99, topics, throttle_ms=7, session_id=5)

    expected = kio_response(version, topics, throttle_time=timedelta(milliseconds=7), session_id=5)
    assert body_of(version, parts) == expected


@pytest.mark.parametrize("endpoints", [(), ENDPOINTS[:1], ENDPOINTS])
@pytest.mark.parametrize("version", VERSIONS)
def test_endpoints_are_written_where_the_version_has_them(
    version: int, endpoints: tuple[NodeEndpoint, ...]
) -> None:
    topics = [FetchTopicResult("t", ID, list(RESULTS.values()))]

    parts = encode_fetch_response(version, 99, topics, endpoints=endpoints)

    expected = kio_response(version, topics, node_endpoints=endpoints)
    assert body_of(version, parts) == expected
    assert (b"other" in expected) == (len(endpoints) == 2 and version >= FIRST_WITH_ENDPOINTS)


@pytest.mark.parametrize("version", VERSIONS)
def test_error_of_the_whole_request_has_no_topics(version: int) -> None:
    code = ErrorCode.fetch_session_id_not_found

    parts = encode_fetch_response(version, 99, (), error_code=code)

    assert body_of(version, parts) == kio_response(version, [], error_code=code)


def test_records_are_not_copied_into_the_frame() -> None:
    parts = encode_fetch_response(
        18, 1, [FetchTopicResult("t", ID, [RESULTS["records"], RESULTS["aborted"]])]
    )

    assert [part for part in parts if part is RECORDS] == [RECORDS, RECORDS]
