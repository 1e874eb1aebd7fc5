"""Elections on request (KIPs 183, 460), and those that return leadership to the preferred replicas."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from barnabas.base.errors import ErrorCode
from barnabas.base.ids import TopicPartition
from barnabas.controller.controller import Controller
from barnabas.controller.partition_change import Election, PartitionChange
from barnabas.controller.reconciliation import Brokers, Decision
from barnabas.metadata.image import NO_LEADER, ClusterImage, PartitionImage


class ElectionResult(NamedTuple):
    topic_partition: TopicPartition
    error: ErrorCode
    message: str | None = None


_MESSAGES = {
    ErrorCode.election_not_needed: "Leader election not needed for topic partition.",
    ErrorCode.preferred_leader_not_available: "The preferred leader was not available.",
    ErrorCode.eligible_leaders_not_available: "Eligible topic partition leaders are not available.",
}


def elect_leaders(
    controller: Controller, election: Election, partitions: Iterable[TopicPartition]
) -> list[ElectionResult]:
    """Elect the preferred leader, or any leader, of each partition. Writes one transaction."""
    image = controller.image
    brokers = Brokers(image.registrations)
    decisions: list[Decision] = []
    results = [_elect(controller, brokers, election, each, decisions) for each in partitions]
    if decisions:
        controller.write(decisions)
    return results


def _elect(
    controller: Controller,
    brokers: Brokers,
    election: Election,
    topic_partition: TopicPartition,
    decisions: list[Decision],
) -> ElectionResult:
    name, number = topic_partition
    topic = controller.image.topics.get(name)
    partition = None if topic is None else topic.partitions.get(number)
    if topic is None or partition is None:
        missing = f"No such topic as {name}" if topic is None else f"No such partition as {name}-{number}"
        return ElectionResult(topic_partition, ErrorCode.unknown_topic_or_partition, missing)
    if _is_not_needed(election, partition):
        return _failed(topic_partition, ErrorCode.election_not_needed)
    change = PartitionChange(partition, brokers.electable.__contains__, controller.policy.min_isr(topic))
    change.election = election
    after = change.apply()
    if after is partition:
        is_preferred = election is Election.PREFERRED
        return _failed(
            topic_partition,
            ErrorCode.preferred_leader_not_available
            if is_preferred
            else ErrorCode.eligible_leaders_not_available,
        )
    decisions.append(Decision(topic, after))
    return ElectionResult(topic_partition, ErrorCode.none)


def _is_not_needed(election: Election, partition: PartitionImage) -> bool:
    if election is Election.PREFERRED:
        return partition.leader != NO_LEADER and partition.leader == partition.replicas[0]
    return partition.leader != NO_LEADER


def _failed(topic_partition: TopicPartition, error: ErrorCode) -> ElectionResult:
    return ElectionResult(topic_partition, error, _MESSAGES[error])


def imbalanced(image: ClusterImage, percentage: int) -> list[TopicPartition]:
    """Partitions to return to their preferred leader (`leader.imbalance.per.broker.percentage`).

    Those of every broker that leads too few of the partitions that prefer it.
    """
    preferred: dict[int, int] = {}
    elsewhere: dict[int, list[TopicPartition]] = {}
    for topic in image.topics.values():
        for partition in topic.partitions.values():
            first = partition.replicas[0]
            preferred[first] = preferred.get(first, 0) + 1
            if _may_return(image, partition):
                elsewhere.setdefault(first, []).append(TopicPartition(topic.name, partition.partition))
    return [
        each
        for broker_id, found in elsewhere.items()
        if len(found) * 100 > percentage * preferred[broker_id]
        for each in found
    ]


def _may_return(image: ClusterImage, partition: PartitionImage) -> bool:
    first = partition.replicas[0]
    return (
        partition.leader not in (NO_LEADER, first)
        and first in partition.isr
        and first in image.brokers
        and not image.brokers[first].is_shutting_down
    )


def preferred_leaders(controller: Controller, partitions: Sequence[TopicPartition]) -> int:
    """Elect the preferred leaders of these partitions. Returns how many were elected."""
    results = elect_leaders(controller, Election.PREFERRED, partitions)
    return sum(result.error is ErrorCode.none for result in results)
