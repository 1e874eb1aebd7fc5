"""ListOffsets: start and end offsets of partitions, and offsets of a time."""

from collections.abc import Collection, Mapping
from typing import NamedTuple

from barnabas.client.admin.leaders import TopicPartition, send_to_leaders
from barnabas.client.cluster import Cluster
from barnabas.client.errors import BrokerError
from barnabas.wire.message_codec import known_versions

LATEST, EARLIEST, MAX_TIMESTAMP, EARLIEST_LOCAL, LATEST_TIERED, EARLIEST_PENDING_UPLOAD = (
    -1,
    -2,
    -3,
    -4,
    -5,
    -6,
)
"""Special timestamps of ListOffsets."""

TIMES = {
    "latest": LATEST,
    "earliest": EARLIEST,
    "max-timestamp": MAX_TIMESTAMP,
    "earliest-local": EARLIEST_LOCAL,
    "latest-tiered": LATEST_TIERED,
    "earliest-pending-upload": EARLIEST_PENDING_UPLOAD,
}
"""Their names on command lines."""

READ_UNCOMMITTED, READ_COMMITTED = 0, 1

_SINCE_VERSION = {MAX_TIMESTAMP: 7, EARLIEST_LOCAL: 8, LATEST_TIERED: 9, EARLIEST_PENDING_UPLOAD: 11}
"""The first version with each special timestamp: an older broker would read it as a time before 1970."""
_UNSUPPORTED_VERSION = 35


class ListedOffset(NamedTuple):
    offset: int
    """-1 if no record is that recent."""
    timestamp: int
    leader_epoch: int
    """-1 if the broker returns none."""


def list_offsets(
    cluster: Cluster, wanted: Mapping[TopicPartition, int], *, isolation: int = READ_UNCOMMITTED
) -> dict[TopicPartition, ListedOffset | BrokerError]:
    """The offset at each partition's timestamp (milliseconds, or one of the constants above).

    A partition that fails has its error as its value; nothing is raised for it.
    """

    def send(
        node: int, topic_partitions: list[TopicPartition]
    ) -> dict[TopicPartition, ListedOffset | BrokerError]:
        return _request(
            cluster,
            node,
            {topic_partition: wanted[topic_partition] for topic_partition in topic_partitions},
            isolation,
        )

    return send_to_leaders(cluster, wanted, send)


def _request(
    cluster: Cluster, node: int, wanted: Mapping[TopicPartition, int], isolation: int
) -> dict[TopicPartition, ListedOffset | BrokerError]:
    found: dict[TopicPartition, ListedOffset | BrokerError] = {}
    version = cluster.version_of("list_offsets", to=node)
    topics: dict[str, list[dict[str, int]]] = {}
    for (topic, partition), timestamp in wanted.items():
        needed = _SINCE_VERSION.get(timestamp, 0)
        if version < needed:
            found[topic, partition] = _too_old(needed, version)
            continue
        topics.setdefault(topic, []).append(
            {"partition_index": partition, "timestamp": timestamp, "current_leader_epoch": -1}
        )
    if not topics:
        return found
    answer = cluster.request(
        "list_offsets",
        to=node,
        replica_id=-1,
        isolation_level=isolation,
        topics=[{"name": name, "partitions": partitions} for name, partitions in topics.items()],
        timeout=int(cluster.settings.request_timeout * 1000),
    )
    for answered in answer.topics:
        for each in answered.partitions:
            topic_partition = answered.name, each.partition_index
            if each.error_code == 0:
                found[topic_partition] = ListedOffset(each.offset, each.timestamp, each.leader_epoch)
            else:
                found[topic_partition] = BrokerError(each.error_code)
    return found


def _too_old(needed: int, served: int) -> BrokerError:
    ours = known_versions("list_offsets").highest
    return BrokerError(
        _UNSUPPORTED_VERSION,
        f"The node does not support LIST_OFFSETS with version in range [{needed},{ours}]; "
        f"it serves up to {served}.",
    )


def end_offsets(
    cluster: Cluster, partitions: Collection[TopicPartition], *, isolation: int = READ_UNCOMMITTED
) -> dict[TopicPartition, int]:
    """With READ_COMMITTED the last stable offsets. Raises the first error."""
    return _all(list_offsets(cluster, dict.fromkeys(partitions, LATEST), isolation=isolation))


def start_offsets(cluster: Cluster, partitions: Collection[TopicPartition]) -> dict[TopicPartition, int]:
    """Raises the first error."""
    return _all(list_offsets(cluster, dict.fromkeys(partitions, EARLIEST)))


def _all(found: Mapping[TopicPartition, ListedOffset | BrokerError]) -> dict[TopicPartition, int]:
    offsets = {}
    for topic_partition, each in found.items():
        if isinstance(each, BrokerError):
            raise each
        offsets[topic_partition] = each.offset
    return offsets
