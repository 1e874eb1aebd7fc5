"""Subscriptions and assignments of consumers, compared with the generated codec of the schema."""

from importlib import import_module
from io import BytesIO
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given
from kio.serial import entity_reader, entity_writer
from tests.unit.group.consumer.consumer_shard import image_of, topic_id

from barnabas.base.errors import CorruptMessage
from barnabas.group.migration.consumer_protocol import (
    by_topic_id,
    by_topic_name,
    parse_assignment,
    parse_subscription,
    protocol_version,
    serialize_assignment,
)

VERSIONS = st.integers(0, 3)
NAMES = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), min_size=1, max_size=8)
PARTITIONS = st.dictionaries(NAMES, st.sets(st.integers(0, 2**31 - 1), max_size=4), max_size=4)


def schema(name: str, version: int) -> Any:
    return import_module(f"kio.schema.consumer_protocol_{name}.v{version}.data")


def topic_partitions(module: Any, partitions: dict[str, set[int]]) -> tuple[Any, ...]:
    return tuple(
        module.TopicPartition(topic=topic, partitions=tuple(numbers)) for topic, numbers in partitions.items()
    )


def written(entity: Any, version: int) -> bytes:
    buffer = BytesIO()
    entity_writer(type(entity))(buffer, entity)
    return version.to_bytes(2, "big") + buffer.getvalue()


def subscription(version: int, topics: list[str], owned: dict[str, set[int]], rack: str | None) -> bytes:
    module = schema("subscription", version)
    fields: dict[str, Any] = {"topics": tuple(topics), "user_data": b"mine"}
    if version >= 1:
        fields["owned_partitions"] = topic_partitions(module, owned)
    if version >= 2:
        fields["generation_id"] = 7
    if version >= 3:
        fields["rack_id"] = rack
    return written(module.ConsumerProtocolSubscription(**fields), version)


@given(VERSIONS, st.lists(NAMES, max_size=4), PARTITIONS, st.none() | NAMES)
def test_a_subscription_of_any_version_is_read(
    version: int, topics: list[str], owned: dict[str, set[int]], rack: str | None
) -> None:
    read = parse_subscription(subscription(version, topics, owned, rack))
    assert read.topics == tuple(topics)
    assert read.owned == (owned if version >= 1 else {})
    assert read.rack_id == (rack if version >= 3 else None)


def test_an_empty_rack_is_none() -> None:
    assert parse_subscription(subscription(3, ["orders"], {}, "")).rack_id is None


def test_a_version_of_the_future_is_read_as_the_newest() -> None:
    metadata = b"\x00\x09" + subscription(3, ["orders"], {"orders": {1}}, "r")[2:] + b"more"
    assert parse_subscription(metadata) == parse_subscription(
        subscription(3, ["orders"], {"orders": {1}}, "r")
    )
    assert protocol_version(metadata) == 3


@given(VERSIONS, PARTITIONS, st.none() | st.binary(max_size=5))
def test_an_assignment_of_any_version_is_read(
    version: int, partitions: dict[str, set[int]], user_data: bytes | None
) -> None:
    module = schema("assignment", version)
    entity = module.ConsumerProtocolAssignment(
        assigned_partitions=topic_partitions(module, partitions), user_data=user_data
    )
    assert parse_assignment(written(entity, version)) == (partitions, user_data or b"")


@given(VERSIONS, PARTITIONS)
def test_an_assignment_that_is_written_is_one(version: int, partitions: dict[str, set[int]]) -> None:
    raw = serialize_assignment(partitions, version)
    assert raw[:2] == version.to_bytes(2, "big")
    module = schema("assignment", version)
    entity, size = entity_reader(module.ConsumerProtocolAssignment)(raw, 2)
    assert size == len(raw) - 2
    assert {each.topic: set(each.partitions) for each in entity.assigned_partitions} == partitions
    assert entity.user_data is None


def test_no_bytes_assign_nothing() -> None:
    assert parse_assignment(b"") == ({}, b"")


@pytest.mark.parametrize("raw", [b"", b"\x00", b"\x80\x00\x00\x00\x00\x00"])
def test_a_version_that_is_none_is_malformed(raw: bytes) -> None:
    with pytest.raises(CorruptMessage):
        protocol_version(raw)


def test_a_subscription_that_ends_early_is_malformed() -> None:
    whole = subscription(3, ["orders"], {"orders": {1, 2}}, "rack")
    for end in range(len(whole)):
        with pytest.raises(CorruptMessage):
            parse_subscription(whole[:end])


def test_an_assignment_that_ends_early_is_malformed() -> None:
    whole = serialize_assignment({"orders": [1, 2]}, 3)
    for end in range(1, len(whole)):
        with pytest.raises(CorruptMessage):
            parse_assignment(whole[:end])


def test_topics_that_do_not_exist_are_left_out() -> None:
    image = image_of({"orders": 3})
    assert by_topic_id({"orders": [0, 1], "deleted": [0]}, image) == {topic_id("orders"): frozenset((0, 1))}
    assert by_topic_name({topic_id("orders"): {2}, topic_id("deleted"): {0}}, image) == {"orders": (2,)}
