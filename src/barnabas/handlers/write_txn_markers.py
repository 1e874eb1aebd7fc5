"""WriteTxnMarkers (27), versions 1 and 2: markers that another coordinator, or an admin, wants written.

Coordinators send it to the leaders of a transaction's partitions; `kafka-transactions.sh abort` sends it to
end a transaction that hangs (KIP-664). Kafka asks for ALTER or CLUSTER_ACTION on the cluster, which without
ACLs everybody has. Partitions of `__consumer_offsets` are ended by the group coordinator; one that is not
ready is NOT_LEADER_OR_FOLLOWER to whoever asks. Version 2 says by which rules epochs are checked (KIP-1228).

A marker of no producer is UNKNOWN_SERVER_ERROR. Kafka fails the whole request then, and takes ids below -1.
"""

from typing import TYPE_CHECKING

from barnabas.base.deferred import Deferred, gather
from barnabas.base.errors import ErrorCode
from barnabas.base.ids import TopicPartition
from barnabas.coordinator.end_marker import EndMarker
from barnabas.handlers.context import Context, Request
from barnabas.wire import Reply

if TYPE_CHECKING:
    from kio.schema.write_txn_markers.v2.request import WritableTxnMarker, WriteTxnMarkersRequest

Codes = dict[TopicPartition, ErrorCode]


def handle(context: Context, request: Request) -> Deferred[Reply]:
    body: WriteTxnMarkersRequest = request.body
    answers = [_codes(context, marker) for marker in body.markers]
    return gather(answers).then(lambda results: _reply([each.producer_id for each in body.markers], results))


def _codes(context: Context, asked: "WritableTxnMarker") -> Deferred[Codes]:
    """What became of the marker in each partition; never fails."""
    places = list(
        dict.fromkeys(
            TopicPartition(topic.name, number) for topic in asked.topics for number in topic.partition_indexes
        )
    )
    written = [_write(context, asked, place) for place in places]
    return gather(written).then(lambda codes: dict(zip(places, codes, strict=True)))


def _write(context: Context, asked: "WritableTxnMarker", place: TopicPartition) -> Deferred[ErrorCode]:
    if asked.producer_id < 0 or asked.producer_epoch < 0:
        return Deferred.of(ErrorCode.unknown_server_error)
    topic = context.partitions.topic(place.topic)
    if topic is None or place.partition not in topic.partitions:
        return Deferred.of(ErrorCode.unknown_topic_or_partition)
    marker = EndMarker(
        asked.producer_id,
        asked.producer_epoch,
        asked.coordinator_epoch,
        asked.transaction_result,
        asked.transaction_version,
    )
    written = context.transactions.markers.append(place, marker)
    return written.map(lambda _: ErrorCode.none, lambda error: error.code)


def _reply(producer_ids: list[int], results: list[Codes]) -> Reply:
    """By producer: several markers of one share an entry, as in Kafka."""
    producers: dict[int, dict[str, dict[int, ErrorCode]]] = {}
    for producer_id, codes in zip(producer_ids, results, strict=True):
        for place, code in codes.items():
            topics = producers.setdefault(producer_id, {})
            topics.setdefault(place.topic, {})[place.partition] = code
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
