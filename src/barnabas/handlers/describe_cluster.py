"""DescribeCluster (60), versions 0 to 2: cluster id, controller and brokers (KIP-700).

Addresses are those of the listener the client came through. KIP-919 (version 1): a question for controllers
is MISMATCHED_ENDPOINT_TYPE here. KIP-1073 (version 2): fenced brokers can be asked for; there are none, a
broker is registered and serving, or it is not there.
"""

from typing import TYPE_CHECKING

from barnabas.base.errors import ErrorCode
from barnabas.handlers.authorized_operations import NOT_ASKED, ON_CLUSTER
from barnabas.handlers.context import Context, Request
from barnabas.handlers.visible_brokers import VisibleBrokers
from barnabas.wire import Reply

if TYPE_CHECKING:
    from kio.schema.describe_cluster.v2.request import DescribeClusterRequest

_BROKERS, _CONTROLLERS = 1, 2


def handle(context: Context, request: Request) -> Reply:
    body: DescribeClusterRequest = request.body
    if body.endpoint_type == _CONTROLLERS:
        message = "This is an endpoint of brokers, the request asks for one of controllers"
        return Reply(error_code=ErrorCode.mismatched_endpoint_type, error_message=message)
    if body.endpoint_type != _BROKERS:
        message = f"Unsupported endpoint type {body.endpoint_type}"
        return Reply(error_code=ErrorCode.unsupported_endpoint_type, error_message=message)
    brokers = VisibleBrokers(context.image, request.peer.listener)
    asked = body.include_cluster_authorized_operations
    return Reply(
        error_code=ErrorCode.none,
        endpoint_type=_BROKERS,
        cluster_id=context.image.cluster_id,
        controller_id=brokers.controller_id,
        brokers=[
            Reply(
                broker_id=broker.id, host=address.host, port=address.port, rack=broker.rack, is_fenced=False
            )
            for broker, address in brokers
        ],
        cluster_authorized_operations=ON_CLUSTER if asked else NOT_ASKED,
    )
