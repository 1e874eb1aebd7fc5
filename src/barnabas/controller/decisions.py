"""The leader of a partition: pure decisions, and the node that records one."""

from collections.abc import Container, Mapping, Sequence

from barnabas.metadata import nodes, paths
from barnabas.metadata.nodes import StateNode
from barnabas.metadata.store import Create


def first_state(replicas: Sequence[int], live: Container[int], controller_epoch: int) -> StateNode | None:
    """The state of a new partition: the first live replica leads. Returns None if no replica is live."""
    isr = tuple(replica for replica in replicas if replica in live)
    if not isr:
        return None
    return StateNode(leader=isr[0], leader_epoch=0, isr=isr, controller_epoch=controller_epoch)


def create_partitions(topic: str, states: Mapping[int, StateNode]) -> list[Create]:
    """Returns the operations that create partition nodes below the topic's existing `partitions` node."""
    operations: list[Create] = []
    for partition, state in states.items():
        operations.append(Create(paths.partition(topic, partition)))
        operations.append(Create(paths.partition_state(topic, partition), nodes.encode_state(state)))
    return operations
