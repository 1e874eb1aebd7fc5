"""ListGroups (16), versions 0 to 5: the groups that this broker coordinates, filtered by state and type.

Version 4 filters by state (KIP-518), 5 by type (KIP-848). Filters do not mind upper and lower case; a state
or type that is unknown matches nothing. While a part of the groups is being loaded the answer is
COORDINATOR_LOAD_IN_PROGRESS rather than a list that lacks some.
"""

from typing import TYPE_CHECKING

from barnabas.base.deferred import Deferred
from barnabas.base.errors import ErrorCode
from barnabas.handlers.context import GroupContext, Request
from barnabas.handlers.group_requests import error_reply
from barnabas.wire import Reply

if TYPE_CHECKING:
    from kio.schema.list_groups.v5.request import ListGroupsRequest


def handle(context: GroupContext, request: Request) -> Deferred[Reply]:
    body: ListGroupsRequest = request.body
    states, types = frozenset(body.states_filter), frozenset(body.types_filter)
    found = context.groups.read_all(lambda shard: shard.list_groups(states, types))
    return found.map(_reply, error_reply)


def _reply(shards: list[list[Reply]]) -> Reply:
    return Reply(error_code=ErrorCode.none, groups=[group for groups in shards for group in groups])
