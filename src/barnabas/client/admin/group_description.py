"""ConsumerGroupDescribe and DescribeGroups: the state of a group, its members and their assignments.

The newer request is sent first. If it does not find the group, the older request follows, as in Kafka's admin
client. The assignments of classic members (`ConsumerProtocolAssignment`) are decoded here.
"""

import struct
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from barnabas.client.admin.groups import CLASSIC, CONSUMER, CONSUMER_PROTOCOL, STATES, named
from barnabas.client.admin.leaders import TopicPartition
from barnabas.client.cluster import GROUP, Cluster, Node
from barnabas.client.errors import BrokerError, ClientError, Unsupported, check

_NOT_FOUND, _UNSUPPORTED = 69, 35
_NEWEST_LAYOUT = 3
_VERSION = struct.Struct(">h")


class NotAConsumerGroup(ClientError):
    """The members of the group are not consumers, but for example workers of Kafka Connect."""


@dataclass(frozen=True, slots=True)
class Member:
    id: str
    instance_id: str | None
    """The group instance id of a static member."""
    client_id: str
    host: str
    assignment: tuple[TopicPartition, ...]
    target: tuple[TopicPartition, ...] | None = None
    """The target assignment. Only groups of the consumer protocol have one."""
    epoch: int | None = None
    is_upgraded: bool | None = None
    """Whether a member uses the consumer protocol itself. None if the response does not include it."""


@dataclass(frozen=True, slots=True)
class GroupDescription:
    id: str
    type: str
    state: str
    assignor: str
    """Empty while there is none."""
    coordinator: Node
    members: tuple[Member, ...]
    epoch: int | None = None
    target_epoch: int | None = None

    @property
    def is_active(self) -> bool:
        return self.state not in ("Empty", "Dead")


def describe_group(cluster: Cluster, group: str) -> GroupDescription:
    """Raises BrokerError (`group_id_not_found`) or NotAConsumerGroup."""
    return cluster.retried(lambda: _describe(cluster, group))


def describe_groups(cluster: Cluster, groups: Iterable[str]) -> list[GroupDescription]:
    """By name; raises the first error."""
    return [describe_group(cluster, group) for group in sorted(set(groups))]


def state_of(cluster: Cluster, group: str) -> str:
    """Returns `Dead` if the group does not exist. Raises NotAConsumerGroup."""
    try:
        return describe_group(cluster, group).state
    except BrokerError as error:
        if error.code != _NOT_FOUND:
            raise
        return "Dead"


def _describe(cluster: Cluster, group: str) -> GroupDescription:
    reason: str | None = None
    try:
        answer = cluster.send_to_coordinator(GROUP, group, "consumer_group_describe", group_ids=[group])
        (raw,) = answer.groups
        check(raw.error_code, raw.error_message)
        return _of_consumers(raw, _coordinator(cluster, group))
    except Unsupported:
        pass
    except BrokerError as error:
        if error.code not in (_NOT_FOUND, _UNSUPPORTED):
            raise
        reason = error.message if error.code == _NOT_FOUND else None
    (raw,) = cluster.send_to_coordinator(GROUP, group, "describe_groups", groups=[group]).groups
    # The newer request has the better error message for a missing group.
    check(raw.error_code, reason if reason and raw.error_code == _NOT_FOUND else raw.error_message)
    if raw.protocol_type not in ("", CONSUMER_PROTOCOL):
        raise NotAConsumerGroup(f"GroupId {group} is not a consumer group ({raw.protocol_type}).")
    return _of_classic(raw, _coordinator(cluster, group))


def _coordinator(cluster: Cluster, group: str) -> Node:
    return cluster.nodes[cluster.coordinator(GROUP, group)]


def _of_consumers(raw: Any, coordinator: Node) -> GroupDescription:
    members = tuple(
        Member(
            each.member_id,
            each.instance_id,
            each.client_id,
            each.client_host,
            _topic_partitions(each.assignment.topic_partitions),
            _topic_partitions(each.target_assignment.topic_partitions),
            each.member_epoch,
            None if each.member_type == -1 else each.member_type == 1,
        )
        for each in raw.members
    )
    return GroupDescription(
        raw.group_id,
        CONSUMER,
        named(raw.group_state, STATES),
        raw.assignor_name,
        coordinator,
        members,
        raw.group_epoch,
        raw.assignment_epoch,
    )


def _of_classic(raw: Any, coordinator: Node) -> GroupDescription:
    members = tuple(
        Member(
            each.member_id,
            each.group_instance_id,
            each.client_id,
            each.client_host,
            decode_assignment(bytes(each.member_assignment)),
        )
        for each in raw.members
    )
    state = named(raw.group_state, STATES)
    return GroupDescription(raw.group_id, CLASSIC, state, raw.protocol_data, coordinator, members)


def _topic_partitions(topics: Any) -> tuple[TopicPartition, ...]:
    return tuple(sorted((each.topic_name, number) for each in topics for number in each.partitions))


def decode_assignment(content: bytes) -> tuple[TopicPartition, ...]:
    """The assignment of a classic member. Empty while the group rebalances.

    The data begins with a version. A newer version begins with the fields of the older ones.
    """
    if len(content) < _VERSION.size:
        return ()
    from kio.serial import entity_reader

    version = min(max(_VERSION.unpack_from(content)[0], 0), _NEWEST_LAYOUT)
    module = import_module(f"kio.schema.consumer_protocol_assignment.v{version}.data")
    assignment, _ = entity_reader(module.ConsumerProtocolAssignment)(content, _VERSION.size)
    return tuple(
        sorted((each.topic, number) for each in assignment.assigned_partitions for number in each.partitions)
    )
