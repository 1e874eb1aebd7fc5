"""DescribeCluster and UnregisterBroker: the nodes of a cluster, from brokers or KRaft controllers.

Controllers do not serve Metadata, which `Cluster` depends on. So a request to controllers goes to the given
address, or to the active controller that they name.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

from barnabas.client.address import Address
from barnabas.client.cluster import Cluster
from barnabas.client.errors import Unsupported, check

_BROKERS, _CONTROLLERS = 1, 2
_FENCED_SINCE, _CONTROLLERS_SINCE = 2, 1
"""Versions of DescribeCluster (KIPs 1073, 919)."""


class Endpoint(NamedTuple):
    id: int
    host: str
    port: int
    rack: str | None
    is_fenced: bool


@dataclass(frozen=True, slots=True)
class ClusterDescription:
    cluster_id: str | None
    controller_id: int | None
    endpoints: tuple[Endpoint, ...]
    """By id."""


def describe_cluster(
    cluster: Cluster, *, controllers: bool = False, fenced: bool = False
) -> ClusterDescription:
    """Its brokers, or its controllers. Raises Unsupported if the broker is too old for the request."""
    needed = max(_CONTROLLERS_SINCE if controllers else 0, _FENCED_SINCE if fenced else 0)
    try:
        version = cluster.version_of("describe_cluster")
    except Unsupported:
        if needed:
            raise
        return _from_metadata(cluster)
    if version < needed:
        raise Unsupported(f"The broker does not support DESCRIBE_CLUSTER in version {needed}")
    answer = cluster.request(
        "describe_cluster",
        include_cluster_authorized_operations=False,
        endpoint_type=_CONTROLLERS if controllers else _BROKERS,
        include_fenced_brokers=fenced,
    )
    check(answer.error_code, answer.error_message)
    endpoints = [
        Endpoint(each.broker_id, each.host, each.port, each.rack, each.is_fenced) for each in answer.brokers
    ]
    return _description(answer.cluster_id, answer.controller_id, endpoints)


def _from_metadata(cluster: Cluster) -> ClusterDescription:
    """For brokers before 2.8, which have no DescribeCluster."""
    endpoints = [Endpoint(each.id, each.host, each.port, each.rack, False) for each in cluster.nodes.values()]
    controller = cluster.controller_id
    return _description(cluster.cluster_id, -1 if controller is None else controller, endpoints)


def _description(cluster_id: str | None, controller_id: int, endpoints: list[Endpoint]) -> ClusterDescription:
    known = controller_id in {each.id for each in endpoints}
    return ClusterDescription(cluster_id, controller_id if known else None, tuple(sorted(endpoints)))


def unregister_broker(cluster: Cluster, broker: int) -> None:
    """Raises Unsupported if the cluster does not serve the API, for example one with ZooKeeper."""
    answer = cluster.request("unregister_broker", broker_id=broker)
    check(answer.error_code, answer.error_message)


def active_controller(cluster: Cluster) -> Cluster:
    """A connection to the active controller. The caller closes it."""
    described = describe_cluster(cluster, controllers=True)
    for each in described.endpoints:
        if each.id == described.controller_id:
            return Cluster(replace(cluster.settings, bootstrap=(Address(each.host, each.port),)))
    return Cluster(cluster.settings)
