"""The records of a topic of one partition between two offsets, read without Spark: these are few, and the
threads that want them have no session.
"""

from collections.abc import Iterator
from typing import NamedTuple

from confluent_kafka import Consumer, TopicPartition

_PATIENCE = 30.0
_AT_THE_END = "_PARTITION_EOF"


class KeyedValue(NamedTuple):
    key: bytes | None
    value: bytes | None


def read_committed(bootstrap_server: str, topic: str, start: int, end: int) -> Iterator[KeyedValue]:
    """From `start` up to, not including, `end`. Raises ConnectionError."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap_server,
            "group.id": topic,  # never joined, never committed to
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
        }
    )
    try:
        consumer.assign([TopicPartition(topic, 0, start)])
        while True:
            message = consumer.poll(_PATIENCE)
            if message is None:
                raise ConnectionError(f"{topic} could not be read to offset {end}")
            error = message.error()
            if error is not None and error.name() == _AT_THE_END:
                return
            if error is not None:
                raise ConnectionError(f"{topic}: {error}")
            if (message.offset() or 0) >= end:
                return
            yield KeyedValue(_bytes(message.key()), _bytes(message.value()))
    finally:
        consumer.close()


def _bytes(given: bytes | str | None) -> bytes | None:
    return given.encode() if isinstance(given, str) else given
