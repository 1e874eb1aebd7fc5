"""Which columns of a data frame become which part of a record, checked as Spark's own writer checks them.

Types are given by Spark's names for them (`simpleString`), so that nothing here needs Spark. Columns of other
names are left alone, as Spark leaves them, and so is `timestamp`, unless the option `writeTimestamp` is set:
a frame that was read from a topic has that column, and records with times of long ago are deleted by
retention soon after they were written.
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
    """The index of the column of each part of a record. None if the part has no column."""

    value: int
    key: int | None
    topic: int | None
    """None also if the option names the topic."""
    headers: int | None
    partition: int | None
    timestamp: int | None

    @classmethod
    def of(
        cls, fields: Sequence[tuple[str, str]], topic: str | None, *, write_timestamp: bool = False
    ) -> "SinkColumns":
        """From names and types, in order; of two columns of one name the first counts.

        Raises ValueError, in the words of Spark.
        """
        names = [name for name, _ in fields]

        def column_index(name: str, *allowed: str) -> int | None:
            if name not in names:
                return None
            number = names.index(name)
            kind = fields[number][1]
            if kind not in allowed:
                wanted = " or ".join(allowed)
                raise ValueError(f"{name} attribute unsupported type {kind}. {name} must be a(n) {wanted}")
            return number

        topics = None if topic is not None else column_index("topic", "string")
        if topic is None and topics is None:
            raise ValueError(
                "topic option required when no 'topic' attribute is present. "
                "Use the topic option for setting a topic."
            )
        key, value = column_index("key", *_BYTES), column_index("value", *_BYTES)
        if value is None:
            raise ValueError("Required attribute 'value' not found")
        times = column_index("timestamp", *_TIMES) if write_timestamp else None
        if write_timestamp and times is None:
            raise ValueError("Option 'writeTimestamp' is set, but there is no column 'timestamp'")
        return cls(
            value, key, topics, column_index("headers", *_HEADERS), column_index("partition", "int"), times
        )
