"""A classic group becomes a consumer group: a member that uses the consumer protocol joins it.

The group's epoch is the generation it had, or the next one if it is rebalancing; what its members were
assigned last is both their target and what they own. Members that use the classic protocol stay what they
are, inside the consumer group: see `classic_members`. `ConsumerGroups` calls `upgrade` for a classic group
that has members; one that has none is simply replaced.

Nothing changes before the records are replayed. The classic group's tombstone then answers whoever waits for
a join or a sync that a rebalance is in progress, and ends the deadlines of the classic group. The deadlines
of the consumer group are set at once: if the records cannot be written they find a classic group and do
nothing.
"""

import logging
from collections.abc import Mapping
from uuid import UUID

from barnabas.base.errors import CorruptMessage, GroupIdNotFound
from barnabas.coordinator.classic.group import ClassicGroup
from barnabas.coordinator.classic.group_state import STABLE
from barnabas.coordinator.classic.member import ClassicMember
from barnabas.coordinator.consumer.fencing import Fencing
from barnabas.coordinator.consumer.group import ConsumerGroup
from barnabas.coordinator.consumer.member import ConsumerMember, MemberState, topic_names_of
from barnabas.coordinator.consumer.records import creation_records
from barnabas.coordinator.environment import ShardEnvironment
from barnabas.coordinator.group import Group
from barnabas.coordinator.group_records import (
    Assignment,
    ClassicProtocols,
    ConsumerMemberValue,
    CurrentAssignmentValue,
    GroupRecord,
)
from barnabas.coordinator.migration.consumer_protocol import (
    MemberSubscription,
    by_topic_id,
    parse_assignment,
    parse_subscription,
)
from barnabas.coordinator.migration.policy import may_upgrade
from barnabas.coordinator.subscription_metadata import metadata_hash
from barnabas.metadata.image import ClusterImage

logger = logging.getLogger("coordinator")

_ASSIGNORS_WITHOUT_USER_DATA = frozenset(("range", "roundrobin", "sticky", "cooperative-sticky"))
"""Those every client has; none of them reads what an assignment says beside its partitions.

Kafka refuses all user data. But librdkafka's leader sends each member back what it joined with, which for
cooperative-sticky is something: groups of such clients could never be upgraded.
"""


class Upgrades:
    def __init__(self, fencing: Fencing, environment: ShardEnvironment) -> None:
        self._fencing: Fencing = fencing
        self._environment: ShardEnvironment = environment

    def upgrade(self, group: Group, records: list[GroupRecord]) -> ConsumerGroup:
        """The group as `records`, which are added to, make it. Raises GroupIdNotFound when it cannot be."""
        if not isinstance(group, ClassicGroup):
            raise GroupIdNotFound(f"Group {group.group_id} is not a consumer group.")
        self._check(group)
        try:
            upgraded = _consumer_group_of(group, self._environment)
        except CorruptMessage as error:
            logger.warning("Group %s cannot be upgraded, its members are not read: %s", group.group_id, error)
            raise _refused(group, "what its members joined with, or were assigned, is malformed") from error
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
            raise _refused(group, f"its members are not consumers but {group.protocol_type!r}")
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
        # Its assignments are out of date. The member that joins bumps the epoch, but not if it takes the
        # place of a static one and wants the same topics.
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
    """Who has which partition."""

    def __init__(self) -> None:
        self._owners: dict[tuple[UUID, int], str] = {}
        self._partitions: dict[str, dict[UUID, set[int]]] = {}

    def claim(self, member_id: str, partitions: Assignment) -> bool:
        """Whether all of them are the member's now; what is somebody else's stays so."""
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
            raise _refused(group, "an assignor of its own is in use, whose user data would be lost")
        if not owners.claim(member.member_id, by_topic_id(assignment.partitions, image)):
            # An assignor of their own may do so; the consumer protocol has one owner for a partition.
            raise _refused(group, "a partition is assigned to two of its members")
    for member in group.members.values():
        if not member.assignment:
            # A rebalance that is cut short takes the assignments away, but cooperative members hold on.
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
    """Of the protocol in use; a group in its first rebalance has none yet, and a member may bring others.

    A consumer subscribes to the same whatever the protocol.
    """
    protocols = dict(member.protocols)
    found = protocols.get(group.protocol or "")
    return next(iter(protocols.values())) if found is None else found
