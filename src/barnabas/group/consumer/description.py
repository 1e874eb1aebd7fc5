"""A consumer group in a ConsumerGroupDescribe response."""

from collections.abc import Collection, Iterable, Mapping
from uuid import UUID

from barnabas.group.consumer.group import ConsumerGroup
from barnabas.group.consumer.member import ConsumerMember
from barnabas.group.consumer.target_assignment import preferred_assignor
from barnabas.group.environment import ShardEnvironment
from barnabas.metadata.image import ClusterImage
from barnabas.wire import Reply

_CLASSIC_MEMBER = 0
_CONSUMER_MEMBER = 1


def describe_group(group: ConsumerGroup, environment: ShardEnvironment) -> Reply:
    return Reply(
        group_id=group.group_id,
        group_state=group.state_name,
        group_epoch=group.epoch,
        assignment_epoch=group.assignment_epoch,
        assignor_name=preferred_assignor(group, environment),
        members=[_describe_member(group, member, environment.image) for member in group.members.values()],
    )


def _describe_member(group: ConsumerGroup, member: ConsumerMember, image: ClusterImage) -> Reply:
    value = member.value
    return Reply(
        member_id=member.member_id,
        instance_id=value.instance_id,
        rack_id=value.rack_id,
        member_epoch=member.epoch,
        client_id=value.client_id,
        client_host=value.client_host,
        subscribed_topic_names=value.subscribed_topic_names,
        subscribed_topic_regex=value.subscribed_topic_regex,
        # A member owns the partitions it has to revoke until it has revoked them.
        assignment=_topic_partitions([member.assigned, member.pending_revocation], image),
        target_assignment=_topic_partitions([group.target_of(member.member_id)], image),
        member_type=_CLASSIC_MEMBER if member.uses_classic_protocol else _CONSUMER_MEMBER,
    )


def _topic_partitions(assignments: Iterable[Mapping[UUID, Collection[int]]], image: ClusterImage) -> Reply:
    merged: dict[UUID, set[int]] = {}
    for assignment in assignments:
        for topic_id, partitions in assignment.items():
            merged.setdefault(topic_id, set()).update(partitions)
    return Reply(
        topic_partitions=[
            Reply(topic_id=topic_id, topic_name=topic.name, partitions=tuple(sorted(partitions)))
            for topic_id, partitions in merged.items()
            if (topic := image.topic_by_id.get(topic_id)) is not None
        ]
    )
