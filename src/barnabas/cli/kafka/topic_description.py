"""The text of `kafka-topics --describe`: one line for a topic, one for each of its partitions."""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from barnabas.base.ids import ZERO_UUID, encode_uuid
from barnabas.cli.kafka.java_order import in_java_order

if TYPE_CHECKING:
    from barnabas.client.admin.topics import PartitionDescription, TopicDescription

    Chosen = Callable[[TopicDescription, PartitionDescription], bool]

REPORTS: "dict[str, Chosen]" = {
    "under-replicated-partitions": lambda topic, partition: partition.is_under_replicated,
    "unavailable-partitions": lambda topic, partition: partition.leader is None,
    "under-min-isr-partitions": lambda topic, partition: partition.is_under_min_isr(topic.min_isr),
    "at-min-isr-partitions": lambda topic, partition: len(partition.isr) == topic.min_isr,
}
"""Flags that select partitions. With any of them the line of the topic is not printed."""


def topic_lines(
    topic: "TopicDescription", reports: Sequence[str] = (), *, overrides_only: bool = False
) -> Iterator[str]:
    """`reports` are flags of REPORTS; `overrides_only` shows topics with settings, and no partitions."""
    if not reports and (topic.overrides or not overrides_only):
        yield _topic_line(topic)
    if overrides_only:
        return
    for partition in topic.partitions:
        if not reports or any(REPORTS[name](topic, partition) for name in reports):
            yield _partition_line(topic.name, partition)


def _topic_line(topic: "TopicDescription") -> str:
    cells = [f"Topic: {topic.name}"]
    if topic.id is not None and topic.id != ZERO_UUID:
        cells.append(f"TopicId: {encode_uuid(topic.id)}")
    cells.append(f"PartitionCount: {len(topic.partitions)}")
    cells.append(f"ReplicationFactor: {topic.replication_factor}")
    configs = [each for each in in_java_order(topic.configs, lambda each: each.name) if not each.is_default]
    cells.append("Configs: " + ",".join(f"{each.name}={_value(each.value)}" for each in configs))
    return "\t".join(cells)


def _partition_line(topic: str, partition: "PartitionDescription") -> str:
    cells = [
        "",
        f"Topic: {topic}",
        f"Partition: {partition.index}",
        f"Leader: {'none' if partition.leader is None else partition.leader}",
        f"Replicas: {_listed(partition.replicas)}",
        f"Isr: {_listed(partition.isr)}",
    ]
    if partition.reassignment is not None:
        cells.append(f"Adding Replicas: {_listed(partition.reassignment.adding)}")
        cells.append(f"Removing Replicas: {_listed(partition.reassignment.removing)}")
    cells.append(f"Elr: {_listed(partition.eligible_leaders)}")
    cells.append(f"LastKnownElr: {_listed(partition.last_known_eligible)}")
    return "\t".join(cells)


def _listed(brokers: tuple[int, ...] | None) -> str:
    return "N/A" if brokers is None else ",".join(map(str, brokers))


def _value(value: str | None) -> str:
    """A sensitive value is printed as Java prints null."""
    return "null" if value is None else value
