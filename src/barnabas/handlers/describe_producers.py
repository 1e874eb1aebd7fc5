"""DescribeProducers (61), version 0: the producers a partition remembers (KIP-664).

Meant for the leader's log, but as in Kafka any replica answers with its own state.
"""

from typing import TYPE_CHECKING

from barnabas.base.errors import ErrorCode, InvalidTopic, UnknownTopicOrPartition, error_of
from barnabas.controller.topic_names import is_legal_topic_name
from barnabas.handlers.context import RecordContext, Request
from barnabas.handlers.local_partitions import code_of, local_partition
from barnabas.storage.producer_entry import ProducerEntry
from barnabas.wire import Reply

if TYPE_CHECKING:
    from kio.schema.describe_producers.v0.request import DescribeProducersRequest


def handle(context: RecordContext, request: Request) -> Reply:
    body: DescribeProducersRequest = request.body
    return Reply(
        topics=[
            Reply(
                name=topic.name,
                partitions=[_partition(context, topic.name, number) for number in topic.partition_indexes],
            )
            for topic in body.topics
        ]
    )


def _partition(context: RecordContext, topic: str, number: int) -> Reply:
    try:
        if not is_legal_topic_name(topic):
            raise InvalidTopic(f"{topic!r} is not a legal topic name")
        if topic not in context.image.topics:
            raise UnknownTopicOrPartition
        entries = local_partition(context, topic, number).log.producers.entries.values()
    except Exception as error:  # noqa: BLE001  one bad partition does not spoil the others
        code = code_of(error, topic, number)
        return Reply(partition_index=number, error_code=code, error_message=error_of(error)[1])
    return Reply(
        partition_index=number,
        error_code=ErrorCode.none,
        active_producers=[_producer(entry) for entry in entries],
    )


def _producer(entry: ProducerEntry) -> Reply:
    return Reply(
        producer_id=entry.producer_id,
        producer_epoch=entry.epoch,
        last_sequence=entry.last_sequence,
        last_timestamp=entry.last_timestamp,
        coordinator_epoch=entry.coordinator_epoch,
        current_txn_start_offset=entry.txn_first_offset,
    )
