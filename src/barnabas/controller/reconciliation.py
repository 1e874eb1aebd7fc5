"""What the controller has to decide after brokers came, went or restarted. Pure.

`reconcile` compares every partition with the brokers and says what each has to become. It depends on the
image alone: a new controller that knows nothing of the events before comes to the same decisions. The order
per partition is that of Kafka's controller: logs that lost their ends first, then brokers that are offline,
then elections for partitions without a leader.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple, Protocol
from uuid import UUID

from barnabas.controller.decisions import first_state
from barnabas.controller.partition_change import Election, IsElectable, PartitionChange
from barnabas.metadata.image import NO_LEADER, ClusterImage, PartitionImage, Registration, TopicImage


class ReplicationPolicy(Protocol):
    """The settings of topics that decide about their replicas."""

    def min_isr(self, topic: TopicImage) -> int:
        """`min.insync.replicas`, at most the replication factor."""
        ...

    def allows_unclean_election(self, topic: TopicImage) -> bool: ...


class Decision(NamedTuple):
    """The new state of one partition."""

    topic: TopicImage
    partition: PartitionImage


class Brokers:
    """The brokers of an image by what the controller may do with them."""

    def __init__(self, registrations: Mapping[int, Registration]) -> None:
        self.electable: frozenset[int] = frozenset(
            number
            for number, each in registrations.items()
            if each.is_alive and not each.broker.is_shutting_down
        )
        self.unclean: frozenset[int] = frozenset(
            number for number, each in registrations.items() if each.is_unclean and not each.is_active
        )
        """Their logs may have lost their ends, and no decision has considered that yet."""
        self.starting: frozenset[int] = frozenset(self.to_activate(registrations))
        """They have registered again: a leadership of their last registration is over."""

        self._offline: dict[tuple[UUID, int], set[int]] = {}
        for number, each in registrations.items():
            for replica in each.offline_replicas:
                self._offline.setdefault(replica, set()).add(number)

    def electable_for(self, topic: TopicImage, partition: int) -> frozenset[int]:
        """The brokers that may lead the partition: not those whose log directory of it has failed."""
        if not self._offline:
            return self.electable
        return self.electable.difference(self._offline.get((topic.topic_id, partition), ()))

    def to_activate(self, registrations: Mapping[int, Registration]) -> list[int]:
        return [number for number, each in registrations.items() if each.is_alive and not each.is_active]


def reconcile(image: ClusterImage, policy: ReplicationPolicy) -> Iterator[Decision]:
    brokers = Brokers(image.registrations)
    for topic in image.topics.values():
        for partition in topic.partitions.values():
            after = _reconciled(topic, partition, brokers, policy, image.controller_epoch)
            if after is not partition:
                yield Decision(topic, after)


def _reconciled(
    topic: TopicImage,
    partition: PartitionImage,
    brokers: Brokers,
    policy: ReplicationPolicy,
    controller_epoch: int,
) -> PartitionImage:
    if partition.state_version < 0:
        return _first(partition, brokers.electable, controller_epoch)
    electable = brokers.electable_for(topic, partition.partition)
    if _is_settled(partition, brokers, electable):
        return partition
    election = Election.UNCLEAN if policy.allows_unclean_election(topic) else Election.ONLINE
    min_isr = policy.min_isr(topic)
    after = partition
    if brokers.unclean and not brokers.unclean.isdisjoint({*after.isr, *after.elr}):
        change = PartitionChange(after, (electable - brokers.unclean).__contains__, min_isr)
        change.isr = tuple(each for each in after.isr if each not in brokers.unclean)
        change.unclean_replicas = brokers.unclean
        # Unclean elections wait for the last step: a replica that lost its end may be the last known leader.
        after = change.apply()
    if _has_restarted_leader(after, brokers):
        after = after._replace(leader=NO_LEADER)
    change = PartitionChange(after, electable.__contains__, min_isr)
    change.isr = tuple(each for each in after.isr if each in electable)
    change.election = election
    after = change.apply()
    if after.leader == NO_LEADER:
        after = without_leader_elected(after, electable.__contains__, min_isr, election)
    return _one_step(partition, after)


def without_leader_elected(
    partition: PartitionImage, is_electable: IsElectable, min_isr: int, election: Election
) -> PartitionImage:
    """Elect for a partition without a leader. The same object if no replica may lead."""
    change = PartitionChange(partition, is_electable, min_isr)
    change.election = election
    return change.apply()


def _is_settled(partition: PartitionImage, brokers: Brokers, electable: frozenset[int]) -> bool:
    """Most partitions, most of the time: everything in sync is electable, and one of it leads."""
    return (
        partition.leader in partition.isr
        and not partition.elr  # It ends when `min.insync.replicas` allows that.
        and electable.issuperset(partition.isr)
        and not _has_restarted_leader(partition, brokers)
        and (not brokers.unclean or brokers.unclean.isdisjoint({*partition.isr, *partition.elr}))
    )


def _has_restarted_leader(partition: PartitionImage, brokers: Brokers) -> bool:
    """Its high watermark may be lower than before, so it leads in a new epoch (or another replica leads).

    A single replica goes on in its epoch: no other replica has ever followed it.
    """
    return partition.leader in brokers.starting and len(partition.replicas) > 1


def _one_step(before: PartitionImage, after: PartitionImage) -> PartitionImage:
    """Several steps are written at once: they are one change, with one new leader epoch at most."""
    if after.leader_epoch > before.leader_epoch + 1:
        after = after._replace(leader_epoch=before.leader_epoch + 1)
    return before if after == before else after


def _first(partition: PartitionImage, electable: frozenset[int], controller_epoch: int) -> PartitionImage:
    """A topic without states: tools of the ZooKeeper era left their creation to the controller."""
    state = first_state(partition.replicas, electable, controller_epoch)
    if state is None:
        return partition
    return partition._replace(leader=state.leader, leader_epoch=state.leader_epoch, isr=state.isr)
