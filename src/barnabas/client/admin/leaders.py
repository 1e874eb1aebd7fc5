"""Requests to the leaders of partitions: one request to each leader, repeated if a leader has moved.

A partition that fails has its error as its value; nothing is raised for a single partition. A topic or
partition that does not exist is an error at once. Kafka's admin client would retry for a minute.
"""

from collections.abc import Callable, Collection
from typing import TypeVar

from barnabas.client.cluster import Cluster
from barnabas.client.errors import BrokerError, Unreachable

TopicPartition = tuple[str, int]

_UNKNOWN_TOPIC_OR_PARTITION, _LEADER_NOT_AVAILABLE = 3, 5
_NO_LEADER = -1
T = TypeVar("T")


def send_to_leaders(
    cluster: Cluster,
    wanted: Collection[TopicPartition],
    send: Callable[[int, list[TopicPartition]], dict[TopicPartition, T | BrokerError]],
) -> dict[TopicPartition, T | BrokerError]:
    """Calls `send(leader, its partitions)` for every leader. Retries partitions with a retriable error."""
    found: dict[TopicPartition, T | BrokerError] = {}

    def attempt() -> None:
        missing = [
            topic_partition
            for topic_partition in wanted
            if topic_partition not in found or _is_retriable(found[topic_partition])
        ]
        leaders = _leaders(cluster, missing)
        parts: dict[int, list[TopicPartition]] = {}
        for topic_partition in missing:
            leader = leaders[topic_partition]
            if isinstance(leader, BrokerError):
                found[topic_partition] = leader
            else:
                parts.setdefault(leader, []).append(topic_partition)
        for leader, topic_partitions in sorted(parts.items()):
            found.update(_answers(leader, topic_partitions, send, is_only=len(parts) == 1))
        for each in found.values():
            if isinstance(each, BrokerError) and _is_retriable(each):
                raise each

    try:
        cluster.retried(attempt)
    except BrokerError:
        if not found:
            raise
    return {topic_partition: found[topic_partition] for topic_partition in wanted}


def _answers(
    leader: int,
    topic_partitions: list[TopicPartition],
    send: Callable[[int, list[TopicPartition]], dict[TopicPartition, T | BrokerError]],
    *,
    is_only: bool,
) -> dict[TopicPartition, T | BrokerError]:
    """An unreachable broker fails its own partitions only, unless it is the only leader."""
    try:
        answers = send(leader, topic_partitions)
    except Unreachable as error:
        if is_only:
            raise
        return {
            topic_partition: BrokerError(_LEADER_NOT_AVAILABLE, str(error))
            for topic_partition in topic_partitions
        }
    silent = f"The response from broker {leader} did not contain a result for topic partition "
    return {
        topic_partition: answers.get(
            topic_partition, BrokerError(-1, f"{silent}{topic_partition[0]}-{topic_partition[1]}")
        )
        for topic_partition in topic_partitions
    }


def _leaders(cluster: Cluster, wanted: Collection[TopicPartition]) -> dict[TopicPartition, int | BrokerError]:
    leaders: dict[TopicPartition, int | BrokerError] = {}
    for topic in cluster.metadata(sorted({topic for topic, _ in wanted})).topics:
        for partition in topic.partitions:
            topic_partition = topic.name, partition.partition_index
            if partition.error_code != 0:
                leaders[topic_partition] = BrokerError(partition.error_code)
            elif partition.leader_id == _NO_LEADER:
                leaders[topic_partition] = BrokerError(_LEADER_NOT_AVAILABLE)
            else:
                leaders[topic_partition] = partition.leader_id
        if topic.error_code != 0:
            for topic_partition in wanted:
                if topic_partition[0] == topic.name:
                    leaders[topic_partition] = BrokerError(
                        topic.error_code, _topic_message(topic.error_code, topic_partition)
                    )
    return {
        topic_partition: leaders.get(topic_partition, BrokerError(_UNKNOWN_TOPIC_OR_PARTITION))
        for topic_partition in wanted
    }


def _topic_message(code: int, topic_partition: TopicPartition) -> str:
    failed = f"Failed to fetch metadata for partition {topic_partition[0]}-{topic_partition[1]}"
    if code == _UNKNOWN_TOPIC_OR_PARTITION:
        return f"{failed} because metadata for topic `{topic_partition[0]}` could not be found"
    return f"{failed}: {BrokerError(code).message}"


def _is_retriable(value: object) -> bool:
    return isinstance(value, BrokerError) and value.is_retriable and value.code != _UNKNOWN_TOPIC_OR_PARTITION
