"""Topics that are created because a client requested them (`auto.create.topics.enable`).

The controller creates them. As in Kafka, the settings of the broker that the client uses count if they are
set there, otherwise those of the controller.
"""

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
    """Create those that may be, with the broker's defaults; the error of each that was not.

    A topic that the controller has not created in time gets no error here: the client finds no such topic,
    as with Kafka while a topic is created, and tries again.
    """
    wanted = [_topic(context, name) for name in dict.fromkeys(names) if may_create(context, name)]
    if not wanted:
        return {}
    failed: dict[str, ErrorCode] = {}
    for result in await context.creation.create(wanted):
        # Another request may have created the topic in the meantime, which is no error.
        if result.error in (ErrorCode.none, ErrorCode.topic_already_exists):
            continue
        logger.warning("Cannot create topic %s: %s", result.name, result.message)
        if result.error is not ErrorCode.request_timed_out:
            failed[result.name] = result.error
    return failed


def _topic(context: TopicContext, name: str) -> NewTopic:
    config = context.config
    partitions = config.num_partitions if config.is_set("num.partitions") else -1
    factor = config.default_replication_factor if config.is_set("default.replication.factor") else -1
    return NewTopic(name, partitions, factor)
