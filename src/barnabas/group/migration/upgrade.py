"""Converts a classic group to a consumer group when a member with the consumer protocol joins it.

The group epoch is the generation, or the next one if the group is rebalancing. The last assignment of the
members is both their target and their current assignment. Members that use the classic protocol keep using it
in the consumer group: see `classic_members`. `ConsumerGroups` calls `upgrade` for a classic group with
members. One without members is simply replaced.

Nothing changes before the records are replayed. The tombstone of the classic group then answers waiting joins
and syncs with REBALANCE_IN_PROGRESS, and cancels the deadlines of the classic group. The deadlines of the
consumer group are set at once: if the records cannot be written, they find a classic group and do nothing.
"""

import logging
from collections.abc import Mapping
from uuid import UUID

from barnabas.base.errors import CorruptMessage, GroupIdNotFound
from barnabas.group.classic.group import ClassicGroup
from barnabas.group.classic.group_state import STABLE
from barnabas.group.classic.member import ClassicMember
from barnabas.group.consumer.fencing import Fencing
from barnabas.group.consumer.group import ConsumerGroup
from barnabas.group.consumer.member import ConsumerMember, MemberState, topic_names_of
from barnabas.group.consumer.records import creation_records
from barnabas.group.environment import ShardEnvironment
from barnabas.group.group import Group
from barnabas.group.migration.consumer_protocol import (
    MemberSubscription,
    by_topic_id,
    parse_assignment,
    parse_subscription,
)
from barnabas.group.migration.policy import may_upgrade
from barnabas.group.records import (
    Assignment,
    ClassicProtocols,
    ConsumerMemberValue,
    CurrentAssignmentValue,
    GroupRecord,
)
from barnabas.group.subscription_metadata import metadata_hash
from barnabas.metadata.image import ClusterImage

logger = logging.getLogger("coordinator")

_ASSIGNORS_WITHOUT_USER_DATA = frozenset(("range", "roundrobin", "sticky", "cooperative-sticky"))
"""The assignors of all clients. None of them reads the user data of an assignment.

Kafka refuses all user data. But librdkafka's leader returns the user data of each member's subscription,
which cooperative-sticky has: groups of such clients could never be upgraded.
"""


class Upgrades:
    def __init__(self, fencing: Fencing, environment: ShardEnvironment) -> None:
        self._fencing: Fencing = fencing
        self._environment: ShardEnvironment = environment

    def upgrade(self, group: Group, records: list[GroupRecord]) -> ConsumerGroup:
        """Adds to `records` and returns the resulting group.

        Raises GroupIdNotFound if it cannot be upgraded.
        """
        if not isinstance(group, ClassicGroup):
            raise GroupIdNotFound(f"Group {group.group_id} is not a consumer group.")
        self._check(group)
        try:
            upgraded = _consumer_group_of(group, self._environment)
        except CorruptMessage as error:
            logger.warning(
                "Group %s cannot be upgraded; its members cannot be parsed: %s", group.group_id, error
            )
            raise _refused(group, "the subscription or the assignment of a member is malformed") from error
        records.extend(group.tombstones())
        records.extend(creation_records(upgraded))
        for member in group.members.values():
            self._fencing.watch_session(group.group_id, member.member_id, member.session_timeout_ms)
        logger.info(
            "Group %s at generation %d becomes a consumer group with %d classic members",
            group.group_id, group.generation, len(group.members),
        )  # fmt: skip
        return upgraded

    def _check(self, group: ClassicGroup) -> None:
        settings = self._environment.settings
        if not may_upgrade(settings):
            raise _refused(group, "the migration policy does not allow it")
        if not group.uses_consumer_protocol:
            raise _refused(group, f"its protocol type is {group.protocol_type!r}, not 'consumer'")
        if len(group.members) > settings.consumer_max_size:
            raise _refused(group, f"it has more than {settings.consumer_max_size} members")


def _refused(group: ClassicGroup, reason: str) -> GroupIdNotFound:
    logger.info("Group %s cannot be upgraded: %s", group.group_id, reason)
    return GroupIdNotFound(
        f"Classic group {group.group_id} cannot be upgraded to a consumer group: {reason}."
    )


def _consumer_group_of(group: ClassicGroup, environment: ShardEnvironment) -> ConsumerGroup:
    upgraded = ConsumerGroup(group.group_id, environment)
    upgraded.epoch = upgraded.assignment_epoch = group.generation
    if group.state is not STABLE:
        # Its assignments are out of date. The member that joins bumps the epoch, but not if it replaces a
        # static member with the same topics.
        upgraded.epoch += 1
    subscriptions = {
        member.member_id: parse_subscription(_metadata_of(group, member)) for member in group.members.values()
    }
    owners = _owners(group, subscriptions, environment.image)
    for member in group.members.values():
        target = owners.partitions_of(member.member_id)
        upgraded.target[member.member_id] = target
        upgraded.update_member(
            _consumer_member_of(member, group.generation, subscriptions[member.member_id], target)
        )
    upgraded.metadata_hash = metadata_hash(environment.image, upgraded.subscribed_topics)
    return upgraded


class _Owners:
    """The owners of partitions."""

    def __init__(self) -> None:
        self._owners: dict[tuple[UUID, int], str] = {}
        self._partitions: dict[str, dict[UUID, set[int]]] = {}

    def claim(self, member_id: str, partitions: Assignment) -> bool:
        """Returns whether all of them are the member's now. Partitions of other members stay theirs."""
        own = self._partitions.setdefault(member_id, {})
        is_all = True
        for topic_id, numbers in partitions.items():
            for number in numbers:
                if self._owners.setdefault((topic_id, number), member_id) == member_id:
                    own.setdefault(topic_id, set()).add(number)
                else:
                    is_all = False
        return is_all

    def partitions_of(self, member_id: str) -> Assignment:
        own = self._partitions[member_id]
        return {topic_id: frozenset(numbers) for topic_id, numbers in own.items()}


def _owners(
    group: ClassicGroup, subscriptions: Mapping[str, MemberSubscription], image: ClusterImage
) -> _Owners:
    owners = _Owners()
    for member in group.members.values():
        assignment = parse_assignment(member.assignment)
        if assignment.user_data and group.protocol not in _ASSIGNORS_WITHOUT_USER_DATA:
            raise _refused(group, "a custom assignor is in use, whose user data would be lost")
        if not owners.claim(member.member_id, by_topic_id(assignment.partitions, image)):
            # A custom assignor may do so. In the consumer protocol a partition has one owner.
            raise _refused(group, "a partition is assigned to two of its members")
    for member in group.members.values():
        if not member.assignment:
            # An interrupted rebalance removes the assignments, but cooperative members keep their partitions.
            owners.claim(member.member_id, by_topic_id(subscriptions[member.member_id].owned, image))
    return owners


def _consumer_member_of(
    member: ClassicMember, epoch: int, subscription: MemberSubscription, target: Assignment
) -> ConsumerMember:
    value = ConsumerMemberValue(
        instance_id=member.group_instance_id,
        rack_id=subscription.rack_id,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=topic_names_of(subscription.topics),
        subscribed_topic_regex="",
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        server_assignor=None,
        classic=ClassicProtocols(member.session_timeout_ms, member.protocols),
    )
    owned = {topic_id: dict.fromkeys(partitions, epoch) for topic_id, partitions in target.items()}
    return ConsumerMember(
        member.member_id, value, CurrentAssignmentValue(epoch, epoch, MemberState.STABLE, owned, {})
    )


def _metadata_of(group: ClassicGroup, member: ClassicMember) -> bytes:
    """Of the protocol in use. A group in its first rebalance has none yet, and a member may have others.

    A consumer's subscription is the same for every protocol.
    """
    protocols = dict(member.protocols)
    found = protocols.get(group.protocol or "")
    return next(iter(protocols.values())) if found is None else found
