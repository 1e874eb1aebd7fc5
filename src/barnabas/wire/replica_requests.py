"""What a follower sends to its leader: Fetch, OffsetForLeaderEpoch and ListOffsets in the name of a replica.

The leader answers a replica up to the log end, not up to the high watermark.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from barnabas.base.ids import TopicPartition
from barnabas.wire.client_fetch import NEWEST, fetch_request
from barnabas.wire.fetch import API_KEY, FIRST_WITH_TOPIC_IDS, FetchRequest
from barnabas.wire.message_codec import decode_body, message_request
from barnabas.wire.outgoing_request import RequestBuilder

LATEST_TIMESTAMP, EARLIEST_TIMESTAMP = -1, -2
_FIRST_WITH_LEADER_EPOCHS = 4
"""Of ListOffsets and of OffsetForLeaderEpoch: older brokers than 2.1 and 2.3 are no peers."""


class EpochQuery(NamedTuple):
    topic_partition: TopicPartition
    current_leader_epoch: int
    leader_epoch: int
    """The epoch whose end offset is requested."""


class EpochEndOffset(NamedTuple):
    error_code: int
    leader_epoch: int
    """The largest epoch of the leader up to the requested one; -1 if it knows none."""
    end_offset: int


class OffsetQuery(NamedTuple):
    topic_partition: TopicPartition
    current_leader_epoch: int
    timestamp: int


class ListedOffset(NamedTuple):
    error_code: int
    offset: int
    leader_epoch: int


def replica_fetch_request(request: FetchRequest) -> RequestBuilder:
    return RequestBuilder(
        "fetch", API_KEY, FIRST_WITH_TOPIC_IDS, NEWEST, lambda version: fetch_request(version, request)
    )


def epoch_end_request(replica_id: int, queries: Iterable[EpochQuery]) -> RequestBuilder:
    topics: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for query in queries:
        topics[query.topic_partition.topic].append(
            {
                "partition": query.topic_partition.partition,
                "current_leader_epoch": query.current_leader_epoch,
                "leader_epoch": query.leader_epoch,
            }
        )
    named = [{"topic": topic, "partitions": partitions} for topic, partitions in topics.items()]
    fields = {"replica_id": replica_id, "topics": named}
    return message_request("offset_for_leader_epoch", fields, oldest=_FIRST_WITH_LEADER_EPOCHS)


def parse_epoch_ends(version: int, body: memoryview) -> dict[TopicPartition, EpochEndOffset]:
    """Raises InvalidRequest if the bytes are not a response."""
    response = decode_body("offset_for_leader_epoch", version, body)
    return {
        TopicPartition(topic.topic, each.partition): EpochEndOffset(
            int(each.error_code), each.leader_epoch, each.end_offset
        )
        for topic in response.topics
        for each in topic.partitions
    }


def replica_offsets_request(replica_id: int, queries: Iterable[OffsetQuery]) -> RequestBuilder:
    topics: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for query in queries:
        topics[query.topic_partition.topic].append(
            {
                "partition_index": query.topic_partition.partition,
                "current_leader_epoch": query.current_leader_epoch,
                "timestamp": query.timestamp,
            }
        )
    named = [{"name": topic, "partitions": partitions} for topic, partitions in topics.items()]
    fields = {"replica_id": replica_id, "isolation_level": 0, "topics": named}
    return message_request("list_offsets", fields, oldest=_FIRST_WITH_LEADER_EPOCHS)


def parse_replica_offsets(version: int, body: memoryview) -> dict[TopicPartition, ListedOffset]:
    """Raises InvalidRequest if the bytes are not a response."""
    response = decode_body("list_offsets", version, body)
    return {
        TopicPartition(topic.name, each.partition_index): ListedOffset(
            int(each.error_code), each.offset, each.leader_epoch
        )
        for topic in response.topics
        for each in topic.partitions
    }
