"""Which columns of a data frame become which part of a record, checked as Spark's own writer checks them.

Types are told by Spark's names for them (`simpleString`), so that nothing here needs Spark. Columns of other
names are left alone, as Spark leaves them. A `timestamp` column is ours: Spark's connector overlooks it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

_BYTES = ("string", "binary")
_HEADERS = ("array<struct<key:string,value:binary>>",)
_TIMES = ("timestamp", "bigint")

NULL_TOPIC = (
    "[KAFKA_NULL_TOPIC_IN_DATA] The Kafka message data sent to the producer contains a null topic. "
    "Use the `topic` option for setting a default topic."
)


@dataclass(frozen=True, slots=True)
class SinkColumns:
    """Where to find each part of a record: the number of its column, None where it has no column."""

    value: int
    key: int | None
    topic: int | None
    """None also if the option names the topic."""
    headers: int | None
    partition: int | None
    timestamp: int | None

    @classmethod
    def of(cls, fields: Sequence[tuple[str, str]], topic: str | None) -> "SinkColumns":
        """From names and types, in order; of two columns of one name the first counts.

        Raises ValueError, in the words of Spark.
        """
        names = [name for name, _ in fields]

        def place(name: str, *allowed: str) -> int | None:
            if name not in names:
                return None
            number = names.index(name)
            kind = fields[number][1]
            if kind not in allowed:
                wanted = " or ".join(allowed)
                raise ValueError(f"{name} attribute unsupported type {kind}. {name} must be a(n) {wanted}")
            return number

        topics = None if topic is not None else place("topic", "string")
        if topic is None and topics is None:
            raise ValueError(
                "topic option required when no 'topic' attribute is present. "
                "Use the topic option for setting a topic."
            )
        key, value = place("key", *_BYTES), place("value", *_BYTES)
        if value is None:
            raise ValueError("Required attribute 'value' not found")
        return cls(
            value,
            key,
            topics,
            place("headers", *_HEADERS),
            place("partition", "int"),
            place("timestamp", *_TIMES),
        )
