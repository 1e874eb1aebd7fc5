"""ListConfigResources (74), versions 0 and 1: what has a configuration (KIPs 714, 1142).

Groups are those with settings of their own; topics and brokers are all there are, those of the client's
listener. Version 0 lists client metrics only, of which there are none. A type that the version does not know
is UNSUPPORTED_VERSION. Resources come in Kafka's order of types.
"""

from collections.abc import Iterable
from enum import IntEnum
from typing import TYPE_CHECKING

from barnabas.base.errors import ErrorCode
from barnabas.handlers.context import ConfigContext, Request
from barnabas.handlers.visible_brokers import VisibleBrokers
from barnabas.wire import Reply

if TYPE_CHECKING:
    from kio.schema.list_config_resources.v1.request import ListConfigResourcesRequest


class _Type(IntEnum):
    """In the order in which they are listed."""

    GROUP = 32
    CLIENT_METRICS = 16
    BROKER_LOGGER = 8
    BROKER = 4
    TOPIC = 2


def handle(context: ConfigContext, request: Request) -> Reply:
    body: ListConfigResourcesRequest = request.body
    known = frozenset(_Type) if request.version > 0 else frozenset({_Type.CLIENT_METRICS})
    wanted = frozenset(body.resource_types) or known
    if not wanted <= known:
        return Reply(error_code=ErrorCode.unsupported_version)
    found = [
        Reply(resource_name=name, resource_type=kind)
        for kind in _Type
        if kind in wanted
        for name in _names(context, request, kind)
    ]
    return Reply(error_code=ErrorCode.none, config_resources=found)


def _names(context: ConfigContext, request: Request, kind: _Type) -> Iterable[str]:
    image = context.image
    match kind:
        case _Type.TOPIC:
            return image.topics
        case _Type.BROKER | _Type.BROKER_LOGGER:
            return [str(broker.id) for broker, _ in VisibleBrokers(image, request.peer.listener)]
        case _Type.GROUP:
            return [name for name, settings in image.group_configs.items() if settings]
        case _Type.CLIENT_METRICS:
            return []
