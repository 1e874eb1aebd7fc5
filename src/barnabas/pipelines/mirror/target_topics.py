"""Topics at the target: created like the source's, and grown when the source's grow."""

from collections.abc import Iterable

from barnabas.client.admin.topics import (
    Growth,
    TopicDescription,
    add_partitions,
    create_topic,
    describe_topics,
    layouts,
    list_topics,
)
from barnabas.client.cluster import Cluster
from barnabas.client.errors import BrokerError

_OWN = "DYNAMIC_TOPIC_CONFIG"
_OF_THE_SOURCE = frozenset(
    {
        "leader.replication.throttled.replicas",
        "follower.replication.throttled.replicas",
        "message.timestamp.type",
    }
)
"""What means nothing elsewhere, or would replace the times of the records by those of their copies."""


def follow(source: Cluster, target: Cluster, names: Iterable[str], prefix: str = "") -> list[str]:
    """Make the target's topics like the source's. Returns what was done, in words."""
    there = {topic.name: topic.partitions for topic in list_topics(target)}
    done = []
    for topic in describe_topics(source, sorted(set(names))):
        name, count = f"{prefix}{topic.name}", len(topic.partitions)
        if name not in there:
            _create(target, name, topic)
            done.append(f"created {name} with {count} partitions")
        elif there[name] < count:
            add_partitions(target, {name: Growth(count)})
            done.append(f"{name} has {count} partitions now")
    return done


def partition_counts(cluster: Cluster, names: Iterable[str]) -> dict[str, int]:
    return {topic.name: len(topic.partitions) for topic in layouts(cluster, names)}


def _create(target: Cluster, name: str, topic: TopicDescription) -> None:
    replicas = max(1, min(topic.replication_factor, len(target.nodes)))
    try:
        create_topic(
            target,
            name,
            partitions=len(topic.partitions),
            replicas=replicas,
            configs=configs_of(topic, replicas),
        )
    except BrokerError as error:
        if error.name != "topic_already_exists":
            raise


def configs_of(topic: TopicDescription, replicas: int) -> dict[str, str]:
    """What somebody set for the topic itself; records keep the time they have."""
    kept = {
        each.name: each.value
        for each in topic.configs
        if each.source == _OWN and each.value is not None and each.name not in _OF_THE_SOURCE
    }
    if int(kept.get("min.insync.replicas", "1")) > replicas:
        del kept["min.insync.replicas"]
    return {**kept, "message.timestamp.type": "CreateTime"}
