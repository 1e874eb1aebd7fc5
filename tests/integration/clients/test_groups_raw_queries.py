"""Finding, listing, describing and deleting groups and their offsets over bare sockets, at every version."""

import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from kio.schema.errors import ErrorCode
from tests.integration.clients.group_requests import (
    commit,
    commit_offset,
    committed_offset,
    fetch_offsets,
    join_alone,
    join_as_new,
    leave,
    new_heartbeat,
    subscription,
)
from tests.integration.clients.raw import RawClient

from barnabas.testing import Broker

_GROUP, _TRANSACTION = 0, 1


@pytest.fixture
def client(kafka_broker: Broker) -> Iterator[RawClient]:
    with RawClient(kafka_broker.port) as connected:
        yield connected


def _find(client: RawClient, version: int, key_type: int, *keys: str) -> list[Any]:
    answer = client.call("find_coordinator", version, key=keys[0], key_type=key_type, coordinator_keys=keys)
    return list(answer.coordinators) if version >= 4 else [answer]


@pytest.mark.parametrize("version", range(7))
def test_find_coordinator(client: RawClient, kafka_broker: Broker, group: str, version: int) -> None:
    (found,) = _find(client, version, _GROUP, group)
    assert (found.error_code, found.host, found.port) == (0, "127.0.0.1", kafka_broker.port)
    if version >= 4:
        assert (found.key, found.error_message) == (group, "")
    elif version >= 1:
        assert found.error_message == "NONE"


@pytest.mark.parametrize("version", [4, 5, 6])
def test_find_several_coordinators(client: RawClient, kafka_broker: Broker, group: str, version: int) -> None:
    names = [f"{group}-{number}" for number in range(5)]
    found = _find(client, version, _GROUP, *names)
    assert [each.key for each in found] == names
    assert {(each.error_code, each.port) for each in found} == {(0, kafka_broker.port)}


@pytest.mark.parametrize("version", [1, 3, 4, 6])
def test_find_coordinator_of_a_kind_that_there_is_not(client: RawClient, version: int) -> None:
    (found,) = _find(client, version, 9, "key")
    assert found.error_code == ErrorCode.invalid_request
    assert (found.node_id, found.host, found.port) == (-1, "", -1)


@pytest.mark.parametrize("version", range(6))
def test_list_groups(client: RawClient, kafka_topic: str, group: str, version: int) -> None:
    join_alone(client, f"{group}-classic")
    new_heartbeat(client, f"{group}-new", str(uuid.uuid4()), 0, subscribed_topic_names=[kafka_topic])
    commit_offset(client, f"{group}-standalone", kafka_topic, 1)
    answer = client.call("list_groups", version, states_filter=[], types_filter=[])
    assert answer.error_code == 0
    found = {
        each.group_id.removeprefix(group): (
            each.protocol_type,
            getattr(each, "group_state", None),
            getattr(each, "group_type", None),
        )
        for each in answer.groups
        if each.group_id.startswith(group)
    }
    expected = {
        "-classic": ("consumer", "Stable", "classic"),
        "-new": ("consumer", "Stable", "consumer"),
        "-standalone": ("", "Empty", "classic"),
    }
    if version < 5:
        expected = {name: (kind, state, None) for name, (kind, state, _) in expected.items()}  # type: ignore[misc]
    if version < 4:
        expected = {name: (kind, None, None) for name, (kind, *_) in expected.items()}  # type: ignore[misc]
    assert found == expected


@pytest.mark.parametrize(
    ("states", "types", "expected"),
    [
        (["Stable"], [], {"-classic", "-new"}),
        (["Empty"], [], {"-standalone"}),
        (["empty", "dead"], [], {"-standalone"}),
        ([], ["Consumer"], {"-new"}),
        ([], ["classic"], {"-classic", "-standalone"}),
        (["Stable"], ["Classic"], {"-classic"}),
        (["no such state"], [], set()),
        ([], ["no such type"], set()),
    ],
)
def test_list_groups_with_filters(
    client: RawClient, kafka_topic: str, group: str, states: list[str], types: list[str], expected: set[str]
) -> None:
    join_alone(client, f"{group}-classic")
    new_heartbeat(client, f"{group}-new", str(uuid.uuid4()), 0, subscribed_topic_names=[kafka_topic])
    commit_offset(client, f"{group}-standalone", kafka_topic, 1)
    answer = client.call("list_groups", 5, states_filter=states, types_filter=types)
    found = {each.group_id.removeprefix(group) for each in answer.groups if each.group_id.startswith(group)}
    assert (answer.error_code, found) == (0, expected)


def _describe(client: RawClient, version: int, *groups: str) -> list[Any]:
    requested = {"groups": groups, "include_authorized_operations": False}
    return list(client.call("describe_groups", version, **requested).groups)


@pytest.mark.parametrize("version", range(7))
def test_describe_groups(client: RawClient, kafka_topic: str, group: str, version: int) -> None:
    _, member = join_alone(client, group, group_instance_id="one", topics=(kafka_topic,))
    (found,) = _describe(client, version, group)
    assert (found.error_code, found.group_state) == (0, "Stable")
    assert (found.group_id, found.protocol_type, found.protocol_data) == (group, "consumer", "range")
    (described,) = found.members
    assert (described.member_id, described.client_id, described.client_host) == (member, "raw", "/127.0.0.1")
    assert (described.member_metadata, described.member_assignment) == (subscription(kafka_topic), b"mine")
    if version >= 4:
        assert described.group_instance_id == "one"


@pytest.mark.parametrize("version", [0, 5, 6])
def test_describe_groups_that_are_not_there(
    client: RawClient, kafka_topic: str, group: str, version: int
) -> None:
    """Up to version 5 they are dead; version 6 has an error for it."""
    new_heartbeat(client, f"{group}-new", str(uuid.uuid4()), 0, subscribed_topic_names=[kafka_topic])
    for name in (f"{group}-unknown", f"{group}-new"):
        (found,) = _describe(client, version, name)
        assert found.error_code == (ErrorCode.group_id_not_found if version >= 6 else 0)
        assert (found.group_state, found.members, found.protocol_type) == ("Dead", (), "")


def test_states_of_a_classic_group(client: RawClient, kafka_topic: str, group: str) -> None:
    joined = join_as_new(client, group)
    (waiting,) = _describe(client, 5, group)
    assert waiting.group_state == "CompletingRebalance"
    assert waiting.protocol_data == ""
    leave(client, group, (joined.member_id, None))
    (empty,) = _describe(client, 5, group)
    assert (empty.group_state, empty.protocol_type, empty.members) == ("Empty", "consumer", ())


def _delete(client: RawClient, version: int, *groups: str) -> dict[str, int]:
    answer = client.call("delete_groups", version, groups_names=groups)
    return {each.group_id: each.error_code for each in answer.results}


@pytest.mark.parametrize("version", range(3))
def test_delete_groups(client: RawClient, kafka_topic: str, group: str, version: int) -> None:
    names = [f"{group}-{kind}" for kind in ("classic", "new", "empty", "unknown")]
    classic, new, empty, unknown = names
    join_alone(client, classic)
    new_heartbeat(client, new, str(uuid.uuid4()), 0, subscribed_topic_names=[kafka_topic])
    commit_offset(client, empty, kafka_topic, 1)
    assert _delete(client, version, *names) == {
        classic: ErrorCode.non_empty_group,
        new: ErrorCode.non_empty_group,
        empty: 0,
        unknown: ErrorCode.group_id_not_found,
    }
    assert fetch_offsets(client, empty, None).topics == ()
    assert _delete(client, version, empty) == {empty: ErrorCode.group_id_not_found}


def _delete_offsets(client: RawClient, group: str, topics: dict[str, list[int]]) -> Any:
    listed = [
        {"name": name, "partitions": [{"partition_index": number} for number in partitions]}
        for name, partitions in topics.items()
    ]
    return client.call("offset_delete", 0, group_id=group, topics=listed)


@pytest.mark.kafka_topic(partitions=2)
def test_offset_delete(client: RawClient, kafka_topic: str, group: str) -> None:
    assert commit(client, group, kafka_topic, {0: 1, 1: 2}) == [0, 0]
    answer = _delete_offsets(client, group, {kafka_topic: [0, 9], "no-such-topic": [0]})
    assert answer.error_code == 0
    codes = {
        (topic.name, each.partition_index): each.error_code
        for topic in answer.topics
        for each in topic.partitions
    }
    missing = ErrorCode.unknown_topic_or_partition
    assert codes == {(kafka_topic, 0): 0, (kafka_topic, 9): missing, ("no-such-topic", 0): missing}
    assert [committed_offset(client, group, kafka_topic, number) for number in range(2)] == [-1, 2]


def test_offset_delete_of_a_topic_that_is_subscribed_to(
    client: RawClient, kafka_broker: Broker, kafka_topic: str, group: str
) -> None:
    other = f"{group}-other"
    kafka_broker.create_topic(other)
    commit_offset(client, group, kafka_topic, 1)
    commit_offset(client, group, other, 1)
    join_alone(client, group, topics=(kafka_topic,))
    answer = _delete_offsets(client, group, {kafka_topic: [0], other: [0]})
    codes = {topic.name: topic.partitions[0].error_code for topic in answer.topics}
    assert codes == {kafka_topic: ErrorCode.group_subscribed_to_topic, other: 0}
    assert committed_offset(client, group, kafka_topic) == 1


def test_offset_delete_of_a_group_that_is_not_there(client: RawClient, kafka_topic: str, group: str) -> None:
    unknown = _delete_offsets(client, group, {kafka_topic: [0]})
    assert (unknown.error_code, unknown.topics) == (ErrorCode.group_id_not_found, ())


def test_offset_delete_of_a_group_of_another_kind(client: RawClient, kafka_topic: str, group: str) -> None:
    """The subscription of a group that is not of consumers is unknown."""
    join_alone(client, group, protocol_type="connect")
    answer = _delete_offsets(client, group, {kafka_topic: [0]})
    assert answer.error_code == ErrorCode.non_empty_group
