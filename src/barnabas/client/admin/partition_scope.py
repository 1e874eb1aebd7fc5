"""Parses partitions, `topic` for all and `topic:0,1` for some, and checks that they exist."""

from collections.abc import Collection, Iterable

from barnabas.client.admin.leaders import TopicPartition
from barnabas.client.cluster import Cluster
from barnabas.client.errors import BadSettings, BrokerError, check

_UNKNOWN_TOPIC_OR_PARTITION, _LEADER_NOT_AVAILABLE = 3, 5


class BadScope(BadSettings):
    """The text does not name partitions."""


class UnusablePartitions(BrokerError):
    """Some of the partitions do not exist or have no leader; the message is Kafka's and names them."""


def parse_scope(text: str) -> tuple[str, list[int] | None]:
    """The topic and its partitions, None for all. Raises BadScope with Kafka's text."""
    if ":" not in text:
        return text, None
    parts = text.rstrip(":").split(":")
    if len(parts) != 2:
        raise BadScope(f"Invalid topic arg '{text}', expected topic name and partitions")
    numbers = []
    for word in parts[1].split(","):
        if not word.isdecimal():
            raise BadScope(f"Invalid partition '{word}' specified in topic arg '{text}''")
        numbers.append(int(word))
    return parts[0], numbers


def resolve_scopes(cluster: Cluster, texts: Iterable[str]) -> list[TopicPartition]:
    """The partitions that `texts` name. Raises BadScope, and the broker's error for an unknown topic.

    Partitions with a number are not checked.
    """
    scopes = [parse_scope(text) for text in texts]
    found = [(topic, number) for topic, numbers in scopes if numbers is not None for number in numbers]
    whole = [topic for topic, numbers in scopes if numbers is None]
    found += partitions_of(cluster, whole)
    return list(dict.fromkeys(found))


def partitions_of(cluster: Cluster, topics: Collection[str]) -> list[TopicPartition]:
    """All partitions of these topics, in order. Raises the broker's error for an unknown topic."""
    if not topics:
        return []
    found = []
    for topic in cluster.metadata(sorted(set(topics))).topics:
        check(topic.error_code)
        found += [(topic.name, each.partition_index) for each in topic.partitions]
    return sorted(found)


def check_partitions(cluster: Cluster, partitions: Collection[TopicPartition]) -> None:
    """Raises UnusablePartitions unless all exist and have a leader, and the broker's error for a topic."""
    existing, without_leader = set(), []
    topics = sorted({topic for topic, _ in partitions})
    for topic in cluster.metadata(topics).topics if topics else ():
        check(topic.error_code)
        for each in topic.partitions:
            topic_partition = topic.name, each.partition_index
            existing.add(topic_partition)
            if each.leader_id < 0 and topic_partition in partitions:
                without_leader.append(topic_partition)
    missing = [topic_partition for topic_partition in partitions if topic_partition not in existing]
    if missing:
        message = f'The partitions "{_listed(missing)}" do not exist'
        raise UnusablePartitions(_UNKNOWN_TOPIC_OR_PARTITION, message)
    if without_leader:
        message = f'The partitions "{_listed(without_leader)}" have no leader'
        raise UnusablePartitions(_LEADER_NOT_AVAILABLE, message)


def _listed(partitions: Iterable[TopicPartition]) -> str:
    return ",".join(f"{topic}-{number}" for topic, number in partitions)
