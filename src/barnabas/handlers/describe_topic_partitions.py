"""DescribeTopicPartitions (75), version 0: topics page by page (KIP-966).

Topics come in order of their names, all of them when none is named. The answer ends after
`response_partition_limit` partitions, or `max.request.partition.size.limit` if that is less, and says where
to go on. A cursor that names a topic which was not requested, or a negative partition, is INVALID_REQUEST
for every topic.
"""

from typing import TYPE_CHECKING

from barnabas.base.errors import ErrorCode
from barnabas.controller.topic_names import is_internal, is_legal_topic_name
from barnabas.handlers.authorized_operations import ON_TOPIC
from barnabas.handlers.context import ClusterContext, Request
from barnabas.handlers.visible_brokers import VisibleBrokers
from barnabas.metadata.image import PartitionImage, TopicImage
from barnabas.wire import Reply

if TYPE_CHECKING:
    from kio.schema.describe_topic_partitions.v0.request import DescribeTopicPartitionsRequest


def handle(context: ClusterContext, request: Request) -> Reply:
    body: DescribeTopicPartitionsRequest = request.body
    image, cursor = context.image, body.cursor
    requested = [str(each.name) for each in body.topics]
    names = sorted(set(requested) or image.topics)
    start = 0
    if cursor is not None:
        if cursor.partition_index < 0 or (requested and cursor.topic_name not in requested):
            return Reply(
                topics=[Reply(error_code=ErrorCode.invalid_request, name=name) for name in requested]
            )
        names = [name for name in names if name >= cursor.topic_name]
        start = cursor.partition_index if names and names[0] == cursor.topic_name else 0
    left = max(1, min(body.response_partition_limit, context.config.max_request_partition_size_limit))
    brokers = VisibleBrokers(image, request.peer.listener)
    topics: list[Reply] = []
    for name in names:
        if left == 0:
            return Reply(topics=topics, next_cursor=Reply(topic_name=name, partition_index=0))
        topic = image.topics.get(name)
        if topic is None:
            topics.append(_unknown(name))
            continue
        end = min(len(topic.partitions), start + left)
        page = [topic.partitions[number] for number in range(start, end)]
        topics.append(_described(topic, page, brokers))
        if end < len(topic.partitions):
            return Reply(topics=topics, next_cursor=Reply(topic_name=name, partition_index=end))
        left -= len(page)
        start = 0
    return Reply(topics=topics)


def _unknown(name: str) -> Reply:
    legal = is_legal_topic_name(name)
    return Reply(
        error_code=ErrorCode.unknown_topic_or_partition if legal else ErrorCode.invalid_topic_exception,
        name=name,
        is_internal=is_internal(name),
        topic_authorized_operations=ON_TOPIC,
    )


def _described(topic: TopicImage, page: list[PartitionImage], brokers: VisibleBrokers) -> Reply:
    return Reply(
        error_code=ErrorCode.none,
        name=topic.name,
        topic_id=topic.topic_id,
        is_internal=topic.internal,
        partitions=[
            Reply(
                partition_index=partition.partition,
                leader_id=brokers.leader(partition.leader),
                leader_epoch=partition.leader_epoch,
                replica_nodes=partition.replicas,
                isr_nodes=partition.isr,
                eligible_leader_replicas=partition.elr,
                last_known_elr=partition.last_known_elr,
                offline_replicas=brokers.offline(topic.topic_id, partition),
            )
            for partition in page
        ],
        topic_authorized_operations=ON_TOPIC,
    )
