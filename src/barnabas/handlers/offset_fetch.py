"""OffsetFetch (9), versions 1 to 10: how far groups have read.

Version 8 takes several groups (KIP-709), 9 member ids and epochs of consumer groups, 10 topic ids; no topics
at all (null) requests every partition that has an offset. What was never committed is -1 without an error.
`require_stable` (7, KIP-447): an offset that a transaction is about to change is UNSTABLE_OFFSET_COMMIT.
Before version 2 there is no error but the partitions' own.
"""

from typing import Any

from barnabas.base.deferred import Deferred, gather
from barnabas.base.errors import ErrorCode, KafkaError
from barnabas.group.environment import RequestContext
from barnabas.handlers.context import GroupContext, Request
from barnabas.handlers.group_requests import context_of, same
from barnabas.wire import Reply

_FIRST_BATCHED = 8
_FIRST_WITH_GROUP_ERROR = 2


def handle(context: GroupContext, request: Request) -> Deferred[Reply]:
    body: Any = request.body
    caller = context_of(request)
    require_stable: bool = getattr(body, "require_stable", False)
    if request.version < _FIRST_BATCHED:
        return _fetch(context, caller, body, require_stable)
    found = gather([_fetch(context, caller, group, require_stable) for group in body.groups])
    return found.then(lambda groups: Reply(groups=groups))


def _fetch(
    context: GroupContext, caller: RequestContext, group: Any, require_stable: bool
) -> Deferred[Reply]:
    def refused(error: KafkaError) -> Reply:
        return _refused(caller.version, group, error)

    answer = context.groups.read(
        group.group_id, lambda shard: shard.fetch_offsets(caller, group, require_stable)
    )
    return answer.map(_unbatched if caller.version < _FIRST_BATCHED else same, refused)


def _unbatched(group: Reply) -> Reply:
    """Before version 8 the one group is the answer itself."""
    return Reply(topics=group.topics, error_code=group.error_code)


def _refused(version: int, group: Any, error: KafkaError) -> Reply:
    if version >= _FIRST_BATCHED:
        return Reply(group_id=group.group_id, topics=[], error_code=error.code)
    if version >= _FIRST_WITH_GROUP_ERROR:
        return Reply(topics=[], error_code=error.code)
    return Reply(topics=[_refused_topic(topic, error.code) for topic in group.topics])


def _refused_topic(topic: Any, code: ErrorCode) -> Reply:
    return Reply(
        name=topic.name,
        partitions=[
            Reply(partition_index=number, committed_offset=-1, metadata="", error_code=code)
            for number in topic.partition_indexes
        ],
    )
