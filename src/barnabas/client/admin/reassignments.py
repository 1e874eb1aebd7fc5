"""Moving replicas between brokers: AlterPartitionReassignments, ListPartitionReassignments (KIP-455).

The controller answers. A finished reassignment is no longer listed. `reassignment_states` compares the
current replicas with the target to see whether it was completed.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from barnabas.client.admin.leaders import TopicPartition
from barnabas.client.cluster import Cluster
from barnabas.client.errors import BrokerError, check

_UNKNOWN_TOPIC_OR_PARTITION = 3


class Reassignment(NamedTuple):
    """An active reassignment."""

    replicas: tuple[int, ...]
    """Old and new replicas."""
    adding: tuple[int, ...]
    removing: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ReassignmentState:
    current: tuple[int, ...]
    target: tuple[int, ...]
    is_done: bool
    """No reassignment of this partition is active, whatever its replicas are."""

    @property
    def is_reached(self) -> bool:
        return self.is_done and self.current == self.target


def partition_name(topic_partition: TopicPartition) -> str:
    return f"{topic_partition[0]}-{topic_partition[1]}"


def list_reassignments(
    cluster: Cluster, partitions: Collection[TopicPartition] | None = None
) -> dict[TopicPartition, Reassignment]:
    """The active reassignments of these partitions (None: of all)."""
    topics = None
    if partitions is not None:
        topics = [
            {"name": name, "partition_indexes": indexes} for name, indexes in by_topic(partitions).items()
        ]

    def attempt() -> dict[TopicPartition, Reassignment]:
        answer = cluster.send_to_controller(
            "list_partition_reassignments", timeout=_timeout(cluster), topics=topics
        )
        check(answer.error_code, answer.error_message)
        return {
            (topic.name, each.partition_index): Reassignment(
                tuple(each.replicas), tuple(each.adding_replicas), tuple(each.removing_replicas)
            )
            for topic in answer.topics
            for each in topic.partitions
        }

    return cluster.retried(attempt)


def alter_reassignments(
    cluster: Cluster,
    targets: Mapping[TopicPartition, Sequence[int] | None],
    *,
    allow_replication_factor_change: bool = True,
) -> dict[TopicPartition, BrokerError]:
    """Starts to reassign each partition to its replicas; None cancels. Returns errors by partition."""
    topics: dict[str, list[dict[str, object]]] = {}
    for (name, index), replicas in targets.items():
        wanted = None if replicas is None else list(replicas)
        topics.setdefault(name, []).append({"partition_index": index, "replicas": wanted})

    def attempt() -> dict[TopicPartition, BrokerError]:
        answer = cluster.send_to_controller(
            "alter_partition_reassignments",
            timeout=_timeout(cluster),
            topics=[{"name": name, "partitions": partitions} for name, partitions in topics.items()],
            allow_replication_factor_change=allow_replication_factor_change,
        )
        check(answer.error_code, answer.error_message)
        return {
            (topic.name, each.partition_index): BrokerError(each.error_code, each.error_message)
            for topic in answer.responses
            for each in topic.partitions
            if each.error_code != 0
        }

    return cluster.retried(attempt) if topics else {}


def replicas_of(cluster: Cluster, topics: Iterable[str]) -> dict[TopicPartition, tuple[int, ...]]:
    """The replicas of every partition of these topics. Raises BrokerError if a topic does not exist."""
    names = sorted(set(topics))
    if not names:
        return {}
    found = {}
    for topic in cluster.metadata(names).topics:
        if topic.error_code == _UNKNOWN_TOPIC_OR_PARTITION:
            raise BrokerError(topic.error_code, f"Topic {topic.name} not found.")
        check(topic.error_code)
        for each in topic.partitions:
            found[topic.name, each.partition_index] = tuple(each.replica_nodes)
    return found


def replicas_of_partitions(
    cluster: Cluster, partitions: Collection[TopicPartition]
) -> dict[TopicPartition, tuple[int, ...]]:
    """Raises BrokerError if a topic or a partition does not exist."""
    known = replicas_of(cluster, {topic for topic, _ in partitions})
    missing = [topic_partition for topic_partition in partitions if topic_partition not in known]
    if missing:
        names = ", ".join(map(partition_name, missing))
        raise BrokerError(_UNKNOWN_TOPIC_OR_PARTITION, f"Unable to find partition: {names}")
    return {topic_partition: known[topic_partition] for topic_partition in partitions}


def reassignment_states(
    cluster: Cluster, targets: Mapping[TopicPartition, Sequence[int]]
) -> tuple[dict[TopicPartition, ReassignmentState], bool]:
    """The state of each target, and whether any reassignment is active in the cluster.

    A partition that does not exist has no replicas.
    """
    ongoing = list_reassignments(cluster)
    settled = {
        topic_partition: replicas
        for topic_partition, replicas in targets.items()
        if topic_partition not in ongoing
    }
    current = _existing(cluster, {topic for topic, _ in settled})
    states = {}
    for topic_partition, replicas in targets.items():
        if topic_partition in ongoing:
            states[topic_partition] = ReassignmentState(
                ongoing[topic_partition].replicas, tuple(replicas), is_done=False
            )
        else:
            states[topic_partition] = ReassignmentState(
                current.get(topic_partition, ()), tuple(replicas), is_done=True
            )
    return states, bool(ongoing)


def by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for topic, index in partitions:
        found.setdefault(topic, []).append(index)
    return found


def _existing(cluster: Cluster, topics: Collection[str]) -> dict[TopicPartition, tuple[int, ...]]:
    if not topics:
        return {}
    found = {}
    for topic in cluster.metadata(sorted(topics)).topics:
        if topic.error_code != _UNKNOWN_TOPIC_OR_PARTITION:
            check(topic.error_code)
        for each in topic.partitions:
            found[topic.name, each.partition_index] = tuple(each.replica_nodes)
    return found


def _timeout(cluster: Cluster) -> int:
    return int(cluster.settings.request_timeout * 1000)
