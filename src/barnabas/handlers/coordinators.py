"""Which broker coordinates a group or a transaction; the topic behind it is created when first needed.

The topic waits until there are as many brokers as it is to have replicas: until then there is no coordinator.
"""

import asyncio
import logging

from barnabas.base.errors import CoordinatorNotAvailable, ErrorCode, InvalidRequest
from barnabas.controller.requests import NewTopic
from barnabas.handlers.context import CoordinatorContext
from barnabas.metadata.image import BrokerImage, TopicImage
from barnabas.runtime import internal_topics
from barnabas.runtime.partitioning import partition_for

logger = logging.getLogger("requests")

GROUP = 0
TRANSACTION = 1

_TOPICS = {
    GROUP: (internal_topics.CONSUMER_OFFSETS, internal_topics.consumer_offsets),
    TRANSACTION: (internal_topics.TRANSACTION_STATE, internal_topics.transaction_state),
}


def is_known_type(key_type: int) -> bool:
    return key_type in _TOPICS


def find(context: CoordinatorContext, key_type: int, key: str) -> BrokerImage | None:
    """The coordinator of `key`; None if its topic does not exist yet. Raises KafkaError if there is none."""
    topic = context.image.topics.get(_topic_of(key_type))
    return None if topic is None else _leader(context, topic, key)


async def find_or_create(context: CoordinatorContext, key_type: int, key: str) -> BrokerImage:
    found = find(context, key_type, key)
    if found is not None:
        return found
    await _create(context, key_type)
    found = find(context, key_type, key)
    if found is None:
        raise CoordinatorNotAvailable(f"{_topic_of(key_type)} does not exist yet")
    return found


def _topic_of(key_type: int) -> str:
    if key_type not in _TOPICS:
        raise InvalidRequest(f"there is no coordinator of type {key_type}")
    return _TOPICS[key_type][0]


def _leader(context: CoordinatorContext, topic: TopicImage, key: str) -> BrokerImage:
    partition = topic.partitions[partition_for(key, len(topic.partitions))]
    broker = context.image.brokers.get(partition.leader)
    if broker is None:
        raise CoordinatorNotAvailable(f"{topic.name}-{partition.partition} has no leader")
    return broker


async def _create(context: CoordinatorContext, key_type: int) -> None:
    host = context.group_host if key_type == GROUP else context.transaction_host
    if not host.is_made:  # it is made as soon as its topic is there
        await asyncio.get_running_loop().run_in_executor(context.executor, host.load)
    wanted = _TOPICS[key_type][1](context.config, len(context.image.registrations))
    usable = sum(not each.is_shutting_down for each in context.image.brokers.values())
    if usable < wanted.replication_factor:
        context.missing_brokers.note(wanted, usable)
        raise CoordinatorNotAvailable(
            f"{wanted.name} waits for {wanted.replication_factor} brokers; there are {usable}"
        )
    topic = NewTopic(wanted.name, wanted.partition_count, wanted.replication_factor, configs=wanted.configs)
    [result] = await context.creation.create([topic])
    if result.error not in (ErrorCode.none, ErrorCode.topic_already_exists):
        logger.warning("Cannot create topic %s: %s", wanted.name, result.message)
        raise CoordinatorNotAvailable(f"{wanted.name} cannot be created: {result.message}")
    context.missing_brokers.forget(wanted.name)
