"""The committed rows of a topic, as a consumer that is not ours sees them."""

from collections import Counter

from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition
from tests.patience import PATIENCE


def committed_rows(servers: str, topic: str) -> Counter[str]:
    """How often each value is there."""
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": "looks-on",
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
            "enable.auto.commit": False,
            "fetch.wait.max.ms": 10,
        }
    )
    try:
        partitions = set(consumer.list_topics(topic, PATIENCE).topics[topic].partitions)
        consumer.assign([TopicPartition(topic, number, OFFSET_BEGINNING) for number in partitions])
        rows: Counter[str] = Counter()
        while partitions:
            message = consumer.poll(PATIENCE)
            assert message is not None, f"{topic} cannot be read"
            value = message.value()
            if message.error() is not None:
                partitions.discard(message.partition() or 0)
            elif isinstance(value, bytes):
                rows[value.decode()] += 1
        return rows
    finally:
        consumer.close()
