"""The partitions to read and their offset ranges, determined before the first fetch.

A range ends at the current end offset. A reader that follows goes on beyond it.
"""

from collections.abc import Collection, Sequence
from typing import NamedTuple

from barnabas.cli.messages.start_point import StartPoint
from barnabas.client.admin.offsets import LATEST, end_offsets, list_offsets, start_offsets
from barnabas.client.cluster import Cluster
from barnabas.client.errors import BrokerError, ClientError

_UNKNOWN_TOPIC = 3


class NoSuchPartition(ClientError):
    """The topic, or this partition of it, does not exist."""


class Stretch(NamedTuple):
    """The offset range of one partition: `start` to before `end`."""

    topic: str
    partition: int
    start: int
    end: int


def plan_reading(
    cluster: Cluster, topics: Sequence[str], partitions: Collection[int], start: StartPoint
) -> list[Stretch]:
    """All partitions if none are named. An offset out of range is moved to the nearest end of the log."""
    topic_partitions = _topic_partitions(cluster, topics, partitions)
    begins, ends = start_offsets(cluster, topic_partitions), end_offsets(cluster, topic_partitions)
    if start.is_end:
        chosen = ends
    elif start.offset is not None:
        chosen = {
            topic_partition: min(max(start.offset, begins[topic_partition]), ends[topic_partition])
            for topic_partition in topic_partitions
        }
    elif start.timestamp_ms is not None:
        chosen = _at_time(cluster, topic_partitions, start.timestamp_ms, ends)
    else:
        chosen = begins
    return [
        Stretch(*topic_partition, chosen[topic_partition], ends[topic_partition])
        for topic_partition in topic_partitions
    ]


def check_topics(cluster: Cluster, topics: Sequence[str]) -> None:
    """Raises NoSuchPartition. Does not create the topic."""
    _topic_partitions(cluster, topics, ())


def _topic_partitions(
    cluster: Cluster, topics: Sequence[str], partitions: Collection[int]
) -> list[tuple[str, int]]:
    topic_partitions = []
    for topic in cluster.metadata(topics).topics:
        if topic.error_code == _UNKNOWN_TOPIC:
            raise NoSuchPartition(f"Topic {topic.name} does not exist")
        if topic.error_code != 0:
            raise BrokerError(topic.error_code, f"{topic.name}: {BrokerError(topic.error_code)}")
        there = sorted(each.partition_index for each in topic.partitions)
        missing = sorted(set(partitions) - set(there))
        if missing:
            raise NoSuchPartition(f"Topic {topic.name} has no partition {missing[0]} (it has {len(there)})")
        topic_partitions += [(topic.name, each) for each in there if not partitions or each in partitions]
    return topic_partitions


def _at_time(
    cluster: Cluster, topic_partitions: list[tuple[str, int]], time_ms: int, ends: dict[tuple[str, int], int]
) -> dict[tuple[str, int], int]:
    found = list_offsets(cluster, dict.fromkeys(topic_partitions, time_ms))
    chosen = {}
    for topic_partition, each in found.items():
        if isinstance(each, BrokerError):
            raise each
        # No record is that recent: start at the end.
        chosen[topic_partition] = ends[topic_partition] if each.offset == LATEST else each.offset
    return chosen
