"""OffsetCommit (8), versions 2 to 10: remember how far a group has read.

Answered when the offsets are in the log. Topics come by name, from version 10 on by id; unknown ones are
UNKNOWN_TOPIC_OR_PARTITION or UNKNOWN_TOPIC_ID each, metadata longer than `offset.metadata.max.bytes` is
OFFSET_METADATA_TOO_LARGE; an error of the group or the member is every partition's. A consumer without a
group (`assign`) commits with generation -1. Up to version 4 the client may name a retention time of its own.
"""

from barnabas.base.deferred import Deferred
from barnabas.base.errors import ErrorCode
from barnabas.handlers.context import GroupContext, Request
from barnabas.handlers.group_requests import context_of, same
from barnabas.wire import Reply
from barnabas.wire.offset_commit import CommitTopicResult, OffsetCommitRequest


def handle(context: GroupContext, request: Request) -> Deferred[Reply]:
    body: OffsetCommitRequest = request.body
    caller = context_of(request)
    answer = context.groups.gather(body.group_id, lambda shard: shard.commit_offsets(caller, body))
    if answer.is_done and answer.error is None:
        return answer
    return answer.map(same, lambda error: Reply(topics=_refused(body, error.code)))


def _refused(body: OffsetCommitRequest, code: ErrorCode) -> list[CommitTopicResult]:
    return [
        CommitTopicResult(name, topic_id, [(index, code) for index, *_ in partitions])
        for name, topic_id, partitions in body.topics
    ]
