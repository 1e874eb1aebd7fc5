"""Elections on request (KIPs 183, 460), and those that return leadership to the preferred replicas."""

import logging
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from barnabas.base.errors import ErrorCode
from barnabas.base.ids import TopicPartition
from barnabas.controller.controller import Controller
from barnabas.controller.partition_change import Election, PartitionChange
from barnabas.controller.reconciliation import Brokers, Decision
from barnabas.metadata.image import NO_LEADER, ClusterImage, PartitionImage

logger = logging.getLogger("controller")

_ELECTIONS_AT_ONCE = 1000
"""Of automatic elections in one write, as in Kafka."""


class ElectionResult(NamedTuple):
    topic_partition: TopicPartition
    error: ErrorCode
    message: str | None = None


_MESSAGES = {
    ErrorCode.election_not_needed: "Leader election not needed for topic partition.",
    ErrorCode.preferred_leader_not_available: "The preferred leader was not available.",
    ErrorCode.eligible_leaders_not_available: "Eligible topic partition leaders are not available.",
}
_UNAVAILABLE = {
    Election.PREFERRED: ErrorCode.preferred_leader_not_available,
    Election.UNCLEAN: ErrorCode.eligible_leaders_not_available,
}


def elect_leaders(
    controller: Controller, election: Election, partitions: Iterable[TopicPartition] | None
) -> list[ElectionResult]:
    """Elect the preferred leader, or any leader, of each partition (None: of all). Writes one transaction."""

    def decide() -> tuple[list[Decision], list[ElectionResult]]:
        image = controller.image
        brokers = Brokers(image.registrations)
        wanted = _all(image) if partitions is None else partitions
        decisions: dict[TopicPartition, Decision] = {}
        results = [_elect(controller, brokers, election, each, decisions) for each in wanted]
        return list(decisions.values()), results

    return controller.decide(decide)


def _all(image: ClusterImage) -> list[TopicPartition]:
    return [
        TopicPartition(topic.name, number) for topic in image.topics.values() for number in topic.partitions
    ]


def _elect(
    controller: Controller,
    brokers: Brokers,
    election: Election,
    topic_partition: TopicPartition,
    decisions: dict[TopicPartition, Decision],
) -> ElectionResult:
    name, number = topic_partition
    topic = controller.image.topics.get(name)
    partition = None if topic is None else topic.partitions.get(number)
    if topic is None or partition is None:
        missing = f"No such topic as {name}" if topic is None else f"No such partition as {name}-{number}"
        return ElectionResult(topic_partition, ErrorCode.unknown_topic_or_partition, missing)
    if _is_not_needed(election, partition):
        return _failed(topic_partition, ErrorCode.election_not_needed)
    electable = brokers.electable_for(topic, number)
    change = PartitionChange(partition, electable.__contains__, controller.policy.min_isr(topic))
    change.election = election
    after = change.apply()
    if after is partition:
        return _failed(topic_partition, _UNAVAILABLE[election])
    decisions[topic_partition] = Decision(topic, after)
    return ElectionResult(topic_partition, ErrorCode.none)


def _is_not_needed(election: Election, partition: PartitionImage) -> bool:
    if election is Election.PREFERRED:
        return partition.leader != NO_LEADER and partition.leader == partition.replicas[0]
    return partition.leader != NO_LEADER


def _failed(topic_partition: TopicPartition, error: ErrorCode) -> ElectionResult:
    return ElectionResult(topic_partition, error, _MESSAGES[error])


def imbalanced(image: ClusterImage, percentage: int) -> list[TopicPartition]:
    """Partitions to return to their preferred leader (`leader.imbalance.per.broker.percentage`).

    Those of every broker that does not lead more than this percentage of the partitions that prefer it.
    """
    preferred: Counter[int] = Counter()
    elsewhere: Counter[int] = Counter()
    returnable: dict[int, list[TopicPartition]] = {}
    for topic in image.topics.values():
        for partition in topic.partitions.values():
            first = partition.replicas[0]
            preferred[first] += 1
            if partition.leader == first:
                continue
            elsewhere[first] += 1
            if _may_return(image, partition):
                returnable.setdefault(first, []).append(TopicPartition(topic.name, partition.partition))
    return [
        each
        for broker_id, found in returnable.items()
        if elsewhere[broker_id] * 100 > percentage * preferred[broker_id]
        for each in found
    ]


def _may_return(image: ClusterImage, partition: PartitionImage) -> bool:
    """A partition that is being reassigned, or is without a leader, waits for that first."""
    first = partition.replicas[0]
    return (
        partition.leader != NO_LEADER
        and not partition.is_reassigning
        and first in partition.isr
        and first in image.brokers
        and not image.brokers[first].is_shutting_down
    )


def balance_leaders(controller: Controller, percentage: int) -> int:
    """Return leadership to the preferred replicas where too few have it. Returns how many were elected."""
    if not controller.is_active:
        return 0
    elected = 0
    partitions = imbalanced(controller.image, percentage)
    for start in range(0, len(partitions), _ELECTIONS_AT_ONCE):
        batch = partitions[start : start + _ELECTIONS_AT_ONCE]
        results = elect_leaders(controller, Election.PREFERRED, batch)
        elected += sum(result.error is ErrorCode.none for result in results)
    if elected:
        logger.info("Returned the leadership of %d partitions to their preferred replicas", elected)
    return elected
