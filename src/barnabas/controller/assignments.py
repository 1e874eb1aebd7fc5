"""Replicas and first leaders of new partitions: placed automatically, or given by the request. Pure.

The checks, their order and their messages are those of Kafka's ReplicationControlManager.
"""

import random
from collections.abc import Mapping, Sequence

from barnabas.base.errors import (
    InvalidPartitions,
    InvalidReplicaAssignment,
    InvalidReplicationFactor,
    InvalidRequest,
)
from barnabas.base.replica_placement import StripedPlacer
from barnabas.controller.decisions import first_state
from barnabas.controller.requests import NewPartitions, NewTopic
from barnabas.metadata.image import ClusterImage, TopicImage
from barnabas.metadata.nodes import StateNode

Assignment = dict[int, tuple[int, ...]]
States = dict[int, StateNode]


def place_new_topic(
    topic: NewTopic, partition_count: int, replication_factor: int, image: ClusterImage, rng: random.Random
) -> tuple[Assignment, States]:
    if topic.assignments:
        return _given_assignment(topic, image)
    if topic.replication_factor < -1 or topic.replication_factor == 0:
        reason = "Replication factor must be larger than 0, or -1 to use the default value."
        raise InvalidReplicationFactor(reason)
    if topic.num_partitions < -1 or topic.num_partitions == 0:
        raise InvalidPartitions("Number of partitions was set to an invalid non-positive value.")
    try:
        placed = StripedPlacer(_racks(image), rng).place(partition_count, replication_factor)
    except InvalidReplicationFactor as error:
        reason = f"Unable to replicate the partition {replication_factor} time(s): {error.message}"
        raise InvalidReplicationFactor(reason) from error
    assignment = dict(enumerate(placed))
    return assignment, _first_states(assignment, image)


def place_partitions(
    request: NewPartitions, topic: TopicImage, image: ClusterImage, rng: random.Random
) -> tuple[Assignment, States]:
    """Replicas and states of the partitions that `request` adds to `topic`."""
    first = len(topic.partitions)
    additional = request.count - first
    replication_factor = len(topic.partitions[0].replicas)
    if request.assignments is None:
        placed: Sequence[tuple[int, ...]] = StripedPlacer(_racks(image), rng).place(
            additional, replication_factor
        )
    else:
        placed = request.assignments
        if len(placed) != additional:
            raise InvalidReplicaAssignment(
                f"Attempted to add {additional} additional partition(s), but only {len(placed)} "
                "assignment(s) were specified."
            )
        for replicas in placed:
            check_replicas(replicas, image, replication_factor)
    assignment = dict(enumerate(placed, first))
    return assignment, _first_states(assignment, image)


def _given_assignment(topic: NewTopic, image: ClusterImage) -> tuple[Assignment, States]:
    if topic.replication_factor != -1:
        reason = "A manual partition assignment was specified, but replication factor was not set to -1."
        raise InvalidRequest(reason)
    if topic.num_partitions != -1:
        reason = "A manual partition assignment was specified, but numPartitions was not set to -1."
        raise InvalidRequest(reason)
    assignment: Assignment = {}
    replication_factor = None
    for partition, replicas in topic.assignments:
        if partition in assignment:
            reason = f"Found multiple manual partition assignments for partition {partition}"
            raise InvalidReplicaAssignment(reason)
        check_replicas(replicas, image, replication_factor)
        replication_factor = len(replicas)
        assignment[partition] = replicas
    if assignment.keys() != set(range(len(assignment))):
        raise InvalidReplicaAssignment("partitions should be a consecutive 0-based integer sequence")
    ordered = {partition: assignment[partition] for partition in sorted(assignment)}
    return ordered, _first_states(ordered, image)


def check_replicas(
    replicas: Sequence[int], image: ClusterImage, replication_factor: int | None = None
) -> None:
    """Raise InvalidReplicaAssignment unless each replica is a registered broker and appears once."""
    if not replicas:
        raise InvalidReplicaAssignment("The manual partition assignment includes an empty replica list.")
    previous = None
    for broker_id in sorted(replicas):
        if broker_id not in image.registrations:
            raise InvalidReplicaAssignment(
                f"The manual partition assignment includes broker {broker_id}, "
                "but no such broker is registered."
            )
        if broker_id == previous:
            raise InvalidReplicaAssignment(
                f"The manual partition assignment includes the broker {broker_id} more than once."
            )
        previous = broker_id
    if replication_factor is not None and len(replicas) != replication_factor:
        raise InvalidReplicaAssignment(
            f"The manual partition assignment includes a partition with {len(replicas)} replica(s), "
            "but this is not consistent with previous partitions, which have "
            f"{replication_factor} replica(s)."
        )


def _first_states(assignment: Mapping[int, tuple[int, ...]], image: ClusterImage) -> States:
    states: States = {}
    live = {number for number, broker in image.brokers.items() if not broker.is_shutting_down}
    for partition, replicas in assignment.items():
        state = first_state(replicas, live, image.controller_epoch)
        if state is None:
            raise InvalidReplicaAssignment(
                f"All brokers specified in the manual partition assignment for partition {partition} are "
                "fenced or in controlled shutdown."
            )
        states[partition] = state
    return states


def _racks(image: ClusterImage) -> dict[int, str | None]:
    return {broker.id: broker.rack for broker in image.brokers.values() if not broker.is_shutting_down}
