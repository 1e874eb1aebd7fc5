"""Reassignments: other replicas for partitions (KIPs 455, 860).

A reassignment adds the new replicas to the partition, waits until each of them is in the ISR, and then
removes the old ones (`PartitionChange`). Its progress is in the topic's node, so a new controller goes on
with it. A new reassignment replaces one that goes on.
"""

import logging
from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

from barnabas.base.errors import (
    ErrorCode,
    InvalidReplicaAssignment,
    InvalidReplicationFactor,
    KafkaError,
    NoReassignmentInProgress,
    UnknownTopicOrPartition,
)
from barnabas.base.ids import TopicPartition
from barnabas.controller.assignments import check_replicas
from barnabas.controller.controller import Controller
from barnabas.controller.partition_change import Election, PartitionChange
from barnabas.controller.reconciliation import Brokers, Decision
from barnabas.metadata.image import PartitionImage, TopicImage

logger = logging.getLogger("controller")


class Reassignment(NamedTuple):
    topic_partition: TopicPartition
    replicas: tuple[int, ...] | None
    """None cancels the reassignment that goes on."""


class ReassignmentResult(NamedTuple):
    topic_partition: TopicPartition
    error: ErrorCode = ErrorCode.none
    message: str | None = None


def reassign(
    controller: Controller, requests: Sequence[Reassignment], *, may_change_factor: bool = True
) -> list[ReassignmentResult]:
    """Begin, replace or cancel reassignments. Those that are valid are written in one transaction."""

    def decide() -> tuple[list[Decision], list[ReassignmentResult]]:
        brokers = Brokers(controller.image.registrations)
        decisions: dict[TopicPartition, list[Decision]] = {}
        results: list[ReassignmentResult] = []
        for request in requests:
            try:
                decided = _decide(controller, brokers, request, may_change_factor)
            except NoReassignmentInProgress as error:
                results.append(ReassignmentResult(request.topic_partition, error.code))
                continue
            except KafkaError as error:
                results.append(ReassignmentResult(request.topic_partition, error.code, error.message))
                continue
            decisions[request.topic_partition] = decided  # A partition may be named twice: the last counts.
            results.append(ReassignmentResult(request.topic_partition))
        return list(chain.from_iterable(decisions.values())), results

    results = controller.decide(decide)
    altered = sum(result.error is ErrorCode.none for result in results)
    logger.info("Altered %d of %d partition reassignments", altered, len(results))
    return results


def _decide(
    controller: Controller, brokers: Brokers, request: Reassignment, may_change_factor: bool
) -> list[Decision]:
    name, number = request.topic_partition
    topic = controller.image.topics.get(name)
    if topic is None:
        raise UnknownTopicOrPartition(f"Unable to find a topic named {name}.")
    partition = topic.partitions.get(number)
    if partition is None:
        raise UnknownTopicOrPartition(f"Unable to find partition {name}:{number}.")
    electable = brokers.electable_for(topic, number)
    change = PartitionChange(partition, electable.__contains__, controller.policy.min_isr(topic))
    if request.replicas is None:
        _cancel(controller, topic, partition, change)
    else:
        _begin(controller, partition, change, request.replicas, may_change_factor)
    after = change.apply()
    return [] if after is partition else [Decision(topic, after)]


def _begin(
    controller: Controller,
    partition: PartitionImage,
    change: PartitionChange,
    target: tuple[int, ...],
    may_change_factor: bool,
) -> None:
    check_replicas(target, controller.image)
    factor = len({*partition.replicas} - {*partition.removing})
    if not may_change_factor and len(target) != factor:
        raise InvalidReplicationFactor(f"The replication factor is changed from {factor} to {len(target)}")
    original = _without(partition.replicas, partition.adding)
    removing = tuple(sorted(set(partition.replicas) - set(target)))
    change.replicas = (*target, *removing)
    change.removing = removing
    change.adding = tuple(sorted(set(target) - set(original)))


def _cancel(
    controller: Controller, topic: TopicImage, partition: PartitionImage, change: PartitionChange
) -> None:
    if not partition.is_reassigning:
        raise NoReassignmentInProgress
    replicas = _without(partition.replicas, partition.adding)
    isr = _without(partition.isr, partition.adding)
    allows_unclean = controller.policy.allows_unclean_election(topic)
    if not isr:
        if not allows_unclean:
            raise InvalidReplicaAssignment(
                f"Unable to revert partition assignment for {topic.name}:{partition.partition} because it "
                "would require an unclean leader election."
            )
        isr = replicas[:1]
    change.replicas, change.isr, change.adding, change.removing = replicas, isr, (), ()
    if allows_unclean:
        change.election = Election.UNCLEAN


def _without(replicas: Sequence[int], removed: Sequence[int]) -> tuple[int, ...]:
    return tuple(each for each in replicas if each not in removed)
