"""DescribeProducers: the producers of a partition and its open transactions (KIP-664).

The leader of a partition answers, or a named replica.
"""

from collections.abc import Collection
from dataclasses import dataclass

from barnabas.client.admin.leaders import TopicPartition, send_to_leaders
from barnabas.client.admin.reassignments import by_topic
from barnabas.client.cluster import Cluster
from barnabas.client.errors import BrokerError


@dataclass(frozen=True, slots=True)
class ProducerState:
    id: int
    epoch: int
    last_sequence: int
    last_timestamp: int
    coordinator_epoch: int | None
    """None until the first transaction of the producer has ended."""
    transaction_start: int | None
    """The offset of the open transaction's first record."""


Producers = tuple[ProducerState, ...]


def describe_producers(
    cluster: Cluster, partitions: Collection[TopicPartition], *, broker: int | None = None
) -> dict[TopicPartition, Producers]:
    """Raises the first error."""
    if broker is not None:
        answers = _request(cluster, broker, partitions)
    else:
        answers = send_to_leaders(
            cluster, partitions, lambda leader, requested: _request(cluster, leader, requested)
        )
    found = {}
    for topic_partition, producers in answers.items():
        if isinstance(producers, BrokerError):
            raise producers
        found[topic_partition] = producers
    return found


def _request(
    cluster: Cluster, node: int, requested: Collection[TopicPartition]
) -> dict[TopicPartition, Producers | BrokerError]:
    topics = [{"name": name, "partition_indexes": indexes} for name, indexes in by_topic(requested).items()]
    answer = cluster.request("describe_producers", to=node, topics=topics)
    found: dict[TopicPartition, Producers | BrokerError] = {}
    for topic in answer.topics:
        for partition in topic.partitions:
            topic_partition = topic.name, partition.partition_index
            if partition.error_code != 0:
                found[topic_partition] = BrokerError(partition.error_code, partition.error_message)
                continue
            found[topic_partition] = tuple(
                ProducerState(
                    each.producer_id,
                    each.producer_epoch,
                    each.last_sequence,
                    each.last_timestamp,
                    _unless_negative(each.coordinator_epoch),
                    _unless_negative(each.current_txn_start_offset),
                )
                for each in partition.active_producers
            )
    return found


def _unless_negative(number: int) -> int | None:
    return None if number < 0 else number
