"""What a read consists of, decided without I/O: options, offsets, ranges, limits, and what counts as loss.

Options, defaults and refusals are those of Spark's own Kafka connector, so that a query changes only the
name of its format. The caller brings the offsets that brokers returned.
"""

TopicPartition = tuple[str, int]
Offsets = dict[TopicPartition, int]
"""The next offset to read of each partition."""


def name_of(topic_partition: TopicPartition) -> str:
    """`orders-3`, as Kafka writes it."""
    return f"{topic_partition[0]}-{topic_partition[1]}"


def names_of(topic_partitions: "set[TopicPartition] | frozenset[TopicPartition]") -> str:
    return ", ".join(map(name_of, sorted(topic_partitions)))
