"""ApiVersions (18), versions 0 to 4: what this broker serves, read from the table that dispatches.

KIP-511: a version the broker does not know is answered in version 0 with UNSUPPORTED_VERSION, and client
software names are checked. Features (KIP-584): `group.version` 1, the consumer protocol; a broker with an
embedded store has no cluster-wide metadata version, and `transaction.version` joins when it is served.
"""

import re

from barnabas.base.errors import ErrorCode
from barnabas.handlers.context import Context, Request
from barnabas.handlers.registry import API_VERSIONS, APIS
from barnabas.wire import Reply

_GROUPS = "group.version"
_SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")


def handle(context: Context, request: Request) -> Reply:
    if request.version >= 3:
        body = request.body
        if not (
            _SOFTWARE.fullmatch(body.client_software_name)
            and _SOFTWARE.fullmatch(body.client_software_version)
        ):
            return Reply(error_code=ErrorCode.invalid_request)
    # Clients from before version 4 cannot read a feature whose lowest level is 0 (KAFKA-17492).
    supported = [Reply(name=_GROUPS, min_version=0, max_version=1)] if request.version >= 4 else []
    return Reply(
        error_code=ErrorCode.none,
        api_keys=_keys(),
        supported_features=supported,
        finalized_features_epoch=0,
        finalized_features=[Reply(name=_GROUPS, min_version_level=1, max_version_level=1)],
    )


def unsupported_version_reply() -> Reply:
    api = APIS[API_VERSIONS]
    key = Reply(api_key=api.key, min_version=api.advertised_min, max_version=api.max_version)
    return Reply(error_code=ErrorCode.unsupported_version, api_keys=[key])


def _keys() -> list[Reply]:
    return [
        Reply(api_key=api.key, min_version=api.advertised_min, max_version=api.max_version)
        for api in APIS.values()
    ]
