"""How requests about single partitions find them here, and what goes wrong with one of them.

A partition that fails is an error in the answer; the others of the request are served.
"""

import logging

from barnabas.base.errors import ErrorCode, KafkaError, NotLeaderOrFollower, UnknownTopicOrPartition, error_of
from barnabas.handlers.context import Context
from barnabas.replication.partition import Partition

logger = logging.getLogger("requests")


def local_partition(context: Context, topic: str, number: int) -> Partition:
    """The partition on this broker; NotLeaderOrFollower if it is on others only."""
    try:
        return context.partitions.get(topic, number)
    except UnknownTopicOrPartition:
        if context.image.partition(topic, number) is None:
            raise
        raise NotLeaderOrFollower(f"{topic}-{number} is not on this broker") from None


def code_of(error: Exception, topic: str, number: int) -> ErrorCode:
    """The code for the answer; what nobody foresaw is logged."""
    if not isinstance(error, KafkaError):
        logger.error("A request for %s-%d failed", topic, number, exc_info=error)
    return error_of(error)[0]
