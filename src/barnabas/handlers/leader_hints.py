"""KIP-951: a response from a broker that is not the leader names the leader and its address."""

from collections.abc import Iterable

from barnabas.handlers.context import ClusterContext
from barnabas.network.connection import Peer
from barnabas.replication.partition import Partition
from barnabas.wire.primitives import LeaderHint, NodeEndpoint


def hint_for(partition: Partition) -> LeaderHint:
    return LeaderHint(partition.leader_id, partition.leader_epoch)


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
