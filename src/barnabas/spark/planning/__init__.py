"""What a read consists of, decided without I/O: options, offsets, ranges, limits, and what counts as loss.

Options, defaults and refusals are those of Spark's own Kafka connector, so that a query changes only the
name of its format. Whoever calls brings the offsets that brokers told.
"""

TopicPartition = tuple[str, int]
Offsets = dict[TopicPartition, int]
"""The next offset to read of each partition."""


def name_of(place: TopicPartition) -> str:
    """`orders-3`, as Kafka writes it."""
    return f"{place[0]}-{place[1]}"


def names_of(places: "set[TopicPartition] | frozenset[TopicPartition]") -> str:
    return ", ".join(map(name_of, sorted(places)))
