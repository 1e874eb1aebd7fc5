"""ListPartitionReassignments (46), version 0: the reassignments that are in progress (KIP-455).

The controller answers; other brokers forward the request. Topics and partitions that do not exist, or are
not reassigned, are left out as in Kafka.
"""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from barnabas.base.errors import ErrorCode, NotController
from barnabas.handlers.context import ControllerContext, Request
from barnabas.metadata.image import ClusterImage, TopicImage
from barnabas.wire import Reply

if TYPE_CHECKING:
    from kio.schema.list_partition_reassignments.v0.request import ListPartitionReassignmentsRequest


def handle(context: ControllerContext, request: Request) -> Reply:
    body: ListPartitionReassignmentsRequest = request.body
    if not context.controller.is_active:
        raise NotController(f"Broker {context.config.broker_id} is not the controller.")
    found = (_ongoing(topic, numbers) for topic, numbers in _requested(context.image, body))
    return Reply(error_code=ErrorCode.none, topics=[each for each in found if each.partitions])


def _requested(
    image: ClusterImage, body: "ListPartitionReassignmentsRequest"
) -> Iterator[tuple[TopicImage, Iterable[int]]]:
    if body.topics is None:
        for topic in image.topics.values():
            yield topic, topic.partitions
        return
    for each in body.topics:
        known = image.topics.get(each.name)
        if known is not None:
            yield known, each.partition_indexes


def _ongoing(topic: TopicImage, numbers: Iterable[int]) -> Reply:
    partitions = (topic.partitions.get(number) for number in numbers)
    return Reply(
        name=topic.name,
        partitions=[
            Reply(
                partition_index=each.partition,
                replicas=each.replicas,
                adding_replicas=each.adding,
                removing_replicas=each.removing,
            )
            for each in partitions
            if each is not None and each.is_reassigning
        ],
    )
