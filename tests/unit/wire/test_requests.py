"""Every request of the registry, at every version, arrives in the shape of the newest."""

import dataclasses
from typing import Any

import pytest
from kio.index import load_request_schema
from tests.strategies.entities import filled, written

from barnabas.base.errors import InvalidRequest
from barnabas.handlers.registry import APIS, AS_IT_CAME, FETCH, OFFSET_COMMIT, PRODUCE
from barnabas.wire import parse_request
from barnabas.wire.heartbeat import API_KEY as HEARTBEAT
from barnabas.wire.schemas import request_schema

BY_HAND = (PRODUCE, FETCH, OFFSET_COMMIT, HEARTBEAT)
"""Tested equal to kio on their own."""
DELETE_TOPICS = 20
VERSIONS = [
    pytest.param(api.key, version, id=f"{api.name}-v{version}")
    for api in APIS.values()
    for version in range(api.min_version, api.max_version + 1)
    if api.key not in BY_HAND
]


def parse(api_key: int, version: int, data: bytes) -> tuple[Any, Any]:
    return parse_request(api_key, version, newest(api_key, version), memoryview(data).toreadonly(), 0)


def newest(api_key: int, version: int) -> int:
    return version if api_key in AS_IT_CAME else APIS[api_key].max_version


def assert_carried(old: Any, new: Any) -> None:
    """Every field that both versions know is the same."""
    names = {field.name for field in dataclasses.fields(old)} & {
        field.name for field in dataclasses.fields(new)
    }
    for name in names:
        before, after = getattr(old, name), getattr(new, name)
        if dataclasses.is_dataclass(before):
            assert_carried(before, after)
        elif isinstance(before, tuple) and before and dataclasses.is_dataclass(before[0]):
            assert len(before) == len(after)
            for each in zip(before, after, strict=True):
                assert_carried(*each)
        else:
            assert before == after


@pytest.mark.parametrize("nulls", [False, True], ids=["filled", "nulls"])
@pytest.mark.parametrize(("api_key", "version"), VERSIONS)
def test_request_arrives_in_the_newest_shape(api_key: int, version: int, nulls: bool) -> None:
    sent = filled(load_request_schema(api_key, version), nulls=nulls)

    body, raw = parse(api_key, version, written(sent))

    assert raw == sent
    assert type(body) is load_request_schema(api_key, newest(api_key, version))
    assert_carried(sent, body)


@pytest.mark.parametrize(("api_key", "version"), VERSIONS)
def test_torn_request_is_refused_wherever_it_is_cut(api_key: int, version: int) -> None:
    data = written(filled(load_request_schema(api_key, version)))

    for size in range(len(data)):
        with pytest.raises(InvalidRequest):
            parse(api_key, version, data[:size])


@pytest.mark.parametrize("version", range(1, 6))
def test_delete_topics_by_name_becomes_topics_without_id(version: int) -> None:
    sent = filled(load_request_schema(DELETE_TOPICS, version))

    body, _ = parse(DELETE_TOPICS, version, written(sent))

    assert [(topic.name, topic.topic_id) for topic in body.topics] == [
        (name, None) for name in sent.topic_names
    ]


def test_fields_the_old_version_lacks_take_the_schema_s_default() -> None:
    metadata, describe_cluster = 3, 60

    body, _ = parse(metadata, 1, written(filled(load_request_schema(metadata, 1))))
    assert body.allow_auto_topic_creation is True
    assert body.include_topic_authorized_operations is False

    body, _ = parse(describe_cluster, 0, written(filled(load_request_schema(describe_cluster, 0))))
    assert body.endpoint_type == 1


@pytest.mark.parametrize(("api_key", "version"), VERSIONS)
def test_header_with_tags_goes_with_flexible_versions(api_key: int, version: int) -> None:
    schema = request_schema(api_key, version, APIS[api_key].max_version)

    assert schema.has_header_tags == load_request_schema(api_key, version).__flexible__
