"""DeleteRecords: advances the log start offset of partitions (KIP-107)."""

from collections.abc import Mapping

from barnabas.client.admin.leaders import TopicPartition, send_to_leaders
from barnabas.client.cluster import Cluster
from barnabas.client.errors import BrokerError

HIGH_WATERMARK = -1
"""Instead of an offset: the high watermark."""


def delete_records(
    cluster: Cluster, before: Mapping[TopicPartition, int]
) -> dict[TopicPartition, int | BrokerError]:
    """Deletes the records before the offset of each partition. Returns the new low watermark.

    A partition that fails has its error as its value; nothing is raised for it.
    """

    def send(node: int, topic_partitions: list[TopicPartition]) -> dict[TopicPartition, int | BrokerError]:
        topics: dict[str, list[dict[str, int]]] = {}
        for topic, partition in topic_partitions:
            topics.setdefault(topic, []).append(
                {"partition_index": partition, "offset": before[topic, partition]}
            )
        answer = cluster.request(
            "delete_records",
            to=node,
            topics=[{"name": name, "partitions": partitions} for name, partitions in topics.items()],
            timeout=int(cluster.settings.request_timeout * 1000),
        )
        return {
            (answered.name, each.partition_index): BrokerError(each.error_code)
            if each.error_code != 0
            else each.low_watermark
            for answered in answer.topics
            for each in answered.partitions
        }

    return send_to_leaders(cluster, before, send)
