"""Requests that only the leaders of partitions answer: who leads, one request to each, and again if it moved.

A partition that cannot be answered has its error as its value: nothing is raised for one partition. A topic
or partition that does not exist is an error at once, where Kafka's admin client asks on for a minute.
"""

from collections.abc import Callable, Collection
from typing import TypeVar

from barnabas.client.cluster import Cluster
from barnabas.client.errors import BrokerError, Unreachable

TopicPartition = tuple[str, int]

_UNKNOWN_TOPIC_OR_PARTITION, _LEADER_NOT_AVAILABLE = 3, 5
_NO_LEADER = -1
T = TypeVar("T")


def ask_leaders(
    cluster: Cluster,
    wanted: Collection[TopicPartition],
    ask: Callable[[int, list[TopicPartition]], dict[TopicPartition, T | BrokerError]],
) -> dict[TopicPartition, T | BrokerError]:
    """`ask(leader, its partitions)` for every leader; what came with an error that passes is asked again."""
    found: dict[TopicPartition, T | BrokerError] = {}

    def attempt() -> None:
        missing = [place for place in wanted if place not in found or _passes(found[place])]
        leaders = _leaders(cluster, missing)
        parts: dict[int, list[TopicPartition]] = {}
        for place in missing:
            leader = leaders[place]
            if isinstance(leader, BrokerError):
                found[place] = leader
            else:
                parts.setdefault(leader, []).append(place)
        for leader, places in sorted(parts.items()):
            found.update(_answers(leader, places, ask, is_only=len(parts) == 1))
        for each in found.values():
            if isinstance(each, BrokerError) and _passes(each):
                raise each

    try:
        cluster.retried(attempt)
    except BrokerError:
        if not found:
            raise
    return {place: found[place] for place in wanted}


def _answers(
    leader: int,
    places: list[TopicPartition],
    ask: Callable[[int, list[TopicPartition]], dict[TopicPartition, T | BrokerError]],
    *,
    is_only: bool,
) -> dict[TopicPartition, T | BrokerError]:
    """A broker that is away takes only its own partitions with it, unless it is the only one asked."""
    try:
        answers = ask(leader, places)
    except Unreachable as error:
        if is_only:
            raise
        return {place: BrokerError(_LEADER_NOT_AVAILABLE, str(error)) for place in places}
    silent = f"The response from broker {leader} did not contain a result for topic partition "
    return {place: answers.get(place, BrokerError(-1, f"{silent}{place[0]}-{place[1]}")) for place in places}


def _leaders(cluster: Cluster, wanted: Collection[TopicPartition]) -> dict[TopicPartition, int | BrokerError]:
    leaders: dict[TopicPartition, int | BrokerError] = {}
    for topic in cluster.metadata(sorted({topic for topic, _ in wanted})).topics:
        for partition in topic.partitions:
            place = topic.name, partition.partition_index
            if partition.error_code != 0:
                leaders[place] = BrokerError(partition.error_code)
            elif partition.leader_id == _NO_LEADER:
                leaders[place] = BrokerError(_LEADER_NOT_AVAILABLE)
            else:
                leaders[place] = partition.leader_id
        if topic.error_code != 0:
            for place in wanted:
                if place[0] == topic.name:
                    leaders[place] = BrokerError(topic.error_code, _topic_message(topic.error_code, place))
    return {place: leaders.get(place, BrokerError(_UNKNOWN_TOPIC_OR_PARTITION)) for place in wanted}


def _topic_message(code: int, place: TopicPartition) -> str:
    failed = f"Failed to fetch metadata for partition {place[0]}-{place[1]}"
    if code == _UNKNOWN_TOPIC_OR_PARTITION:
        return f"{failed} because metadata for topic `{place[0]}` could not be found"
    return f"{failed}: {BrokerError(code).message}"


def _passes(value: object) -> bool:
    return isinstance(value, BrokerError) and value.is_retriable and value.code != _UNKNOWN_TOPIC_OR_PARTITION
