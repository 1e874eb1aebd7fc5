"""DescribeProducers: who writes to a partition, and which of its transactions are open (KIP-664).

The leader of a partition answers, or a replica that is named.
"""

from collections.abc import Collection
from dataclasses import dataclass

from barnabas.client.admin.leaders import TopicPartition, ask_leaders
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
    """None before the producer's first transaction ended."""
    transaction_start: int | None
    """The offset of the open transaction's first record."""


Producers = tuple[ProducerState, ...]


def describe_producers(
    cluster: Cluster, partitions: Collection[TopicPartition], *, broker: int | None = None
) -> dict[TopicPartition, Producers]:
    """Raises the first error."""
    if broker is not None:
        answers = _ask(cluster, broker, partitions)
    else:
        answers = ask_leaders(cluster, partitions, lambda leader, asked: _ask(cluster, leader, asked))
    found = {}
    for place, producers in answers.items():
        if isinstance(producers, BrokerError):
            raise producers
        found[place] = producers
    return found


def _ask(
    cluster: Cluster, node: int, asked: Collection[TopicPartition]
) -> dict[TopicPartition, Producers | BrokerError]:
    topics = [{"name": name, "partition_indexes": indexes} for name, indexes in by_topic(asked).items()]
    answer = cluster.ask("describe_producers", to=node, topics=topics)
    found: dict[TopicPartition, Producers | BrokerError] = {}
    for topic in answer.topics:
        for partition in topic.partitions:
            place = topic.name, partition.partition_index
            if partition.error_code != 0:
                found[place] = BrokerError(partition.error_code, partition.error_message)
                continue
            found[place] = tuple(
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
