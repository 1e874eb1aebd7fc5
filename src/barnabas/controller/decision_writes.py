"""The controller's decisions as operations on the store.

Every decision rewrites the state node of its partition, on the condition that it is the state that was
decided upon. If replicas change too, the topic's node is written in the same transaction.
"""

from collections.abc import Sequence
from dataclasses import replace

from barnabas.controller.reconciliation import Decision
from barnabas.metadata import nodes, paths
from barnabas.metadata.image import PartitionImage, Registration, TopicImage
from barnabas.metadata.nodes import StateNode, TopicNode
from barnabas.metadata.store import Create, MetadataStore, Operation, Set


def decision_operations(
    decisions: Sequence[Decision], controller_epoch: int, store: MetadataStore
) -> list[Operation]:
    operations: list[Operation] = []
    by_topic: dict[str, tuple[TopicImage, list[PartitionImage]]] = {}
    for topic, partition in decisions:
        by_topic.setdefault(topic.name, (topic, []))[1].append(partition)
    for topic, partitions in by_topic.values():
        operations.extend(_assignment_write(topic, partitions))
        missing = [partition for partition in partitions if partition.state_version < 0]
        if missing:
            operations.extend(_create_states(topic, missing, controller_epoch, store))
        for partition in partitions:
            if partition.state_version >= 0:
                path = paths.partition_state(topic.name, partition.partition)
                data = nodes.encode_state(state_of(partition, controller_epoch))
                operations.append(Set(path, data, partition.state_version))
    return operations


def state_of(partition: PartitionImage, controller_epoch: int) -> StateNode:
    return StateNode(
        partition.leader,
        partition.leader_epoch,
        partition.isr,
        controller_epoch,
        partition.elr,
        partition.last_known_elr,
        partition.is_recovering,
    )


def activation(store: MetadataStore, registration: Registration, *, is_shutting_down: bool = False) -> Set:
    """Activate the broker's epoch: it may lead, and may be in an ISR."""
    path = paths.registration(registration.broker.id)
    data, _ = store.get(path)
    node = nodes.read(path, data, nodes.decode_registration)
    active = replace(
        node,
        active_epoch=registration.broker.epoch,
        is_unclean=False,
        is_shutting_down=is_shutting_down,
    )
    return Set(path, nodes.encode_registration(active), registration.node_version)


def _assignment_write(topic: TopicImage, changed: Sequence[PartitionImage]) -> list[Operation]:
    def replicas(partition: PartitionImage) -> tuple[tuple[int, ...], ...]:
        return partition.replicas, partition.adding, partition.removing

    if all(replicas(topic.partitions[each.partition]) == replicas(each) for each in changed):
        return []
    partitions = {**topic.partitions, **{each.partition: each for each in changed}}
    node = TopicNode(
        topic.topic_id,
        {number: each.replicas for number, each in partitions.items()},
        {number: each.adding for number, each in partitions.items() if each.adding},
        {number: each.removing for number, each in partitions.items() if each.removing},
    )
    return [Set(paths.topic(topic.name), nodes.encode_topic(node), topic.node_version)]


def _create_states(
    topic: TopicImage, partitions: Sequence[PartitionImage], controller_epoch: int, store: MetadataStore
) -> list[Operation]:
    """For a topic without states: tools of the ZooKeeper era left their creation to the controller."""
    known = store.subtree(paths.topic(topic.name))
    operations = [Create(paths.partitions(topic.name))]
    for partition in partitions:
        operations.append(Create(paths.partition(topic.name, partition.partition)))
        state = nodes.encode_state(state_of(partition, controller_epoch))
        operations.append(Create(paths.partition_state(topic.name, partition.partition), state))
    return [operation for operation in operations if operation.path not in known]
