"""Topics that are created because a client requested them (`auto.create.topics.enable`)."""

import logging

from barnabas.base.errors import ErrorCode
from barnabas.controller.requests import NewTopic
from barnabas.controller.topic_names import is_internal, is_legal_topic_name
from barnabas.handlers.context import TopicContext

logger = logging.getLogger("requests")


def may_create(context: TopicContext, name: str) -> bool:
    return (
        context.config.auto_create_topics_enable
        and is_legal_topic_name(name)
        and not is_internal(name)
        and not context.deleted_topics.is_recent(name, context.clock.monotonic())
    )


async def create_missing(context: TopicContext, names: list[str]) -> dict[str, ErrorCode]:
    """Create those that may be, with the broker's defaults; the error of each that was not."""
    wanted = [NewTopic(name) for name in dict.fromkeys(names) if may_create(context, name)]
    if not wanted:
        return {}
    results = await context.store.run(context.topics.create_topics, wanted)
    failed: dict[str, ErrorCode] = {}
    for result in results:
        # Another request may have created the topic in the meantime, which is no error.
        if result.error not in (ErrorCode.none, ErrorCode.topic_already_exists):
            failed[result.name] = result.error
            logger.warning("Cannot create topic %s: %s", result.name, result.message)
    return failed
