"""Which partitions are read, from which offset to which: settled before the first record is fetched.

The end is where a partition ends now; whoever follows goes on beyond it.
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
    """What is read of one partition: `start` to before `end`."""

    topic: str
    partition: int
    start: int
    end: int


def plan_reading(
    cluster: Cluster, topics: Sequence[str], partitions: Collection[int], start: StartPoint
) -> list[Stretch]:
    """All partitions if none are named. An offset outside of a log is moved to its nearest end."""
    places = _places(cluster, topics, partitions)
    begins, ends = start_offsets(cluster, places), end_offsets(cluster, places)
    if start.is_end:
        chosen = ends
    elif start.offset is not None:
        chosen = {place: min(max(start.offset, begins[place]), ends[place]) for place in places}
    elif start.timestamp_ms is not None:
        chosen = _at_time(cluster, places, start.timestamp_ms, ends)
    else:
        chosen = begins
    return [Stretch(*place, chosen[place], ends[place]) for place in places]


def check_topics(cluster: Cluster, topics: Sequence[str]) -> None:
    """Raises NoSuchPartition; nothing is created by asking."""
    _places(cluster, topics, ())


def _places(cluster: Cluster, topics: Sequence[str], partitions: Collection[int]) -> list[tuple[str, int]]:
    places = []
    for topic in cluster.metadata(topics).topics:
        if topic.error_code == _UNKNOWN_TOPIC:
            raise NoSuchPartition(f"Topic {topic.name} does not exist")
        if topic.error_code != 0:
            raise BrokerError(topic.error_code, f"{topic.name}: {BrokerError(topic.error_code)}")
        there = sorted(each.partition_index for each in topic.partitions)
        missing = sorted(set(partitions) - set(there))
        if missing:
            raise NoSuchPartition(f"Topic {topic.name} has no partition {missing[0]} (it has {len(there)})")
        places += [(topic.name, each) for each in there if not partitions or each in partitions]
    return places


def _at_time(
    cluster: Cluster, places: list[tuple[str, int]], time_ms: int, ends: dict[tuple[str, int], int]
) -> dict[tuple[str, int], int]:
    found = list_offsets(cluster, dict.fromkeys(places, time_ms))
    chosen = {}
    for place, each in found.items():
        if isinstance(each, BrokerError):
            raise each
        # No record is that young: there is nothing to read but what comes.
        chosen[place] = ends[place] if each.offset == LATEST else each.offset
    return chosen
