"""DescribeCluster (60), versions 0 to 2: cluster id, controller and brokers (KIP-700).

Addresses are those of the listener the client came through. KIP-919 (version 1): a request for controllers
is MISMATCHED_ENDPOINT_TYPE here. KIP-1073 (version 2): fenced brokers can be requested. A broker is fenced if
the cluster knows it and it is down, or the controller has not activated it yet.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from barnabas.base.errors import ErrorCode
from barnabas.handlers.authorized_operations import NOT_REQUESTED, ON_CLUSTER
from barnabas.handlers.context import ClusterContext, Request
from barnabas.handlers.visible_brokers import VisibleBrokers
from barnabas.metadata.image import Address, BrokerImage, ClusterImage
from barnabas.wire import Reply

if TYPE_CHECKING:
    from kio.schema.describe_cluster.v2.request import DescribeClusterRequest

_BROKERS, _CONTROLLERS = 1, 2


def handle(context: ClusterContext, request: Request) -> Reply:
    body: DescribeClusterRequest = request.body
    if body.endpoint_type == _CONTROLLERS:
        message = "This is an endpoint of brokers, the request is for one of controllers"
        return Reply(error_code=ErrorCode.mismatched_endpoint_type, error_message=message)
    if body.endpoint_type != _BROKERS:
        message = f"Unsupported endpoint type {body.endpoint_type}"
        return Reply(error_code=ErrorCode.unsupported_endpoint_type, error_message=message)
    brokers = VisibleBrokers(context.image, request.peer.listener)
    is_requested = body.include_cluster_authorized_operations
    return Reply(
        error_code=ErrorCode.none,
        endpoint_type=_BROKERS,
        cluster_id=context.image.cluster_id,
        controller_id=brokers.controller_id,
        brokers=[
            *(_described(broker, address, is_fenced=False) for broker, address in brokers),
            *(_fenced(context.image, request.peer.listener) if body.include_fenced_brokers else ()),
        ],
        cluster_authorized_operations=ON_CLUSTER if is_requested else NOT_REQUESTED,
    )


def _fenced(image: ClusterImage, listener: str) -> Iterator[Reply]:
    for known in image.registrations.values():
        address = known.broker.endpoints.get(listener)
        if not known.is_active and address is not None:
            yield _described(known.broker, address, is_fenced=True)


def _described(broker: BrokerImage, address: Address, *, is_fenced: bool) -> Reply:
    return Reply(
        broker_id=broker.id, host=address.host, port=address.port, rack=broker.rack, is_fenced=is_fenced
    )
