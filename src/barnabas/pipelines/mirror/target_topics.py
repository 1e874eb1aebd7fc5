"""Topics at the target: created like the source's, and grown when the source's grow."""

from collections.abc import Iterable, Mapping

from barnabas.client.admin.configs import (
    TOPIC,
    Change,
    ConfigEntry,
    Resource,
    alter_configs,
    describe_configs,
)
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

_LIMIT = "max.message.bytes"
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
    """Make the target's topics like the source's. Returns what was done, in words.

    A topic of the target takes records as large as the source's does: else they could not be copied.
    """
    there = {topic.name: topic.partitions for topic in list_topics(target)}
    done, limits = [], {}
    for topic in describe_topics(source, sorted(set(names))):
        name, count = f"{prefix}{topic.name}", len(topic.partitions)
        limits[name] = _limit(topic.configs)
        if name not in there:
            _create(target, name, topic)
            done.append(f"created {name} with {count} partitions")
        elif there[name] < count:
            add_partitions(target, {name: Growth(count)})
            done.append(f"{name} has {count} partitions now")
    return done + _raise_limits(target, limits)


def limits_of(cluster: Cluster, names: Iterable[str]) -> dict[str, int]:
    """The largest batch, and so the largest record, that each topic takes."""
    resources = [Resource(TOPIC, name) for name in sorted(set(names))]
    if not resources:
        return {}
    found = describe_configs(cluster, resources)
    return {resource.name: _limit(entries) for resource, entries in found.items()}


def _limit(entries: Iterable[ConfigEntry]) -> int:
    return next((int(each.value) for each in entries if each.name == _LIMIT and each.value), 0)


def _raise_limits(target: Cluster, wanted: Mapping[str, int]) -> list[str]:
    """What a target refuses stays as it is: records that it does not take are dealt with one by one."""
    done = []
    for name, limit in limits_of(target, wanted).items():
        if limit >= wanted[name]:
            continue
        try:
            alter_configs(target, {Resource(TOPIC, name): [Change(_LIMIT, str(wanted[name]))]})
            done.append(f"{name} takes records of {wanted[name]} bytes now, as at the source")
        except BrokerError as error:
            done.append(f"{name} takes records of {limit} bytes, the source {wanted[name]}: {error}")
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
    """The settings of the topic itself, without defaults. Records keep their timestamps."""
    kept = {
        each.name: each.value
        for each in topic.configs
        if each.source == _OWN and each.value is not None and each.name not in _OF_THE_SOURCE
    }
    if int(kept.get("min.insync.replicas", "1")) > replicas:
        del kept["min.insync.replicas"]
    return {**kept, "message.timestamp.type": "CreateTime"}
