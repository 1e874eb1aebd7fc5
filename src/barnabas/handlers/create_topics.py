"""CreateTopics (19), versions 2 to 7.

Counts of -1 stand for the broker's defaults (KIP-464), or for the given assignment. KIP-525 (version 5):
the response has the partitions, replication factor and whole configuration of the new topic. KIP-516
(version 7): its id. A name given twice is INVALID_REQUEST; with `validate_only` nothing is created.

Deviation: `timeout` is read and not used: the topic is in the store when the response is sent, and its
partitions can be used. (Directories of a topic with very many partitions may still be being made.)
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from barnabas.base.config.describe import describe_topic
from barnabas.base.errors import ErrorCode
from barnabas.controller.requests import CreatedTopic, NewTopic
from barnabas.handlers.context import Request, TopicContext
from barnabas.wire import Reply

if TYPE_CHECKING:
    from kio.schema.create_topics.v7.request import CreatableTopic, CreateTopicsRequest


async def handle(context: TopicContext, request: Request) -> Reply:
    body: CreateTopicsRequest = request.body
    topics = [_new_topic(topic) for topic in body.topics]
    results = await context.store.run(context.topics.create_topics, topics, validate_only=body.validate_only)
    # Made while it is encoded: the configurations of thousands of topics are never there at once.
    return Reply(topics=(_result(context, result) for result in results))


def _new_topic(topic: "CreatableTopic") -> NewTopic:
    return NewTopic(
        topic.name,
        topic.num_partitions,
        topic.replication_factor,
        tuple((each.partition_index, each.broker_ids) for each in topic.assignments),
        {each.name: each.value for each in topic.configs},
    )


def _result(context: TopicContext, result: CreatedTopic) -> Reply:
    if result.error is not ErrorCode.none:
        return Reply(name=result.name, error_code=result.error, error_message=result.message, configs=[])
    return Reply(
        name=result.name,
        topic_id=result.topic_id,
        error_code=ErrorCode.none,
        num_partitions=result.num_partitions,
        replication_factor=result.replication_factor,
        configs=_configs(context, result.configs),
    )


def _configs(context: TopicContext, own: Mapping[str, str]) -> list[Reply]:
    return [
        Reply(
            name=each.name,
            value=each.value,
            read_only=each.read_only,
            config_source=each.source,
            is_sensitive=each.sensitive,
        )
        for each in describe_topic(own, context.config)
    ]
