"""KIP-848 over bare sockets: both versions, and what Apache Kafka answers to what is wrong."""

import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from kio.schema.errors import ErrorCode
from tests.integration.clients.conftest import QUICK_GROUPS
from tests.integration.clients.group_requests import (
    beat,
    commit_offset,
    join,
    join_alone,
    new_heartbeat,
    subscription,
)
from tests.integration.clients.raw import RawClient
from tests.integration.clients.requests import topic_id

from barnabas.testing import Broker

LEAVES, LEAVES_FOR_A_WHILE = -1, -2


@pytest.fixture
def client(kafka_broker: Broker) -> Iterator[RawClient]:
    with RawClient(kafka_broker.port) as connected:
        yield connected


def _new_id() -> str:
    return str(uuid.uuid4())


def _given(answer: Any) -> dict[uuid.UUID, list[int]]:
    return {each.topic_id: sorted(each.partitions) for each in answer.assignment.topic_partitions}


@pytest.mark.parametrize("version", [0, 1])
@pytest.mark.kafka_topic(partitions=2)
def test_join_heartbeat_and_leave(client: RawClient, kafka_topic: str, group: str, version: int) -> None:
    number = topic_id(client, kafka_topic)
    requested = "" if version == 0 else _new_id()  # version 0: the broker gives the member its id
    joined = new_heartbeat(client, group, requested, 0, subscribed_topic_names=[kafka_topic], version=version)
    assert (joined.error_code, joined.error_message) == (0, None)
    assert (
        joined.heartbeat_interval.total_seconds() * 1000
        == QUICK_GROUPS["group.consumer.heartbeat.interval.ms"]
    )
    assert joined.member_epoch > 0
    member = joined.member_id
    assert member if version == 0 else member == requested
    assert _given(joined) == {number: [0, 1]}
    owned = [{"topic_id": number, "partitions": [0, 1]}]
    again = new_heartbeat(client, group, member, joined.member_epoch, topic_partitions=owned, version=version)
    assert (again.error_code, again.member_epoch, again.member_id) == (0, joined.member_epoch, member)
    silent = new_heartbeat(client, group, member, joined.member_epoch, version=version)
    assert (silent.error_code, silent.assignment) == (0, None)
    left = new_heartbeat(client, group, member, LEAVES, version=version)
    assert (left.error_code, left.member_epoch, left.assignment) == (0, LEAVES, None)
    removed = new_heartbeat(client, group, member, joined.member_epoch, version=version)
    assert removed.error_code == ErrorCode.unknown_member_id


def test_request_with_something_wrong(client: RawClient, kafka_topic: str, group: str) -> None:
    topics = {"subscribed_topic_names": [kafka_topic]}
    cases: list[tuple[str, str, int, dict[str, Any]]] = [
        ("", _new_id(), 0, topics),
        ("   ", _new_id(), 0, topics),
        (group, "", 0, topics),
        (group, "", 1, topics),
        (group, _new_id(), -3, topics),
        (group, _new_id(), 0, {}),
        (group, _new_id(), 0, topics | {"rebalance_timeout": -1}),
        (group, _new_id(), 0, topics | {"topic_partitions": None}),
        (group, _new_id(), 0, topics | {"topic_partitions": [{"topic_id": uuid.uuid4(), "partitions": [0]}]}),
        (group, _new_id(), 0, topics | {"instance_id": ""}),
        (group, _new_id(), 0, topics | {"rack_id": ""}),
        (group, _new_id(), LEAVES_FOR_A_WHILE, {}),
    ]
    for name, member, epoch, options in cases:
        answer = new_heartbeat(client, name, member, epoch, **options)
        assert answer.error_code == ErrorCode.invalid_request, (name, member, epoch, options)
        assert answer.error_message
        assert (answer.member_id, answer.member_epoch, answer.assignment) == (None, 0, None)


def test_assignor_and_expression_that_the_broker_does_not_know(
    client: RawClient, kafka_topic: str, group: str
) -> None:
    topics = {"subscribed_topic_names": [kafka_topic]}
    assignor = new_heartbeat(client, group, _new_id(), 0, **topics, server_assignor="no-such-assignor")
    assert assignor.error_code == ErrorCode.unsupported_assignor
    assert "uniform" in assignor.error_message
    regex = new_heartbeat(client, group, _new_id(), 0, subscribed_topic_regex="([a-z")
    assert regex.error_code == ErrorCode.invalid_regular_expression


def test_member_and_epoch_are_checked(client: RawClient, kafka_topic: str, group: str) -> None:
    unknown_group = new_heartbeat(client, group, _new_id(), 3)
    assert unknown_group.error_code == ErrorCode.group_id_not_found
    assert new_heartbeat(client, group, _new_id(), LEAVES).error_code == ErrorCode.group_id_not_found
    member = _new_id()
    joined = new_heartbeat(client, group, member, 0, subscribed_topic_names=[kafka_topic])
    assert new_heartbeat(client, group, _new_id(), 1).error_code == ErrorCode.unknown_member_id
    ahead = new_heartbeat(client, group, member, joined.member_epoch + 1)
    assert ahead.error_code == ErrorCode.fenced_member_epoch
    # A member that begins anew with its id is admitted again.
    again = new_heartbeat(client, group, member, 0, subscribed_topic_names=[kafka_topic])
    assert (again.error_code, again.member_epoch) == (0, joined.member_epoch)


@pytest.mark.kafka_topic(partitions=2)
def test_partition_moves_when_its_owner_has_given_it_up(
    client: RawClient, kafka_topic: str, group: str
) -> None:
    number = topic_id(client, kafka_topic)
    first, second = _new_id(), _new_id()
    topics = {"subscribed_topic_names": [kafka_topic]}
    joined = new_heartbeat(client, group, first, 0, **topics)
    assert _given(joined) == {number: [0, 1]}
    waiting = new_heartbeat(client, group, second, 0, **topics)
    assert waiting.member_epoch > joined.member_epoch
    assert _given(waiting) == {}
    # The first has to revoke one, and keeps its epoch until it has.
    requested = new_heartbeat(client, group, first, joined.member_epoch)
    assert requested.member_epoch == joined.member_epoch
    ((_, kept),) = _given(requested).items()
    assert len(kept) == 1
    assert new_heartbeat(client, group, second, waiting.member_epoch).assignment is None
    owned = [{"topic_id": number, "partitions": kept}]
    gave = new_heartbeat(client, group, first, joined.member_epoch, topic_partitions=owned)
    assert gave.member_epoch == waiting.member_epoch
    moved = new_heartbeat(client, group, second, waiting.member_epoch)
    assert _given(moved) == {number: sorted({0, 1} - set(kept))}


def test_static_member_leaves_for_a_while_and_comes_back(
    client: RawClient, kafka_topic: str, group: str
) -> None:
    number = topic_id(client, kafka_topic)
    topics = {"subscribed_topic_names": [kafka_topic], "instance_id": "one"}
    first, second = _new_id(), _new_id()
    joined = new_heartbeat(client, group, first, 0, **topics)
    refused = new_heartbeat(client, group, second, 0, **topics)
    assert refused.error_code == ErrorCode.unreleased_instance_id
    left = new_heartbeat(client, group, first, LEAVES_FOR_A_WHILE, instance_id="one")
    assert (left.error_code, left.member_epoch) == (0, LEAVES_FOR_A_WHILE)
    back = new_heartbeat(client, group, second, 0, **topics)
    assert (back.error_code, back.member_epoch) == (0, joined.member_epoch)
    assert _given(back) == {number: [0]}
    old = new_heartbeat(client, group, first, joined.member_epoch, instance_id="one")
    assert old.error_code == ErrorCode.fenced_instance_id
    unknown = new_heartbeat(client, group, second, joined.member_epoch, instance_id="two")
    assert unknown.error_code == ErrorCode.unknown_member_id


def test_group_takes_no_more_than_its_size(client: RawClient, kafka_topic: str, group: str) -> None:
    size = int(str(QUICK_GROUPS["group.consumer.max.size"]))
    topics = {"subscribed_topic_names": [kafka_topic]}
    for _ in range(size):
        assert new_heartbeat(client, group, _new_id(), 0, **topics).error_code == 0
    refused = new_heartbeat(client, group, _new_id(), 0, **topics)
    assert refused.error_code == ErrorCode.group_max_size_reached


def test_empty_classic_group_becomes_a_new_one_and_back(
    client: RawClient, kafka_topic: str, group: str
) -> None:
    assert commit_offset(client, group, kafka_topic, 3) == 0
    member = _new_id()
    joined = new_heartbeat(client, group, member, 0, subscribed_topic_names=[kafka_topic])
    assert joined.error_code == 0
    assert beat(client, group, 1, member) in (ErrorCode.unknown_member_id, ErrorCode.group_id_not_found)
    new_heartbeat(client, group, member, LEAVES)
    assert join_alone(client, group)[0] > 0


def test_classic_member_of_another_kind_is_not_let_in(
    client: RawClient, kafka_topic: str, group: str
) -> None:
    new_heartbeat(client, group, _new_id(), 0, subscribed_topic_names=[kafka_topic])
    other = join(client, group, protocol_type="connect", metadata=subscription(kafka_topic))
    assert other.error_code == ErrorCode.inconsistent_group_protocol
    proper = join(client, group, metadata=subscription(kafka_topic))
    assert proper.error_code == ErrorCode.member_id_required


@pytest.mark.parametrize("version", [0, 1])
@pytest.mark.kafka_topic(partitions=2)
def test_consumer_group_describe(client: RawClient, kafka_topic: str, group: str, version: int) -> None:
    member = _new_id()
    topics = {"subscribed_topic_names": [kafka_topic], "instance_id": "one", "rack_id": "left"}
    joined = new_heartbeat(client, group, member, 0, **topics)
    join_alone(client, f"{group}-classic")
    names = [group, f"{group}-unknown", f"{group}-classic"]
    answer = client.call(
        "consumer_group_describe", version, group_ids=names, include_authorized_operations=False
    )
    found, unknown, classic = answer.groups
    assert (found.error_code, found.group_state, found.assignor_name) == (0, "Stable", "uniform")
    assert found.group_epoch == found.assignment_epoch == joined.member_epoch
    (described,) = found.members
    assert (described.member_id, described.instance_id, described.rack_id) == (member, "one", "left")
    assert (described.member_epoch, described.client_id, described.client_host) == (
        joined.member_epoch,
        "raw",
        "/127.0.0.1",
    )
    assert (described.subscribed_topic_names, described.subscribed_topic_regex) == ((kafka_topic,), "")
    (owned,) = described.assignment.topic_partitions
    assert (owned.topic_name, sorted(owned.partitions)) == (kafka_topic, [0, 1])
    assert described.target_assignment == described.assignment
    assert getattr(described, "member_type", 1) == 1  # since version 1: it speaks the new protocol
    assert unknown.error_code == classic.error_code == ErrorCode.group_id_not_found
    assert unknown.error_message
    assert (unknown.members, unknown.group_state) == ((), "")
