"""ElectLeaders: another replica takes the lead (KIP-183, KIP-460). The controller answers."""

from collections.abc import Collection
from enum import Enum

from barnabas.client.admin.leaders import TopicPartition
from barnabas.client.admin.reassignments import by_topic
from barnabas.client.cluster import Cluster
from barnabas.client.errors import BrokerError, Unsupported, check

ELECTION_NOT_NEEDED = 84


class ElectionType(Enum):
    PREFERRED = 0
    """The first of a partition's replicas, if it is in sync."""
    UNCLEAN = 1
    """Any replica, where no one in sync is alive. Records may be lost."""


def elect_leaders(
    cluster: Cluster, kind: ElectionType, partitions: Collection[TopicPartition] | None
) -> dict[TopicPartition, BrokerError | None]:
    """The error of each partition, None for one that has a new leader.

    Partitions that need no election answer ELECTION_NOT_NEEDED; when all are asked for (None), a broker
    leaves them out.
    """
    to = cluster.controller_id
    if kind is not ElectionType.PREFERRED and cluster.version_of("elect_leaders", to=to) == 0:
        raise Unsupported(f"The broker does not know elections of type {kind.name}")
    topics = None
    if partitions is not None:
        topics = [
            {"topic": name, "partitions": indexes} for name, indexes in by_topic(sorted(partitions)).items()
        ]

    answer = cluster.ask_controller(
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
