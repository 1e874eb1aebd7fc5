"""Requests of Apache Kafka 4.3 whose feature this broker does not have: UNSUPPORTED_VERSION.

ApiVersions does not name them, so a client that goes by it does not send them: Kafka's own clients report
UnsupportedVersionException, as they do for a broker without the feature. A client that sends
one all the same gets the error in the field that the response has for it: at the top level, or for every item
of the request.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from barnabas.base.errors import ErrorCode
from barnabas.handlers.context import ClusterContext, Request
from barnabas.handlers.registry import APIS
from barnabas.wire import Reply

_Body = Any
"""Of one of many requests."""
_Error = Callable[..., Reply]
"""Makes a part of the response that carries the error; the rest of its fields as keywords."""


def handle(context: ClusterContext, request: Request) -> Reply:
    message = f"This broker does not support {APIS[request.api_key].name}"

    def error(**fields: object) -> Reply:
        return Reply(error_code=ErrorCode.unsupported_version, error_message=message, **fields)

    return _RESPONSES.get(request.api_key, _on_top)(request.body, error)


def _on_top(body: _Body, error: _Error) -> Reply:
    return error()


def _code_only(body: _Body, error: _Error) -> Reply:
    """These responses have no field for a message."""
    return Reply(error_code=error().error_code)


def _quotas(body: _Body, error: _Error) -> Reply:
    return Reply(
        entries=[
            error(
                entity=[
                    Reply(entity_type=part.entity_type, entity_name=part.entity_name) for part in entry.entity
                ]
            )
            for entry in body.entries
        ]
    )


def _scram_users(body: _Body, error: _Error) -> Reply:
    names = dict.fromkeys(each.name for each in (*body.deletions, *body.upsertions))
    return Reply(results=[error(user=name) for name in names])


def _groups_by_id(body: _Body, error: _Error) -> Reply:
    return Reply(groups=[error(group_id=group) for group in body.group_ids])


def _groups(body: _Body, error: _Error) -> Reply:
    return Reply(groups=[error(group_id=group.group_id) for group in body.groups])


def _share_state(body: _Body, error: _Error) -> Reply:
    return Reply(
        results=[
            Reply(topic_id=topic.topic_id, partitions=_numbered(topic.partitions, error))
            for topic in body.topics
        ]
    )


def _numbered(partitions: Iterable[Any], error: _Error) -> list[Reply]:
    return [error(partition=each.partition) for each in partitions]


_RESPONSES: Mapping[int, Callable[[_Body, _Error], Reply]] = {
    49: _quotas,
    51: _scram_users,
    71: _code_only,
    72: _code_only,
    77: _groups_by_id,
    83: _share_state,
    84: _share_state,
    85: _share_state,
    86: _share_state,
    87: _share_state,
    89: _groups_by_id,
    90: _groups,
}
