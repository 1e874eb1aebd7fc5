"""OffsetFetch, OffsetCommit and OffsetDelete: reads and changes the committed offsets of a group."""

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from barnabas.client.admin.leaders import TopicPartition
from barnabas.client.cluster import GROUP, Cluster
from barnabas.client.errors import BrokerError, check

_ONE_GROUP = 7
"""The last version of OffsetFetch for one group. Later ones take several groups, and topic ids."""

_TOPIC_NAMES = 9
"""The last version of OffsetCommit with names of topics."""

_OF_COORDINATOR = {14, 15, 16}
"""Errors of the coordinator, not of the partition: it is loading, not available, or has moved."""


class CommittedOffset(NamedTuple):
    offset: int
    leader_epoch: int | None
    metadata: str


def committed_offsets(cluster: Cluster, group: str) -> dict[TopicPartition, CommittedOffset]:
    """All committed offsets. Empty if the group does not exist."""

    def attempt() -> dict[TopicPartition, CommittedOffset]:
        answer = cluster.send_to_coordinator(
            GROUP, group, "offset_fetch", max_version=_ONE_GROUP, group_id=group, topics=None
        )
        check(answer.error_code)
        return {
            (topic.name, each.partition_index): CommittedOffset(
                each.committed_offset,
                each.committed_leader_epoch if each.committed_leader_epoch >= 0 else None,
                each.metadata or "",
            )
            for topic in answer.topics
            for each in topic.partitions
            if each.error_code == 0 and each.committed_offset >= 0
        }

    return cluster.retried(attempt)


def commit_offsets(
    cluster: Cluster, group: str, offsets: Mapping[TopicPartition, int], *, metadata: str = ""
) -> None:
    """Sets the offsets of a group without members. Creates the group if it does not exist.

    Raises the first error.
    """
    if not offsets:
        return
    topics: dict[str, list[dict[str, object]]] = {}
    for (topic, partition), offset in offsets.items():
        topics.setdefault(topic, []).append(
            {"partition_index": partition, "committed_offset": offset, "committed_metadata": metadata}
        )

    def attempt() -> list[BrokerError]:
        answer = cluster.send_to_coordinator(
            GROUP,
            group,
            "offset_commit",
            max_version=_TOPIC_NAMES,
            group_id=group,
            generation_id_or_member_epoch=-1,
            member_id="",
            topics=[{"name": name, "partitions": partitions} for name, partitions in topics.items()],
        )
        codes = {each.error_code for topic in answer.topics for each in topic.partitions} - {0}
        for code in codes & _OF_COORDINATOR:
            raise BrokerError(code)
        return [BrokerError(code) for code in sorted(codes)]

    for error in cluster.retried(attempt):
        raise error


def delete_offsets(
    cluster: Cluster, group: str, partitions: Collection[TopicPartition]
) -> dict[TopicPartition, BrokerError | None]:
    """The error of each partition, or None if its offset was deleted. Raises the error of the group."""

    def attempt() -> dict[TopicPartition, BrokerError | None]:
        answer = cluster.send_to_coordinator(
            GROUP, group, "offset_delete", group_id=group, topics=_by_topic(partitions)
        )
        check(answer.error_code)
        return {
            (topic.name, each.partition_index): BrokerError(each.error_code) if each.error_code else None
            for topic in answer.topics
            for each in topic.partitions
        }

    return cluster.retried(attempt)


def _by_topic(partitions: Iterable[TopicPartition]) -> list[dict[str, object]]:
    topics: dict[str, list[dict[str, int]]] = {}
    for topic, partition in sorted(partitions):
        topics.setdefault(topic, []).append({"partition_index": partition})
    return [{"name": name, "partitions": numbers} for name, numbers in topics.items()]
