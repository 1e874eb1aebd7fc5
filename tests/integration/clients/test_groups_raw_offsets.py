"""Offsets over bare sockets: every version, and what Apache Kafka answers to what is wrong."""

import uuid
from collections.abc import Iterator
from typing import Any, cast

import pytest
from kio.schema.errors import ErrorCode
from tests.integration.clients.group_requests import (
    commit,
    commit_fields,
    commit_offset,
    committed_offset,
    fetch_offsets,
    join_alone,
    join_as_new,
    new_heartbeat,
)
from tests.integration.clients.raw import RawClient
from tests.integration.clients.requests import topic_id

from barnabas.testing import Broker

_MOST_METADATA = 4096
_BY_ID = 10
_NOWHERE = uuid.UUID("12345678-0000-4000-8000-000000000000")


@pytest.fixture
def client(kafka_broker: Broker) -> Iterator[RawClient]:
    with RawClient(kafka_broker.port) as connected:
        yield connected


def _fetched(answer: Any) -> list[tuple[int, int, int, str | None, int]]:
    return [
        (
            each.partition_index,
            each.committed_offset,
            getattr(each, "committed_leader_epoch", -1),  # since version 5
            each.metadata,
            each.error_code,
        )
        for topic in answer.topics
        for each in topic.partitions
    ]


# --- every version -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", range(2, 11))
def test_offset_commit(client: RawClient, kafka_topic: str, group: str, version: int) -> None:
    number = topic_id(client, kafka_topic)
    options = {"number": number, "leader_epoch": 0, "metadata": "words", "version": version}
    assert commit(client, group, kafka_topic, {0: 17}, **options) == [0]
    epoch = 0 if version >= 6 else -1
    assert _fetched(fetch_offsets(client, group, {kafka_topic: [0]})) == [(0, 17, epoch, "words", 0)]


@pytest.mark.parametrize("version", range(1, 11))
@pytest.mark.kafka_topic(partitions=2)
def test_offset_fetch(client: RawClient, kafka_topic: str, group: str, version: int) -> None:
    number = topic_id(client, kafka_topic)
    assert commit(client, group, kafka_topic, {0: 17}, leader_epoch=0, metadata="words") == [0]
    options = {"number": number, "version": version}
    epoch = 0 if version >= 5 else -1
    expected = [(0, 17, epoch, "words", 0), (1, -1, -1, "", 0)]
    requested = fetch_offsets(client, group, {kafka_topic: [0, 1]}, **options)
    assert _fetched(requested) == expected
    assert getattr(requested, "error_code", 0) == 0  # since version 2
    if version >= 10:
        assert requested.topics[0].topic_id == number
    else:
        assert requested.topics[0].name == kafka_topic
    if version >= 2:
        everything = fetch_offsets(client, group, None, **options)
        assert _fetched(everything) == expected[:1]


@pytest.mark.parametrize("version", [8, 9])
def test_several_groups_are_in_one_request(
    client: RawClient, kafka_topic: str, group: str, version: int
) -> None:
    names = [f"{group}-{number}" for number in range(3)]
    for number, name in enumerate(names):
        assert commit_offset(client, name, kafka_topic, number) == 0
    groups = [
        {"group_id": name, "member_id": None, "member_epoch": -1, "topics": None}
        for name in (*names, f"{group}-unknown")
    ]
    answer = client.call("offset_fetch", version, groups=groups, require_stable=True)
    found = {
        each.group_id: (each.error_code, [offset[1] for offset in _fetched(each)]) for each in answer.groups
    }
    assert found == {
        names[0]: (0, [0]),
        names[1]: (0, [1]),
        names[2]: (0, [2]),
        f"{group}-unknown": (0, []),
    }


# --- commits -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [2, 7, 9])
@pytest.mark.kafka_topic(partitions=2)
def test_commit_of_unknown_partitions_spoils_no_others(
    client: RawClient, kafka_topic: str, group: str, version: int
) -> None:
    fields = commit_fields(group, kafka_topic, {0: 5, 7: 5, 1: 6})
    unknown = commit_fields(group, "no-such-topic", {0: 5})
    topics = [each for known in (unknown, fields) for each in cast(list[object], known["topics"])]
    answer = client.call("offset_commit", version, **fields | {"topics": topics})
    codes = {
        (topic.name, each.partition_index): each.error_code
        for topic in answer.topics
        for each in topic.partitions
    }
    missing = ErrorCode.unknown_topic_or_partition
    assert codes == {
        ("no-such-topic", 0): missing,
        (kafka_topic, 0): 0,
        (kafka_topic, 7): missing,
        (kafka_topic, 1): 0,
    }
    assert committed_offset(client, group, kafka_topic, 1) == 6


def test_commit_and_fetch_with_a_topic_id_that_no_topic_has(
    client: RawClient, kafka_topic: str, group: str
) -> None:
    options: dict[str, Any] = {"version": _BY_ID, "number": _NOWHERE}
    assert commit(client, group, kafka_topic, {0: 5, 1: 5}, **options) == [ErrorCode.unknown_topic_id] * 2
    requested = fetch_offsets(client, group, {kafka_topic: [0]}, **options)
    assert _fetched(requested) == [(0, -1, -1, "", ErrorCode.unknown_topic_id)]


@pytest.mark.kafka_topic(partitions=3)
def test_metadata_that_is_too_large_is_refused(client: RawClient, kafka_topic: str, group: str) -> None:
    most = "x" * _MOST_METADATA
    assert commit(client, group, kafka_topic, {0: 1}, metadata=most) == [0]
    # What is counted are characters, as Java does.
    assert commit(client, group, kafka_topic, {2: 1}, metadata="ü" * _MOST_METADATA) == [0]
    refused = commit(client, group, kafka_topic, {1: 1}, metadata=most + "x")
    assert refused == [ErrorCode.offset_metadata_too_large]
    assert _fetched(fetch_offsets(client, group, {kafka_topic: [0, 1]})) == [
        (0, 1, -1, most, 0),
        (1, -1, -1, "", 0),
    ]


def test_no_metadata_is_returned_as_empty(client: RawClient, kafka_topic: str, group: str) -> None:
    assert commit(client, group, kafka_topic, {0: 1}, metadata=None) == [0]
    assert _fetched(fetch_offsets(client, group, {kafka_topic: [0]})) == [(0, 1, -1, "", 0)]


def test_commit_with_something_wrong(client: RawClient, kafka_topic: str, group: str) -> None:
    generation, member = join_alone(client, group, group_instance_id="one")
    ours = {"generation": generation, "member": member, "instance": "one"}
    cases: list[tuple[str, dict[str, Any], ErrorCode]] = [
        (group, {}, ErrorCode.unknown_member_id),
        (group, {"generation": generation}, ErrorCode.unknown_member_id),
        (group, ours | {"generation": generation + 1}, ErrorCode.illegal_generation),
        (group, ours | {"generation": -1}, ErrorCode.illegal_generation),
        (group, ours | {"member": "unknown", "instance": None}, ErrorCode.unknown_member_id),
        (group, ours | {"member": "unknown"}, ErrorCode.fenced_instance_id),
        (group, ours | {"instance": "two"}, ErrorCode.unknown_member_id),
        (f"{group}-unknown", ours, ErrorCode.group_id_not_found),
        (f"{group}-unknown", ours | {"version": 8}, ErrorCode.illegal_generation),
    ]
    for name, options, expected in cases:
        assert commit_offset(client, name, kafka_topic, 3, **options) == expected, (name, options)
    assert committed_offset(client, group, kafka_topic) == -1
    assert commit_offset(client, group, kafka_topic, 3, **ours) == 0
    assert committed_offset(client, group, kafka_topic) == 3


def test_commit_while_the_group_rebalances(
    client: RawClient, kafka_broker: Broker, kafka_topic: str, group: str
) -> None:
    """Members that joined and wait for the leader's assignment must not commit."""
    joined = join_as_new(client, group)
    ours = {"generation": joined.generation_id, "member": joined.member_id}
    assert commit_offset(client, group, kafka_topic, 3, **ours) == ErrorCode.rebalance_in_progress


def test_commit_without_a_member_to_a_group_that_is_empty_or_unknown(
    client: RawClient, kafka_topic: str, group: str
) -> None:
    assert commit_offset(client, group, kafka_topic, 3) == 0
    assert commit_offset(client, group, kafka_topic, 2) == 0
    assert committed_offset(client, group, kafka_topic) == 2


def test_old_clients_commit_to_the_group_without_a_name(
    client: RawClient, kafka_topic: str, group: str
) -> None:
    assert commit_offset(client, "", kafka_topic, 5) == 0
    assert committed_offset(client, "", kafka_topic) == 5


def test_commit_with_the_epoch_of_a_new_member(client: RawClient, kafka_topic: str, group: str) -> None:
    member = str(uuid.uuid4())
    epoch = new_heartbeat(client, group, member, 0, subscribed_topic_names=[kafka_topic]).member_epoch
    ours: dict[str, Any] = {"generation": epoch, "member": member}
    assert commit_offset(client, group, kafka_topic, 3, **ours) == 0
    # Before version 9 clients do not know the word for a stale epoch.
    old = commit_offset(client, group, kafka_topic, 4, **ours, version=8)
    assert old == ErrorCode.unsupported_version
    wrong = ours | {"generation": epoch + 1}
    assert commit_offset(client, group, kafka_topic, 4, **wrong) == ErrorCode.stale_member_epoch
    unknown = ours | {"member": str(uuid.uuid4())}
    assert commit_offset(client, group, kafka_topic, 4, **unknown) == ErrorCode.unknown_member_id
    assert commit_offset(client, group, kafka_topic, 4) == ErrorCode.unknown_member_id
    assert committed_offset(client, group, kafka_topic) == 3


# --- fetches -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [1, 5, 7, 8, 9])
def test_offsets_of_what_is_not_there_are_minus_one(client: RawClient, group: str, version: int) -> None:
    found = fetch_offsets(client, group, {"no-such-topic": [0, 5]}, version=version)
    assert _fetched(found) == [(0, -1, -1, "", 0), (5, -1, -1, "", 0)]
    if version >= 2:
        assert found.error_code == 0
        everything = fetch_offsets(client, group, None, version=version, stable=True)
        assert (everything.error_code, everything.topics) == (0, ())


def test_fetch_checks_member_and_epoch_when_they_are_given(
    client: RawClient, kafka_topic: str, group: str
) -> None:
    member = str(uuid.uuid4())
    epoch = new_heartbeat(client, group, member, 0, subscribed_topic_names=[kafka_topic]).member_epoch
    requested = {kafka_topic: [0]}
    assert fetch_offsets(client, group, requested, member=member, epoch=epoch).error_code == 0
    stale = fetch_offsets(client, group, requested, member=member, epoch=epoch + 1)
    assert stale.error_code == ErrorCode.stale_member_epoch
    unknown = fetch_offsets(client, group, requested, member="unknown", epoch=epoch)
    assert unknown.error_code == ErrorCode.unknown_member_id
    # A classic group has no epochs, and does not check the member id.
    _, classic = join_alone(client, f"{group}-classic")
    assert fetch_offsets(client, f"{group}-classic", requested, member=classic, epoch=1).error_code == 0


def test_deleted_topic_takes_its_offsets_with_it(client: RawClient, kafka_broker: Broker, group: str) -> None:
    topic = f"{group}-short-lived"
    kafka_broker.create_topic(topic)
    assert commit_offset(client, group, topic, 3) == 0
    kafka_broker.delete_topic(topic)
    for _ in range(3000):
        if fetch_offsets(client, group, None).topics == ():
            return
    raise AssertionError("the offset is still there")
