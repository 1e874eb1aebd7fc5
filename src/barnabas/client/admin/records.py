"""DeleteRecords: move the start of partitions forward (KIP-107)."""

from collections.abc import Mapping

from barnabas.client.admin.leaders import TopicPartition, ask_leaders
from barnabas.client.cluster import Cluster
from barnabas.client.errors import BrokerError

HIGH_WATERMARK = -1
"""In place of an offset: everything that consumers can see."""


def delete_records(
    cluster: Cluster, before: Mapping[TopicPartition, int]
) -> dict[TopicPartition, int | BrokerError]:
    """Delete what is before each partition's offset. Gives the low watermark: where the partition begins now.

    A partition that refuses has its error as its value; nothing is raised for it.
    """

    def ask(node: int, places: list[TopicPartition]) -> dict[TopicPartition, int | BrokerError]:
        topics: dict[str, list[dict[str, int]]] = {}
        for topic, partition in places:
            topics.setdefault(topic, []).append(
                {"partition_index": partition, "offset": before[topic, partition]}
            )
        answer = cluster.ask(
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

    return ask_leaders(cluster, before, ask)
