"""WriteTxnMarkers (27), versions 1 and 2: markers that another coordinator, or an admin, wants written.

Coordinators send it to the leaders of a transaction's partitions; `kafka-transactions.sh abort` sends it to
end a transaction that hangs (KIP-664). Kafka requires ALTER or CLUSTER_ACTION on the cluster, which
every client has without ACLs. Partitions of `__consumer_offsets` are ended by the group coordinator; while it
is not ready the response is NOT_LEADER_OR_FOLLOWER. Version 2 says by which rules epochs are checked
(KIP-1228).

A marker of no producer is UNKNOWN_SERVER_ERROR. Kafka fails the whole request then, and takes ids below -1.
"""

from typing import TYPE_CHECKING

from barnabas.base.deferred import gather, in_sequence
from barnabas.base.errors import ErrorCode, KafkaError
from barnabas.base.ids import TopicPartition
from barnabas.handlers.context import Request, TransactionContext
from barnabas.runtime.end_marker import EndMarker
from barnabas.wire import Reply

if TYPE_CHECKING:
    from kio.schema.write_txn_markers.v2.request import WritableTxnMarker, WriteTxnMarkersRequest

Codes = dict[TopicPartition, ErrorCode]


@in_sequence
async def handle(context: TransactionContext, request: Request) -> Reply:
    body: WriteTxnMarkersRequest = request.body
    results = await gather([_codes(context, marker) for marker in body.markers])
    return _reply([each.producer_id for each in body.markers], results)


@in_sequence
async def _codes(context: TransactionContext, requested: "WritableTxnMarker") -> Codes:
    """What became of the marker in each partition; never fails."""
    partitions = list(
        dict.fromkeys(
            TopicPartition(topic.name, number)
            for topic in requested.topics
            for number in topic.partition_indexes
        )
    )
    codes = await gather([_write(context, requested, partition) for partition in partitions])
    return dict(zip(partitions, codes, strict=True))


@in_sequence
async def _write(
    context: TransactionContext, requested: "WritableTxnMarker", partition: TopicPartition
) -> ErrorCode:
    if requested.producer_id < 0 or requested.producer_epoch < 0:
        return ErrorCode.unknown_server_error
    topic = context.partitions.topic(partition.topic)
    if topic is None or partition.partition not in topic.partitions:
        return ErrorCode.unknown_topic_or_partition
    marker = EndMarker(
        requested.producer_id,
        requested.producer_epoch,
        requested.coordinator_epoch,
        requested.transaction_result,
        requested.transaction_version,
    )
    try:
        await context.transactions.write_marker(partition, marker)
    except KafkaError as error:
        return error.code
    return ErrorCode.none


def _reply(producer_ids: list[int], results: list[Codes]) -> Reply:
    """By producer: several markers of one share an entry, as in Kafka."""
    producers: dict[int, dict[str, dict[int, ErrorCode]]] = {}
    for producer_id, codes in zip(producer_ids, results, strict=True):
        for partition, code in codes.items():
            topics = producers.setdefault(producer_id, {})
            topics.setdefault(partition.topic, {})[partition.partition] = code
    return Reply(
        markers=[
            Reply(
                producer_id=producer_id,
                topics=[
                    Reply(
                        name=name,
                        partitions=[
                            Reply(partition_index=number, error_code=code)
                            for number, code in partitions.items()
                        ],
                    )
                    for name, partitions in topics.items()
                ],
            )
            for producer_id, topics in producers.items()
        ]
    )
