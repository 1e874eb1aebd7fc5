"""Topics: list, describe, create, add partitions, delete.

The partitions of a topic come from DescribeTopicPartitions, in pages. Metadata is used if a broker does not
serve it, or if only the topic id is known; it has no eligible leader replicas. Errors are raised at once:
only a controller that has moved is retried.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple
from uuid import UUID

from kio.schema.errors import ErrorCode

from barnabas.client.admin.configs import TOPIC, ConfigEntry, Resource, describe_configs
from barnabas.client.admin.reassignments import Reassignment, list_reassignments
from barnabas.client.cluster import Cluster
from barnabas.client.errors import BrokerError, Unsupported, check

DEFAULT = -1
"""The default number of partitions or replicas of the cluster."""

PARTITIONS_PER_ANSWER = 2000
_FIRST_WITH_DEFAULTS = 4  # CreateTopics, KIP-464
_FIRST_DELETE_BY_ID = 6  # DeleteTopics, KIP-516
_FIRST_METADATA_BY_ID = 12  # KIP-516; earlier versions have the field, but no broker answers it


class TopicListing(NamedTuple):
    name: str
    id: UUID | None
    is_internal: bool
    partitions: int
    replicas: int
    """Of its first partition."""


@dataclass(frozen=True, slots=True)
class PartitionDescription:
    index: int
    leader: int | None
    """None also if the leader is not a live broker."""
    leader_epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    eligible_leaders: tuple[int, ...] | None
    """None if the broker does not support it (KIP-966)."""
    last_known_eligible: tuple[int, ...] | None
    offline: tuple[int, ...]
    reassignment: Reassignment | None = None

    @property
    def replication_factor(self) -> int:
        """During a reassignment the number before it. A finished reassignment does not count."""
        moving = self.reassignment
        if moving is None or not {*moving.adding, *moving.removing} & {*self.replicas}:
            return len(self.replicas)
        return len(moving.replicas) - len(moving.adding)

    @property
    def is_under_replicated(self) -> bool:
        return len(self.isr) < self.replication_factor

    def is_under_min_isr(self, least: int) -> bool:
        return self.leader is None or len(self.isr) < least


@dataclass(frozen=True, slots=True)
class TopicDescription:
    name: str
    id: UUID | None
    is_internal: bool
    partitions: tuple[PartitionDescription, ...]
    configs: tuple[ConfigEntry, ...] = ()
    """Every setting, defaults included, if requested."""

    @property
    def replication_factor(self) -> int:
        return self.partitions[0].replication_factor if self.partitions else 0

    @property
    def min_isr(self) -> int:
        values = [each.value for each in self.configs if each.name == "min.insync.replicas"]
        return int(values[0]) if values and values[0] is not None else 1

    @property
    def overrides(self) -> list[ConfigEntry]:
        """Settings that differ from the defaults, of the topic or of the brokers."""
        return [each for each in self.configs if not each.is_default]


# --- looking -----------------------------------------------------------------------------------------


def list_topics(cluster: Cluster) -> list[TopicListing]:
    """All topics by name."""
    listed = []
    for topic in cluster.metadata(None).topics:
        replicas = len(topic.partitions[0].replica_nodes) if topic.partitions else 0
        listed.append(
            TopicListing(topic.name, topic.topic_id, topic.is_internal, len(topic.partitions), replicas)
        )
    return sorted(listed)


def describe_topics(
    cluster: Cluster,
    names: Iterable[str],
    *,
    partitions_per_answer: int = PARTITIONS_PER_ANSWER,
) -> list[TopicDescription]:
    """Layout, settings and reassignments of each topic, by name. Raises the first error."""
    return _completed(cluster, layouts(cluster, names, partitions_per_answer=partitions_per_answer))


def describe_topics_by_id(cluster: Cluster, ids: Iterable[UUID]) -> list[TopicDescription]:
    wanted = [{"topic_id": each, "name": None} for each in ids]
    if not wanted:
        return []
    if cluster.version_of("metadata") < _FIRST_METADATA_BY_ID:
        raise Unsupported("The broker does not support METADATA by topic id")
    answer = cluster.request("metadata", topics=wanted, allow_auto_topic_creation=False)
    return _completed(cluster, [_topic(each, cluster) for each in answer.topics])


def layouts(
    cluster: Cluster, names: Iterable[str], *, partitions_per_answer: int = PARTITIONS_PER_ANSWER
) -> list[TopicDescription]:
    """The partitions of each topic, by name, without settings and reassignments. Raises the first error."""
    wanted = sorted(names)
    if not wanted:
        return []
    try:
        cluster.version_of("describe_topic_partitions")
    except Unsupported:
        return sorted(
            (_topic(each, cluster) for each in cluster.metadata(wanted).topics), key=lambda topic: topic.name
        )
    return _pages(cluster, wanted, partitions_per_answer)


def _pages(cluster: Cluster, wanted: Sequence[str], limit: int) -> list[TopicDescription]:
    """Reads every page and joins topics that continue on the next page."""
    found: dict[str, TopicDescription] = {}
    cursor: dict[str, object] | None = None
    cluster.metadata([])  # refreshes the live brokers
    while True:
        rest = [name for name in wanted if cursor is None or name >= str(cursor["topic_name"])]
        answer = cluster.request(
            "describe_topic_partitions",
            topics=[{"name": name} for name in rest],
            response_partition_limit=limit,
            cursor=cursor,
        )
        for raw in answer.topics:
            topic = _topic(raw, cluster)
            known = found.get(topic.name)
            before = known.partitions if known is not None else ()
            found[topic.name] = replace(topic, partitions=(*before, *topic.partitions))
        following = answer.next_cursor
        if following is None:
            return [found[name] for name in sorted(found)]
        cursor = {"topic_name": following.topic_name, "partition_index": following.partition_index}


def _completed(cluster: Cluster, topics: Sequence[TopicDescription]) -> list[TopicDescription]:
    if not topics:
        return []
    configs = describe_configs(cluster, [Resource(TOPIC, each.name) for each in topics])
    moving = _moving(
        cluster, [(each.name, partition.index) for each in topics for partition in each.partitions]
    )
    return [
        replace(
            each,
            configs=tuple(configs[Resource(TOPIC, each.name)]),
            partitions=tuple(
                replace(partition, reassignment=moving.get((each.name, partition.index)))
                for partition in each.partitions
            ),
        )
        for each in topics
    ]


def _moving(cluster: Cluster, partitions: Sequence[tuple[str, int]]) -> dict[tuple[str, int], Reassignment]:
    """Empty if the broker does not serve the request, or if it is not authorized."""
    try:
        return list_reassignments(cluster, partitions)
    except Unsupported:
        return {}
    except BrokerError as error:
        if error.code != ErrorCode.cluster_authorization_failed:
            raise
        return {}


def _topic(raw: Any, cluster: Cluster) -> TopicDescription:
    is_missing = raw.error_code == ErrorCode.unknown_topic_or_partition
    check(raw.error_code, f"Topic '{raw.name}' does not exist" if is_missing else None)
    partitions = sorted((_partition(each, cluster) for each in raw.partitions), key=lambda each: each.index)
    return TopicDescription(raw.name, raw.topic_id, raw.is_internal, tuple(partitions))


def _partition(raw: Any, cluster: Cluster) -> PartitionDescription:
    eligible = getattr(raw, "eligible_leader_replicas", None)
    last_known = getattr(raw, "last_known_elr", None)
    return PartitionDescription(
        raw.partition_index,
        raw.leader_id if raw.leader_id in cluster.nodes else None,
        raw.leader_epoch,
        tuple(raw.replica_nodes),
        tuple(raw.isr_nodes),
        None if eligible is None else tuple(eligible),
        None if last_known is None else tuple(last_known),
        tuple(raw.offline_replicas),
    )


# --- changing ----------------------------------------------------------------------------------------


def create_topic(
    cluster: Cluster,
    name: str,
    *,
    partitions: int = DEFAULT,
    replicas: int = DEFAULT,
    assignment: Sequence[Sequence[int]] = (),
    configs: Mapping[str, str] | None = None,
    validate_only: bool = False,
) -> None:
    """`assignment` (the brokers of each partition) replaces both numbers."""
    has_defaults = not assignment and DEFAULT in (partitions, replicas)
    if has_defaults and cluster.version_of("create_topics", to=cluster.controller_id) < _FIRST_WITH_DEFAULTS:
        raise Unsupported("The broker is too old to choose partitions and replicas itself: name both numbers")
    topic = {
        "name": name,
        "num_partitions": DEFAULT if assignment else partitions,
        "replication_factor": DEFAULT if assignment else replicas,
        "assignments": [
            {"partition_index": index, "broker_ids": list(brokers)}
            for index, brokers in enumerate(assignment)
        ],
        "configs": [{"name": key, "value": value} for key, value in (configs or {}).items()],
    }
    answer = _of_controller(
        cluster,
        "create_topics",
        lambda answer: answer.topics,
        topics=[topic],
        timeout=_wait(cluster),
        validate_only=validate_only,
    )
    for result in answer.topics:
        check(result.error_code, result.error_message)


def delete_topics(cluster: Cluster, names: Iterable[str]) -> dict[str, BrokerError]:
    """The topics that could not be deleted, with the reason."""
    requested = list(names)
    if not requested:
        return {}
    answer = _of_controller(
        cluster,
        "delete_topics",
        lambda answer: answer.responses,
        topics=[{"name": name, "topic_id": None} for name in requested],
        topic_names=requested,  # of versions before 6
        timeout=_wait(cluster),
    )
    return {
        each.name: BrokerError(each.error_code, each.error_message)
        for each in answer.responses
        if each.error_code != 0
    }


def delete_topics_by_id(cluster: Cluster, ids: Iterable[UUID]) -> dict[UUID, BrokerError]:
    """The topics that could not be deleted, with the reason."""
    requested = list(ids)
    if not requested:
        return {}
    if cluster.version_of("delete_topics", to=cluster.controller_id) < _FIRST_DELETE_BY_ID:
        raise Unsupported("The broker does not support DELETE_TOPICS by topic id")
    answer = _of_controller(
        cluster,
        "delete_topics",
        lambda answer: answer.responses,
        topics=[{"name": None, "topic_id": each} for each in requested],
        timeout=_wait(cluster),
    )
    return {
        each.topic_id: BrokerError(each.error_code, each.error_message)
        for each in answer.responses
        if each.error_code != 0
    }


class Growth(NamedTuple):
    """A topic's new number of partitions, and, if wanted, the brokers of each partition that is added."""

    partitions: int
    assignment: Sequence[Sequence[int]] | None = None


def add_partitions(cluster: Cluster, growths: Mapping[str, Growth]) -> None:
    """Raises the first error. Other topics may have their new partitions then."""
    topics = [
        {
            "name": name,
            "count": growth.partitions,
            "assignments": None
            if growth.assignment is None
            else [{"broker_ids": list(brokers)} for brokers in growth.assignment],
        }
        for name, growth in growths.items()
    ]
    answer = _of_controller(
        cluster,
        "create_partitions",
        lambda answer: answer.results,
        topics=topics,
        timeout=_wait(cluster),
        validate_only=False,
    )
    for result in answer.results:
        check(result.error_code, result.error_message)


def _of_controller(
    cluster: Cluster, api: str, results: Callable[[Any], Iterable[Any]], **fields: object
) -> Any:
    """The response of the controller. Retries if the controller has moved, which has no effect yet."""

    def attempt() -> Any:
        answer = cluster.send_to_controller(api, max_version=None, **fields)
        for result in results(answer):
            if result.error_code == ErrorCode.not_controller:
                check(result.error_code)
        return answer

    return cluster.retried(attempt)


def _wait(cluster: Cluster) -> int:
    return int(cluster.settings.request_timeout * 1000)
