"""Every API in every version: the response to an example request has the error in each error field."""

import dataclasses
import datetime as dt
import random
from collections.abc import Iterator
from io import BytesIO
from typing import Any
from uuid import UUID

import pytest
from kio.index import load_request_schema, load_response_schema
from kio.serial import entity_reader, entity_writer

from barnabas.base.clock import ManualClock
from barnabas.base.errors import ErrorCode
from barnabas.handlers.fetch_sessions import FetchSessions
from barnabas.handlers.registry import APIS, FETCH, PRODUCE
from barnabas.testing.error_responses import (
    METADATA,
    error_response,
    topics_of,
    with_throttle_time,
    with_topic_errors,
)
from barnabas.wire.fetch import parse_fetch
from barnabas.wire.header import RequestHeader
from barnabas.wire.produce import parse_produce
from barnabas.wire.schema_fields import entity_of, is_array
from barnabas.wire.schemas import response_schema

CODE = ErrorCode.not_coordinator
TOPIC_ID = UUID(int=5)
_VALUES: dict[str, Any] = {
    "string": "a",
    "bytes": b"",
    "records": b"",
    "uuid": TOPIC_ID,
    "bool": False,
    "float64": 1.0,
    "error_code": ErrorCode.none,
    "timedelta_i32": dt.timedelta(milliseconds=7),
    "timedelta_i64": dt.timedelta(milliseconds=7),
    "datetime_i64": dt.datetime(2026, 1, 1, tzinfo=dt.UTC),
}
_WITHOUT_A_FIELD = {("DescribeLogDirs", 1), ("DescribeLogDirs", 2)}
"""Their error is for a log directory that the request does not name; Kafka's response is empty as well."""


def _example(entity: Any) -> Any:
    return entity(**{field.name: _value(field) for field in dataclasses.fields(entity)})


def _value(field: "dataclasses.Field[Any]") -> Any:
    inner = entity_of(field.type)
    if inner is not None:
        return (_example(inner),) if is_array(field.type) else _example(inner)
    value = _VALUES.get(field.metadata["kafka_type"], 7)
    return (value,) if is_array(field.type) else value


def _codes(entity: Any) -> Iterator[tuple[Any, ErrorCode]]:
    for field in dataclasses.fields(entity):
        value = getattr(entity, field.name)
        if field.metadata.get("kafka_type") == "error_code":
            yield entity, value
        for each in value if isinstance(value, tuple) else ():
            if dataclasses.is_dataclass(each):
                yield from _codes(each)


def _decoded(parts: list[Any], key: int, version: int) -> Any:
    frame = b"".join(bytes(part) for part in parts)
    assert int.from_bytes(frame[:4], "big") == len(frame) - 4
    assert int.from_bytes(frame[4:8], "big") == 42
    begin = 8 + response_schema(key, version).has_header_tags
    response, size = entity_reader(load_response_schema(key, version))(memoryview(frame), begin)
    assert begin + size == len(frame)
    return response


def _sessions() -> FetchSessions:
    return FetchSessions(10, ManualClock(), random.Random(1))


def _request(key: int, version: int) -> Any:
    entity = load_request_schema(key, version)
    example = _example(entity)
    if key not in (PRODUCE, FETCH):
        return example
    out = BytesIO()
    if key == FETCH and version >= 7:
        example = dataclasses.replace(example, session_id=0, session_epoch=0)
    entity_writer(entity)(out, example)
    parse: Any = parse_produce if key == PRODUCE else parse_fetch
    return parse(version, memoryview(out.getvalue()), 0)


_ALL = [
    pytest.param(api.key, version, id=f"{api.name}-{version}")
    for api in APIS.values()
    if (api.is_advertised or api.is_between_brokers) and api.key != METADATA
    for version in range(api.min_version, api.max_version + 1)
]


@pytest.mark.parametrize(("key", "version"), _ALL)
def test_error_is_in_every_error_field_of_a_valid_response(key: int, version: int) -> None:
    body = _request(key, version)
    parts = error_response(RequestHeader(key, version, 42, 0), body, CODE, _sessions())
    found = list(_codes(_decoded(parts, key, version)))
    if (APIS[key].name, version) in _WITHOUT_A_FIELD:
        return
    if key == FETCH:  # The error of its partitions, and no error at the top.
        found = [(item, code) for item, code in found if hasattr(item, "partition_index")]
    assert found
    assert {code for _, code in found} == {CODE}
    for item, _ in found:
        for name, value in _identity(item):
            assert value in ("a", 7, TOPIC_ID), (item, name)


def _identity(item: Any) -> Iterator[tuple[str, Any]]:
    names = ("partition_index", "partition", "partition_id", "index", "group_id", "resource_name", "key")
    for name in names:
        if hasattr(item, name):
            yield name, getattr(item, name)


def test_errors_of_a_partition_are_below_the_names_of_the_request() -> None:
    for key, version in ((PRODUCE, 9), (2, 7), (8, 8), (21, 2), (28, 3), (61, 0)):
        parts = error_response(RequestHeader(key, version, 42, 0), _request(key, version), CODE, _sessions())
        response = _decoded(parts, key, version)
        (topic,) = response.responses if key == PRODUCE else response.topics
        assert topic.name == "a"


def test_fetch_of_a_session_answers_for_the_partitions_it_remembers() -> None:
    sessions = _sessions()
    opening = _request(FETCH, 13)
    session = sessions.resolve(opening, uses_topic_ids=True).session
    assert session is not None
    later = opening._replace(session_id=session.id, session_epoch=1, topics=[], forgotten=[])
    assert list(topics_of(FETCH, later, sessions)) == [TOPIC_ID]
    response = _decoded(error_response(RequestHeader(FETCH, 13, 42, 0), later, CODE, sessions), FETCH, 13)
    (topic,) = response.responses
    assert (response.session_id, topic.topic_id, topic.partitions[0].error_code) == (
        session.id,
        TOPIC_ID,
        CODE,
    )
    assert session.epoch == 2


def test_error_of_a_fetch_session_is_at_the_top() -> None:
    code = ErrorCode.fetch_session_id_not_found
    parts = error_response(RequestHeader(FETCH, 17, 42, 0), _request(FETCH, 17), code, _sessions())
    response = _decoded(parts, FETCH, 17)
    assert (response.error_code, response.responses) == (code, ())


def _response(key: int, version: int) -> list[Any]:
    entity = load_response_schema(key, version)
    out = BytesIO()
    entity_writer(entity)(out, _example(entity))
    head = (42).to_bytes(4, "big") + b"\x00" * response_schema(key, version).has_header_tags
    body = head + out.getvalue()
    return [len(body).to_bytes(4, "big") + body]


@pytest.mark.parametrize("version", range(APIS[METADATA].min_version, APIS[METADATA].max_version + 1))
def test_metadata_has_the_error_at_its_topics_and_keeps_the_brokers(version: int) -> None:
    code = ErrorCode.leader_not_available
    response = _decoded(with_topic_errors(_response(METADATA, version), version, code), METADATA, version)
    assert [(each.error_code, each.partitions) for each in response.topics] == [(code, ())]
    assert len(response.brokers) == 1


@pytest.mark.parametrize(
    ("key", "version"), [(PRODUCE, 3), (PRODUCE, 12), (FETCH, 4), (FETCH, 17), (18, 3), (8, 8)]
)
def test_throttle_time_is_set_and_the_rest_stays(key: int, version: int) -> None:
    parts = _response(key, version)
    throttled = with_throttle_time(parts, key, version, 1234)
    assert throttled is not None
    before, after = _decoded(parts, key, version), _decoded(throttled, key, version)
    assert after.throttle_time == dt.timedelta(milliseconds=1234)
    assert dataclasses.replace(after, throttle_time=before.throttle_time) == before


def test_response_without_a_throttle_time_cannot_be_throttled() -> None:
    assert with_throttle_time(_response(17, 1), 17, 1, 1) is None  # SaslHandshake


def test_topics_of_a_request() -> None:
    sessions = _sessions()
    for name, version in (("Metadata", 12), ("CreateTopics", 7), ("DeleteTopics", 5), ("OffsetCommit", 8)):
        key = next(api.key for api in APIS.values() if api.name == name)
        assert list(topics_of(key, _example(load_request_schema(key, version)), sessions)) == ["a"]
    assert list(topics_of(9, _example(load_request_schema(9, 8)), sessions)) == ["a"]  # below groups
