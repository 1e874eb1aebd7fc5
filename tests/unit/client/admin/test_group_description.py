import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import pytest
from tests.fakes.scripted_broker import Answer, ScriptedBroker
from tests.patience import PATIENCE

from barnabas.client.address import Address
from barnabas.client.admin.group_description import (
    Member,
    NotAConsumerGroup,
    decode_assignment,
    describe_group,
    state_of,
)
from barnabas.client.cluster import Cluster
from barnabas.client.errors import BrokerError
from barnabas.client.settings import ClientSettings

GROUP_ID_NOT_FOUND, UNSUPPORTED_VERSION, GROUP_AUTHORIZATION_FAILED = 69, 35, 30
COORDINATOR = {"node_id": 1, "host": "127.0.0.1", "port": 1}


def _text(text: str) -> bytes:
    return struct.pack(">h", len(text)) + text.encode()


def _assignment(version: int, topics: Mapping[str, list[int]]) -> bytes:
    body = struct.pack(">hi", version, len(topics))
    for topic, numbers in topics.items():
        body += _text(topic) + struct.pack(f">i{len(numbers)}i", len(numbers), *numbers)
    return body + struct.pack(">i", -1)


@contextmanager
def _cluster(answers: Mapping[str, Answer]) -> Iterator[Cluster]:
    with ScriptedBroker({"find_coordinator": COORDINATOR, **answers}) as broker:
        settings = ClientSettings(
            (Address("127.0.0.1", broker.port),), request_timeout=PATIENCE, patience=0.0
        )
        with Cluster(settings) as cluster:
            yield cluster


def _topic_partitions(topic: str, *numbers: int) -> Mapping[str, object]:
    return {"topic_partitions": [{"topic_id": None, "topic_name": topic, "partitions": list(numbers)}]}


def _refusal(code: int, message: str | None = None) -> Mapping[str, object]:
    return {"groups": [{"group_id": "g", "error_code": code, "error_message": message}]}


def _classic(protocol_type: str = "consumer", content: bytes = b"") -> Mapping[str, object]:
    member = {
        "member_id": "m",
        "client_id": "c",
        "client_host": "/h",
        "group_instance_id": "i",
        "member_assignment": content,
        "member_metadata": b"",
    }
    group = {
        "group_id": "g",
        "group_state": "Stable",
        "protocol_type": protocol_type,
        "protocol_data": "range",
        "members": [member],
    }
    return {"groups": [group]}


def test_group_of_the_new_protocol_is_described_with_its_epochs_and_targets() -> None:
    member = {
        "member_id": "m",
        "instance_id": None,
        "client_id": "c",
        "client_host": "/h",
        "member_epoch": 4,
        "assignment": _topic_partitions("t", 1, 0),
        "target_assignment": _topic_partitions("t", 0),
        "member_type": 1,
    }
    group = {
        "group_id": "g",
        "group_state": "Reconciling",
        "group_epoch": 5,
        "assignment_epoch": 4,
        "assignor_name": "uniform",
        "members": [member],
    }
    with _cluster({"consumer_group_describe": {"groups": [group]}}) as cluster:
        found = describe_group(cluster, "g")
    assert (found.type, found.state, found.assignor) == ("Consumer", "Reconciling", "uniform")
    assert (found.epoch, found.target_epoch, found.is_active) == (5, 4, True)
    expected = Member("m", None, "c", "/h", (("t", 0), ("t", 1)), (("t", 0),), 4, is_upgraded=True)
    assert found.members == (expected,)


@pytest.mark.parametrize("code", [GROUP_ID_NOT_FOUND, UNSUPPORTED_VERSION])
def test_group_unknown_to_the_new_request_is_described_by_the_old_one(code: int) -> None:
    answers = {
        "consumer_group_describe": _refusal(code),
        "describe_groups": _classic(content=_assignment(1, {"t": [2, 0]})),
    }
    with _cluster(answers) as cluster:
        found = describe_group(cluster, "g")
    assert (found.type, found.assignor, found.epoch) == ("Classic", "range", None)
    assert found.members == (Member("m", "i", "c", "/h", (("t", 0), ("t", 2))),)


def test_broker_without_the_new_request_gets_the_old_one() -> None:
    with _cluster({"describe_groups": _classic()}) as cluster:
        assert describe_group(cluster, "g").members[0].assignment == ()


def test_missing_group_has_the_error_of_the_new_request() -> None:
    answers = {
        "consumer_group_describe": _refusal(GROUP_ID_NOT_FOUND, "Group g not found."),
        "describe_groups": _refusal(GROUP_ID_NOT_FOUND, "of the old"),
    }
    with _cluster(answers) as cluster:
        with pytest.raises(BrokerError, match=r"^Group g not found\.$"):
            describe_group(cluster, "g")
        assert state_of(cluster, "g") == "Dead"


def test_group_that_must_not_be_looked_at_is_an_error_at_once() -> None:
    answers = {
        "consumer_group_describe": _refusal(GROUP_AUTHORIZATION_FAILED),
        "describe_groups": _classic(),
    }
    with _cluster(answers) as cluster, pytest.raises(BrokerError, match="Group authorization failed"):
        state_of(cluster, "g")


def test_group_of_connect_is_none_of_consumers() -> None:
    with (
        _cluster({"describe_groups": _classic("connect")}) as cluster,
        pytest.raises(NotAConsumerGroup, match=r"GroupId g is not a consumer group \(connect\)\."),
    ):
        describe_group(cluster, "g")


@pytest.mark.parametrize("version", [0, 1, 2, 3])
def test_assignment_of_every_version_is_read(version: int) -> None:
    assert decode_assignment(_assignment(version, {"b": [1], "a": [3, 2]})) == (("a", 2), ("a", 3), ("b", 1))


def test_assignment_of_a_newer_version_is_read_as_the_newest_known() -> None:
    assert decode_assignment(_assignment(9, {"a": [0]}) + b"more") == (("a", 0),)


def test_no_assignment_yet_is_no_partitions() -> None:
    assert decode_assignment(b"") == ()
