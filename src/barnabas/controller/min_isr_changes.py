"""Changes of `min.insync.replicas`: what is allowed, and which eligible leader replicas they end. Pure.

With fewer in-sync replicas required the high watermark goes on without the eligible leader replicas (ELR,
KIP-966), so they lack committed records. As in Kafka 4.3 every change of the setting ends the ELR, in the
same write: no broker sees the new setting with the old ELR. A single broker's own setting cannot be altered,
and the cluster's cannot be removed: all brokers have to agree about it.
"""

from collections.abc import Mapping

from barnabas.base.errors import InvalidConfig
from barnabas.controller.decision_writes import state_of
from barnabas.controller.requests import ResourceType
from barnabas.metadata import nodes, paths
from barnabas.metadata.image import ClusterImage
from barnabas.metadata.store import Operation, Set

_KEY = "min.insync.replicas"


def check_min_isr_change(
    resource_type: int, name: str, before: Mapping[str, str], after: Mapping[str, str]
) -> None:
    """Raise InvalidConfig if this resource must not change `min.insync.replicas`."""
    if resource_type != ResourceType.BROKER or before.get(_KEY) == after.get(_KEY):
        return
    if name:
        raise InvalidConfig(f"Broker-level {_KEY} cannot be altered while ELR is enabled.")
    if _KEY not in after:
        raise InvalidConfig(f"Cluster-level {_KEY} cannot be removed while ELR is enabled.")


def elr_clearing(
    image: ClusterImage, resource_type: int, name: str, before: Mapping[str, str], after: Mapping[str, str]
) -> list[Operation]:
    """The writes that end the ELR of every partition for which the setting has changed."""
    if resource_type not in (ResourceType.TOPIC, ResourceType.BROKER) or before.get(_KEY) == after.get(_KEY):
        return []
    topics = [image.topics[name]] if resource_type == ResourceType.TOPIC else image.topics.values()
    return [
        Set(
            paths.partition_state(topic.name, partition.partition),
            nodes.encode_state(
                state_of(partition._replace(elr=(), last_known_elr=()), image.controller_epoch)
            ),
            partition.state_version,
        )
        for topic in topics
        for partition in topic.partitions.values()
        if partition.elr or partition.last_known_elr
    ]
