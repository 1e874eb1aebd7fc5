"""DeleteTopics (20), versions 1 to 6: by name, from version 6 on also by id (KIP-516).

Neither or both of them, or a topic meant twice, is INVALID_REQUEST; an unknown id UNKNOWN_TOPIC_ID. With
`delete.topic.enable=false` every topic is TOPIC_DELETION_DISABLED (INVALID_REQUEST before version 3, which
does not know it; KIP-322). Internal topics can be deleted, as in Kafka.

Deviation: `timeout` is read and not used: when the response is sent, the topic is deleted from the store, and
its logs are renamed to be removed from the disk after `file.delete.delay.ms`.
"""

from typing import TYPE_CHECKING

from barnabas.base.errors import ErrorCode
from barnabas.base.ids import ZERO_UUID
from barnabas.controller.requests import DeletedTopic, TopicRef
from barnabas.handlers.context import Request, TopicContext
from barnabas.wire import Reply

if TYPE_CHECKING:
    from kio.schema.delete_topics.v6.request import DeleteTopicsRequest

_FIRST_WITH_DELETION_DISABLED = 3


async def handle(context: TopicContext, request: Request) -> Reply:
    body: DeleteTopicsRequest = request.body
    topics = [TopicRef(topic.name, topic.topic_id or ZERO_UUID) for topic in body.topics]
    names = _names(context, topics)
    # Before: others are served between the change of the image and the answer.
    context.deleted_topics.note(names, context.clock.monotonic())
    results = await context.store.run(context.topics.delete_topics, topics)
    context.deleted_topics.note(names, context.clock.monotonic())
    context.deleted_topics.forget(result.name for result in results if result.error and result.name)
    return Reply(responses=[_result(request.version, result) for result in results])


def _names(context: TopicContext, topics: list[TopicRef]) -> list[str]:
    """Of those that exist."""
    image = context.image
    found = (
        image.topics.get(each.name) if each.name else image.topic_by_id.get(each.topic_id) for each in topics
    )
    return [topic.name for topic in found if topic is not None]


def _result(version: int, result: DeletedTopic) -> Reply:
    code = result.error
    if code is ErrorCode.topic_deletion_disabled and version < _FIRST_WITH_DELETION_DISABLED:
        code = ErrorCode.invalid_request
    return Reply(name=result.name, topic_id=result.topic_id, error_code=code, error_message=result.message)
