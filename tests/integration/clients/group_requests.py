"""Requests of groups and offsets over bare sockets, with everything but the point of the test filled in."""

import struct
import time
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from tests.integration.clients.raw import RawClient
from tests.patience import PATIENCE

from barnabas.testing import Broker

COMMIT_BY_NAME = 9
FETCH_BY_NAME = 9
JOIN = 9
SYNC = 5
HEARTBEAT = 4
LEAVE = 5
NEW_HEARTBEAT = 1


def wait_for_coordinator(port: int, group: str) -> None:
    """The first who asks for a coordinator gets __consumer_offsets created, and must ask again."""
    with RawClient(port) as client:
        deadline = time.monotonic() + PATIENCE
        while (code := client.call("find_coordinator", 3, key=group, key_type=0).error_code) != 0:
            assert time.monotonic() < deadline, code
            time.sleep(0.01)
        while (code := fetch_offsets(client, group, None).error_code) != 0:
            assert time.monotonic() < deadline, code
            time.sleep(0.01)


def subscription(*topics: str) -> bytes:
    """Of the consumer's protocol, version 0."""
    names = b"".join(struct.pack(">h", len(topic)) + topic.encode() for topic in topics)
    return struct.pack(">hi", 0, len(topics)) + names + struct.pack(">i", -1)


def join_fields(group: str, member: str = "", **options: Any) -> dict[str, object]:
    protocols: Sequence[str] = options.pop("protocols", ("range",))
    topics: Sequence[str] = options.pop("topics", ())
    metadata: bytes = options.pop("metadata", subscription(*topics))
    fields: dict[str, object] = {
        "group_id": group,
        "session_timeout": 10_000,
        "rebalance_timeout": 10_000,
        "member_id": member,
        "group_instance_id": None,
        "protocol_type": "consumer",
        "protocols": [{"name": name, "metadata": metadata} for name in protocols],
        "reason": None,
    }
    assert options.keys() <= fields.keys(), options
    return fields | options


def member_count(broker: Broker, group: str) -> int:
    """The members that a group of either protocol has, as its coordinator sees it."""
    with RawClient(broker.port) as client:
        ids = {"group_ids": [group], "include_authorized_operations": False}
        (found,) = client.call("consumer_group_describe", 1, **ids).groups
        if found.error_code:
            names = {"groups": [group], "include_authorized_operations": False}
            (found,) = client.call("describe_groups", 5, **names).groups
    return len(found.members)


def join(client: RawClient, group: str, member: str = "", **options: Any) -> Any:
    """One JoinGroup; nothing is done about MEMBER_ID_REQUIRED."""
    version: int = options.pop("version", JOIN)
    return client.call("join_group", version, **join_fields(group, member, **options))


def join_as_new(client: RawClient, group: str, **options: Any) -> Any:
    """Join without a member id, and again with the one that is given: the answer to the second."""
    first = join(client, group, **options)
    if first.error_code != 79:
        return first
    return join(client, group, first.member_id, **options)


def sync(
    client: RawClient,
    group: str,
    generation: int,
    member: str,
    assignments: Mapping[str, bytes],
    **options: Any,
) -> Any:
    version: int = options.pop("version", SYNC)
    fields: dict[str, object] = {
        "group_id": group,
        "generation_id": generation,
        "member_id": member,
        "group_instance_id": None,
        "protocol_type": "consumer",
        "protocol_name": "range",
        "assignments": [{"member_id": name, "assignment": each} for name, each in assignments.items()],
    }
    return client.call("sync_group", version, **fields | options)


def beat(client: RawClient, group: str, generation: int, member: str, **options: Any) -> int:
    """The error code of a Heartbeat."""
    version: int = options.pop("version", HEARTBEAT)
    fields = {"group_id": group, "generation_id": generation, "member_id": member, "group_instance_id": None}
    code: int = client.call("heartbeat", version, **fields | options).error_code
    return code


def leave(client: RawClient, group: str, *members: tuple[str, str | None], version: int = LEAVE) -> Any:
    """Each of them (member id, instance id)."""
    listed = [
        {"member_id": member, "group_instance_id": instance, "reason": None} for member, instance in members
    ]
    return client.call("leave_group", version, group_id=group, member_id=members[0][0], members=listed)


def join_alone(client: RawClient, group: str, **options: Any) -> tuple[int, str]:
    """A group of one, stable: its generation and its member."""
    joined = join_as_new(client, group, **options)
    assert joined.error_code == 0, joined
    chosen = options.get("protocols", ("range",))[0]
    kind = options.get("protocol_type", "consumer")
    named = {
        "protocol_name": chosen,
        "protocol_type": kind,
        "group_instance_id": options.get("group_instance_id"),
    }
    synced = sync(client, group, joined.generation_id, joined.member_id, {joined.member_id: b"mine"}, **named)
    assert synced.error_code == 0, synced
    return joined.generation_id, joined.member_id


def commit_fields(group: str, topic: str, offsets: Mapping[int, int], **options: Any) -> dict[str, object]:
    partitions = [
        {
            "partition_index": partition,
            "committed_offset": offset,
            "committed_leader_epoch": options.get("leader_epoch", -1),
            "committed_metadata": options.get("metadata", ""),
        }
        for partition, offset in offsets.items()
    ]
    return {
        "group_id": group,
        "generation_id_or_member_epoch": options.get("generation", -1),
        "member_id": options.get("member", ""),
        "group_instance_id": options.get("instance"),
        "retention_time": -1,
        "topics": [{"name": topic, "topic_id": options.get("number"), "partitions": partitions}],
    }


def commit(
    client: RawClient, group: str, topic: str, offsets: Mapping[int, int], **options: Any
) -> list[int]:
    """The error codes of the partitions."""
    version: int = options.pop("version", COMMIT_BY_NAME)
    answer = client.call("offset_commit", version, **commit_fields(group, topic, offsets, **options))
    (found,) = answer.topics
    return [partition.error_code for partition in found.partitions]


def commit_offset(client: RawClient, group: str, topic: str, offset: int, **options: Any) -> int:
    """For partition 0; the error code."""
    (code,) = commit(client, group, topic, {0: offset}, **options)
    return code


def fetch_fields(group: str, topics: Mapping[str, Sequence[int]] | None, **options: Any) -> dict[str, object]:
    """For all versions: those from 8 on ask for several groups."""
    number: uuid.UUID | None = options.get("number")
    listed = None
    if topics is not None:
        listed = [
            {"name": name, "topic_id": number, "partition_indexes": list(partitions)}
            for name, partitions in topics.items()
        ]
    requested = {
        "group_id": group,
        "member_id": options.get("member"),
        "member_epoch": options.get("epoch", -1),
        "topics": listed,
    }
    return {
        "group_id": group,
        "topics": listed,
        "groups": [requested],
        "require_stable": options.get("stable", False),
    }


def fetch_offsets(
    client: RawClient, group: str, topics: Mapping[str, Sequence[int]] | None, **options: Any
) -> Any:
    """The answer of the one group, or the whole answer before version 8."""
    version: int = options.pop("version", FETCH_BY_NAME)
    answer = client.call("offset_fetch", version, **fetch_fields(group, topics, **options))
    if version < 8:
        return answer
    (found,) = answer.groups
    return found


def committed_offset(client: RawClient, group: str, topic: str, partition: int = 0) -> int:
    found = fetch_offsets(client, group, {topic: [partition]})
    assert found.error_code == 0, found.error_code
    ((answer,),) = (each.partitions for each in found.topics)
    assert answer.error_code == 0, answer.error_code
    offset: int = answer.committed_offset
    return offset


def new_heartbeat(client: RawClient, group: str, member: str, epoch: int, **options: Any) -> Any:
    """A ConsumerGroupHeartbeat, of the shape a client sends when it joins."""
    version: int = options.pop("version", NEW_HEARTBEAT)
    fields: dict[str, object] = {
        "group_id": group,
        "member_id": member,
        "member_epoch": epoch,
        "instance_id": None,
        "rack_id": None,
        "rebalance_timeout": 10_000 if epoch == 0 else -1,
        "subscribed_topic_names": None,
        "subscribed_topic_regex": None,
        "server_assignor": None,
        "topic_partitions": [] if epoch == 0 else None,
    }
    assert options.keys() <= fields.keys(), options
    return client.call("consumer_group_heartbeat", version, **fields | options)
