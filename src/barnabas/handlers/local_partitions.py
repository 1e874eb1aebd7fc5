"""How requests about single partitions find them here, and what goes wrong with one of them.

A partition that fails is an error in the answer; the others of the request are served.
"""

import logging

from barnabas.base.errors import ErrorCode, KafkaError, NotLeaderOrFollower, UnknownTopicOrPartition, error_of
from barnabas.handlers.context import RecordContext
from barnabas.replication.partition import Partition

logger = logging.getLogger("requests")


def local_partition(context: RecordContext, topic: str, number: int) -> Partition:
    """The partition on this broker; NotLeaderOrFollower if it is on others only."""
    try:
        return context.partitions.get(topic, number)
    except UnknownTopicOrPartition:
        if context.image.partition(topic, number) is None:
            raise
        raise NotLeaderOrFollower(f"{topic}-{number} is not on this broker") from None


def code_of(error: Exception, topic: str, number: int) -> ErrorCode:
    """Returns the error code for the response. Logs unexpected errors."""
    if not isinstance(error, KafkaError):
        logger.error("Unexpected error in a request for %s-%d", topic, number, exc_info=error)
    return error_of(error)[0]
