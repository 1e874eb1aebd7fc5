"""ElectLeaders: elects other replicas as leaders (KIP-183, KIP-460). The controller answers."""

from collections.abc import Collection
from enum import Enum

from barnabas.client.admin.leaders import TopicPartition
from barnabas.client.admin.reassignments import by_topic
from barnabas.client.cluster import Cluster
from barnabas.client.errors import BrokerError, Unsupported, check

ELECTION_NOT_NEEDED = 84


class ElectionType(Enum):
    PREFERRED = 0
    """The first replica of the partition, if it is in sync."""
    UNCLEAN = 1
    """Any live replica if no live replica is in sync. Records may be lost."""


def elect_leaders(
    cluster: Cluster, kind: ElectionType, partitions: Collection[TopicPartition] | None
) -> dict[TopicPartition, BrokerError | None]:
    """The error of each partition, or None if it has a new leader.

    A partition that needs no election has the error ELECTION_NOT_NEEDED. A request for all partitions (None)
    omits these.
    """
    to = cluster.controller_id
    if kind is not ElectionType.PREFERRED and cluster.version_of("elect_leaders", to=to) == 0:
        raise Unsupported(f"The broker does not know elections of type {kind.name}")
    topics = None
    if partitions is not None:
        topics = [
            {"topic": name, "partitions": indexes} for name, indexes in by_topic(sorted(partitions)).items()
        ]

    answer = cluster.send_to_controller(
        "elect_leaders",
        election_type=kind.value,
        topic_partitions=topics,
        timeout=int(cluster.settings.request_timeout * 1000),
    )
    check(answer.error_code)
    return {
        (topic.topic, each.partition_id): (
            BrokerError(each.error_code, each.error_message) if each.error_code != 0 else None
        )
        for topic in answer.replica_election_results
        for each in topic.partition_result
    }
