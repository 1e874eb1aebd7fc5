"""KIP-392: the replica that a consumer in some rack is sent to by the leader."""

from collections.abc import Iterator

from barnabas.handlers.context import ClusterContext
from barnabas.metadata.image import ClusterImage
from barnabas.network.connection import Peer
from barnabas.replication.partition import Partition
from barnabas.replication.replica_selector import LEADER, ReadableReplica, closest_replica
from barnabas.replication.roles import Leader


def preferred_replica(
    context: ClusterContext, partition: Partition, rack: str, peer: Peer, offset: int
) -> int:
    """The broker to read `offset` from; `LEADER` (-1) if this broker serves the consumer itself."""
    role = partition.role
    if not isinstance(role, Leader):
        return LEADER
    image = context.image
    own = image.brokers.get(partition.leader_id)
    leader_rack = None if own is None else own.rack
    return closest_replica(rack, leader_rack, _readable(image, role, peer.listener, offset))


def _readable(image: ClusterImage, leader: Leader, listener: str, offset: int) -> Iterator[ReadableReplica]:
    """Followers in sync that have the offset. Fenced brokers are not in `image.brokers`."""
    for broker_id, follower in leader.followers.items():
        broker = image.brokers.get(broker_id)
        if broker is None or listener not in broker.endpoints or broker_id not in leader.isr.committed:
            continue
        if follower.log_start_offset <= offset <= follower.log_end_offset:
            yield ReadableReplica(broker_id, broker.rack, follower.log_end_offset, follower.last_caught_up_ms)
