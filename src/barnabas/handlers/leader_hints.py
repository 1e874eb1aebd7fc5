"""KIP-951: a response from a broker that is not the leader names the leader and its address."""

from collections.abc import Iterable

from barnabas.handlers.context import ClusterContext
from barnabas.network.connection import Peer
from barnabas.replication.partition import Partition
from barnabas.wire.primitives import LeaderHint, NodeEndpoint


def hint_for(
    context: ClusterContext, partition: Partition | None, topic: str | None, number: int
) -> LeaderHint | None:
    """Leader and epoch of a partition, which may be on other brokers only; None if it is not known."""
    if partition is not None:
        return LeaderHint(partition.leader_id, partition.leader_epoch)
    known = None if topic is None else context.image.partition(topic, number)
    return None if known is None else LeaderHint(known.leader, known.leader_epoch)


def endpoints_for(
    context: ClusterContext, hints: Iterable[LeaderHint], peer: Peer
) -> tuple[NodeEndpoint, ...]:
    """Addresses of the named leaders on the listener the client came through."""
    found: dict[int, NodeEndpoint] = {}
    for hint in hints:
        broker = context.image.brokers.get(hint.leader_id)
        endpoint = None if broker is None else broker.endpoints.get(peer.listener)
        if broker is not None and endpoint is not None:
            found[broker.id] = NodeEndpoint(broker.id, endpoint[0], endpoint[1], broker.rack)
    return tuple(found.values())
