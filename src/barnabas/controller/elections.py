"""Leaders when a broker comes back.

Kafka's controller elects anew when a broker returns, and every election raises the leader epoch: a follower
or client that remembers the old epoch learns that the log may have lost its tail. After a clean stop nothing
was lost and nobody else led meanwhile, so the epochs stay, and a start does not rewrite thousands of nodes.
After an unclean stop every partition this broker leads gets a new epoch, in one transaction.
"""

from barnabas.controller.decisions import create_partitions, first_state
from barnabas.metadata import nodes, paths
from barnabas.metadata.cluster import ClusterMetadata
from barnabas.metadata.image import NO_LEADER, PartitionImage, TopicImage
from barnabas.metadata.nodes import StateNode
from barnabas.metadata.store import Create, Operation, Set


def elect_on_start(cluster: ClusterMetadata, broker_id: int, *, unclean: bool) -> int:
    """Take up leadership after registration; how many partitions have a new leader epoch (or their first)."""
    operations: list[Operation] = []
    elected = 0
    controller_epoch = cluster.image.controller_epoch
    for topic in cluster.image.topics.values():
        first: dict[int, StateNode] = {}
        for number, partition in topic.partitions.items():
            if partition.state_version < 0:
                state = first_state(partition.replicas, {broker_id}, controller_epoch)
                if state is not None:
                    first[number] = state
            elif _needs_election(partition, broker_id, unclean):
                operations.append(_elect(topic, partition, broker_id, controller_epoch))
                elected += 1
        operations.extend(_create_states(cluster, topic, first))
        elected += len(first)
    if operations:
        cluster.transaction(operations)
    return elected


def _needs_election(partition: PartitionImage, broker_id: int, unclean: bool) -> bool:
    if partition.leader == broker_id:
        return unclean
    return partition.leader == NO_LEADER and broker_id in partition.isr


def _elect(topic: TopicImage, partition: PartitionImage, broker_id: int, controller_epoch: int) -> Set:
    state = StateNode(broker_id, partition.leader_epoch + 1, partition.isr, controller_epoch)
    path = paths.partition_state(topic.name, partition.partition)
    return Set(path, nodes.encode_state(state), partition.state_version)


def _create_states(cluster: ClusterMetadata, topic: TopicImage, states: dict[int, StateNode]) -> list[Create]:
    """For a topic written without states, as the tools of ZooKeeper days left them to the controller."""
    if not states:
        return []
    operations = create_partitions(topic.name, states)
    known = cluster.store.subtree(paths.topic(topic.name))
    parent = Create(paths.partitions(topic.name))
    return [operation for operation in [parent, *operations] if operation.path not in known]
