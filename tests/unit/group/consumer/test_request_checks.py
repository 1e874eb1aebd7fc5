"""Validation of heartbeat requests, with Kafka's messages."""

from typing import Any

import pytest
from tests.unit.group.consumer.consumer_shard import ConsumerShard, partitions_of

from barnabas.base.errors import (
    GroupIdNotFound,
    InvalidRequest,
    KafkaError,
    UnsupportedAssignor,
    UnsupportedVersion,
)
from barnabas.group.environment import RequestContext

JOINING: dict[str, Any] = {"topics": ["orders"], "owned": frozenset(), "timeout": 1000}
VERSION_0 = RequestContext(0, "client", "/127.0.0.1")


@pytest.mark.parametrize(
    ("member_id", "epoch", "fields", "error", "message"),
    [
        ("", 0, JOINING, InvalidRequest, "MemberId can't be empty."),
        (" ", 1, {}, InvalidRequest, "MemberId can't be empty."),
        ("", 1, {"context": VERSION_0}, InvalidRequest, "MemberId can't be empty."),
        ("", -1, {"context": VERSION_0}, InvalidRequest, "MemberId can't be empty."),
        ("a", 0, {**JOINING, "group_id": ""}, InvalidRequest, "GroupId can't be empty."),
        ("a", 0, {**JOINING, "instance_id": ""}, InvalidRequest, "InstanceId can't be empty."),
        ("a", 0, {**JOINING, "rack_id": " "}, InvalidRequest, "RackId can't be empty."),
        (
            "a",
            0,
            {**JOINING, "timeout": -1},
            InvalidRequest,
            "RebalanceTimeoutMs must be provided in first request.",
        ),
        (
            "a",
            0,
            {**JOINING, "owned": None},
            InvalidRequest,
            "TopicPartitions must be empty when (re-)joining.",
        ),
        (
            "a",
            0,
            {**JOINING, "owned": partitions_of("orders", 0)},
            InvalidRequest,
            "TopicPartitions must be empty when (re-)joining.",
        ),
        (
            "a",
            0,
            {**JOINING, "topics": None},
            InvalidRequest,
            "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining.",
        ),
        ("a", -2, {}, InvalidRequest, "InstanceId can't be null."),
        ("a", -3, {}, InvalidRequest, "MemberEpoch is invalid."),
        (
            "a",
            0,
            {**JOINING, "server_assignor": "sticky"},
            UnsupportedAssignor,
            "ServerAssignor sticky is not supported. Supported assignors: uniform, range.",
        ),
        ("a", 3, {}, GroupIdNotFound, "Consumer group g not found."),
        ("a", -1, {}, GroupIdNotFound, "Group g not found."),
    ],
)
def test_an_invalid_request_is_refused(
    member_id: str, epoch: int, fields: dict[str, Any], error: type[KafkaError], message: str
) -> None:
    shard = ConsumerShard()
    answer = shard.heartbeat(member_id, epoch, **fields)
    assert isinstance(answer.error, error)
    assert answer.error.message == message
    assert shard.driver.records == []


def test_a_broker_without_the_protocol_says_so() -> None:
    shard = ConsumerShard(rebalance_protocols=frozenset({"classic"}))
    assert isinstance(shard.try_join("a").error, UnsupportedVersion)
