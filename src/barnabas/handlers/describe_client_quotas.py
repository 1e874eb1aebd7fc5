"""DescribeClientQuotas (48), versions 0 and 1: quotas of users, clients and addresses (KIP-546).

There are none: whatever is looked for, the answer is an empty list. A filter that Kafka refuses is refused
with Kafka's error.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from barnabas.base.errors import ErrorCode, InvalidRequest, KafkaError, UnsupportedVersion, error_of
from barnabas.handlers.context import ClusterContext, Request
from barnabas.wire import Reply

if TYPE_CHECKING:
    from kio.schema.describe_client_quotas.v1.request import ComponentData, DescribeClientQuotasRequest

_EXACT, _DEFAULT, _SPECIFIED = 0, 1, 2
_USER, _CLIENT, _ADDRESS = "user", "client-id", "ip"


def handle(context: ClusterContext, request: Request) -> Reply:
    body: DescribeClientQuotasRequest = request.body
    try:
        _check(body.components)
    except KafkaError as error:
        code, message = error_of(error)
        return Reply(error_code=code, error_message=message, entries=None)
    return Reply(error_code=ErrorCode.none, error_message="", entries=[])


def _check(components: "Sequence[ComponentData]") -> None:
    """Raise what Kafka raises, in its order."""
    kinds: set[str] = set()
    for each in components:
        _check_match(each)
        if not each.entity_type:
            raise InvalidRequest("Invalid empty entity type.")
        if each.entity_type in kinds:
            raise InvalidRequest(
                f"Entity type {each.entity_type} cannot appear more than once in the filter."
            )
        if each.entity_type not in (_USER, _CLIENT, _ADDRESS):
            raise UnsupportedVersion(f"Unsupported entity type {each.entity_type}")
        kinds.add(each.entity_type)
    if _ADDRESS in kinds and len(kinds) > 1:
        raise InvalidRequest(
            "Invalid entity filter component combination. IP filter component should not be used with user "
            "or clientId filter component."
        )


def _check_match(component: "ComponentData") -> None:
    if component.match_type == _EXACT:
        if component.match is None:
            raise InvalidRequest("Request specified MATCH_TYPE_EXACT, but set match string to null.")
        return
    if component.match_type not in (_DEFAULT, _SPECIFIED):
        raise InvalidRequest(f"Unknown match type {component.match_type}")
    if component.match is not None:
        kind = "DEFAULT" if component.match_type == _DEFAULT else "SPECIFIED"
        raise InvalidRequest(f"Request specified MATCH_TYPE_{kind}, but also specified a match string.")
