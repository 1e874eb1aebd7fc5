"""What is in a topic, as a consumer that is not ours sees it."""

from typing import Any, NamedTuple

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, TopicPartition


class Seen(NamedTuple):
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, bytes | None]] | None
    timestamp: int


def records_of(servers: str, topic: str, *, isolation: str = "read_committed") -> list[Seen]:
    """Every record up to the end, by partition and offset; the end of what is committed, for the cautious."""
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": "looks-on",
            "isolation.level": isolation,
            "enable.partition.eof": True,
            "enable.auto.commit": False,
        }
    )
    try:
        numbers = list(consumer.list_topics(topic, 30).topics[topic].partitions)
        consumer.assign([TopicPartition(topic, number, OFFSET_BEGINNING) for number in numbers])
        found: list[Seen] = []
        open_partitions = set(numbers)
        while open_partitions:
            for message in consumer.consume(1000, 1):
                error = message.error()
                if error is None:
                    found.append(_seen(message))
                else:
                    assert error.code() == KafkaError._PARTITION_EOF, error
                    open_partitions.discard(message.partition())
        return sorted(found, key=lambda each: each[:2])
    finally:
        consumer.close()


def values_of(servers: str, topic: str, *, isolation: str = "read_committed") -> list[str]:
    return sorted((each.value or b"").decode() for each in records_of(servers, topic, isolation=isolation))


def _seen(message: Any) -> Seen:
    return Seen(
        message.partition(),
        message.offset(),
        message.key(),
        message.value(),
        message.headers(),
        message.timestamp()[1],
    )
