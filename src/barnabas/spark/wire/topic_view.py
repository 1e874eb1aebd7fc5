"""The leaders of a topic's partitions, and the topic's id, as of the last metadata."""

from typing import NamedTuple
from uuid import UUID

from barnabas.client.cluster import Cluster
from barnabas.client.errors import BrokerError, check

UNKNOWN_TOPIC_OR_PARTITION, LEADER_NOT_AVAILABLE = 3, 5
_NO_ID = UUID(int=0)


class TopicView(NamedTuple):
    id: UUID | None
    """None if the broker is older than 2.8."""
    leaders: dict[int, int]
    """By partition. -1 if the partition has no leader at the moment."""

    def leader(self, topic: str, partition: int) -> int:
        """Raises BrokerError: no such partition, or no leader at the moment."""
        if partition not in self.leaders:
            raise BrokerError(
                UNKNOWN_TOPIC_OR_PARTITION,
                f"Topic {topic} has no partition {partition}; it has {len(self.leaders)}",
            )
        if self.leaders[partition] < 0:
            raise BrokerError(LEADER_NOT_AVAILABLE, f"{topic}-{partition} has no leader at the moment")
        return self.leaders[partition]


def view_topic(cluster: Cluster, topic: str, *, is_creating: bool = False) -> TopicView:
    """From a new request. Raises BrokerError, a retriable one while a topic is created (`is_creating`)."""
    for each in cluster.metadata([topic], is_creating=is_creating).topics:
        if each.name == topic:
            if each.error_code == UNKNOWN_TOPIC_OR_PARTITION:
                raise BrokerError(each.error_code, f"There is no topic {topic}")
            check(each.error_code, f"Topic {topic}: {BrokerError(each.error_code).message}")
            leaders = {partition.partition_index: partition.leader_id for partition in each.partitions}
            return TopicView(each.topic_id if each.topic_id != _NO_ID else None, leaders)
    raise BrokerError(UNKNOWN_TOPIC_OR_PARTITION, f"There is no topic {topic}")
