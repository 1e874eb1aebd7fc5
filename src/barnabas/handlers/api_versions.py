"""ApiVersions (18), versions 0 to 4: what this broker serves, read from the table that dispatches.

KIP-511: a version the broker does not know is answered in version 0 with UNSUPPORTED_VERSION, and client
software names are checked. Features (KIP-584): `group.version` 1, the consumer protocol, and
`transaction.version` 2, transactions whose every end raises the producer's epoch (KIP-890); a broker with an
embedded store has no cluster-wide metadata version. A version that is not final in Kafka is named only where
the configuration opens it.
"""

import re

from barnabas.base.config.broker_config import BrokerConfig
from barnabas.base.errors import ErrorCode
from barnabas.handlers.context import ClusterContext, Request
from barnabas.handlers.registry import API_VERSIONS, APIS
from barnabas.wire import Reply

_FEATURES = (("group.version", 1), ("transaction.version", 2))
"""Names and levels: the highest that is known, and the one in force."""
_SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")


def handle(context: ClusterContext, request: Request) -> Reply:
    if request.version >= 3:
        body = request.body
        if not (
            _SOFTWARE.fullmatch(body.client_software_name)
            and _SOFTWARE.fullmatch(body.client_software_version)
        ):
            return Reply(error_code=ErrorCode.invalid_request)
    # Clients from before version 4 cannot read a feature whose lowest level is 0 (KAFKA-17492).
    knows_zero = request.version >= 4
    supported = [Reply(name=name, min_version=0, max_version=level) for name, level in _FEATURES]
    return Reply(
        error_code=ErrorCode.none,
        api_keys=_keys(context.config),
        supported_features=supported if knows_zero else [],
        finalized_features_epoch=0,
        finalized_features=[
            Reply(name=name, min_version_level=level, max_version_level=level) for name, level in _FEATURES
        ],
    )


def unsupported_version_reply() -> Reply:
    api = APIS[API_VERSIONS]
    key = Reply(api_key=api.key, min_version=api.advertised_min, max_version=api.max_version)
    return Reply(error_code=ErrorCode.unsupported_version, api_keys=[key])


def _keys(config: BrokerConfig) -> list[Reply]:
    return [
        Reply(api_key=api.key, min_version=api.advertised_min, max_version=api.newest(config))
        for api in APIS.values()
        if api.is_advertised
    ]
