"""confluent-kafka: librdkafka under Python."""

from collections.abc import Sequence
from typing import Any, ClassVar

from confluent_kafka import OFFSET_END, Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka import Message as Received
from tests.integration.clients.drivers import SendFailed
from tests.integration.clients.messages import Message, Settings
from tests.patience import PATIENCE


class ConfluentDriver:
    keeps_timestamps: ClassVar[bool] = True

    def __init__(self, bootstrap_servers: str, settings: Settings) -> None:
        self._servers: str = bootstrap_servers
        self._settings: Settings = settings
        self._producer: Producer | None = None
        self._consumer: Consumer | None = None

    def produce(self, topic: str, messages: Sequence[Message]) -> None:
        failures: list[KafkaError] = []

        def on_delivery(error: KafkaError | None, _: Received) -> None:
            if error is not None:
                failures.append(error)

        producer = self._open_producer()
        for message in messages:
            try:
                producer.produce(
                    topic,
                    message.value,
                    message.key,
                    partition=message.partition,
                    timestamp=max(message.timestamp, 0),
                    headers=list(message.headers),
                    on_delivery=on_delivery,
                )
            except KafkaException as error:
                raise SendFailed(str(error)) from error
        assert producer.flush(PATIENCE) == 0, "not all messages were delivered in time"
        if failures:
            raise SendFailed(str(failures[0]))

    def consume(self, topic: str, count: int, *, partition: int = 0, offset: int = 0) -> list[Message]:
        consumer = self._open_consumer()
        consumer.assign([TopicPartition(topic, partition, offset)])
        messages: list[Message] = []
        while len(messages) < count:
            received = consumer.consume(count - len(messages), PATIENCE)
            assert received, f"only {len(messages)} of {count} messages came"
            messages += [_message(each) for each in received if not _is_retriable(each.error())]
        consumer.unassign()
        return messages

    def offset_for_time(self, topic: str, partition: int, timestamp: int) -> int | None:
        wanted = TopicPartition(topic, partition, timestamp)
        (found,) = self._open_consumer().offsets_for_times([wanted], PATIENCE)
        assert found.error is None
        return None if found.offset == OFFSET_END else int(found.offset)

    def close(self) -> None:
        if self._consumer is not None:
            self._consumer.close()
        self._producer = None

    def _open_producer(self) -> Producer:
        if self._producer is None:
            self._producer = Producer(
                {
                    **self._common(),
                    "compression.type": self._settings.codec,
                    "acks": self._settings.acks,
                    "enable.idempotence": self._settings.is_idempotent,
                    "message.max.bytes": self._settings.max_request_bytes,
                    "message.timeout.ms": int(PATIENCE * 1000),
                    "linger.ms": 1,
                }
            )
        return self._producer

    def _open_consumer(self) -> Consumer:
        if self._consumer is None:
            isolation = "read_committed" if self._settings.reads_committed else "read_uncommitted"
            self._consumer = Consumer(
                {
                    **self._common(),
                    "group.id": "librdkafka wants one, though nothing is committed",
                    "enable.auto.commit": False,
                    "auto.offset.reset": "error",
                    "isolation.level": isolation,
                    "fetch.wait.max.ms": 100,
                    "check.crcs": True,
                }
            )
        return self._consumer

    def _common(self) -> dict[str, object]:
        return {
            "bootstrap.servers": self._servers,
            "reconnect.backoff.ms": 20,
            "reconnect.backoff.max.ms": 100,
            "log_level": 0,
        }


def _is_retriable(error: KafkaError | None) -> bool:
    """A broker that goes away for a moment is reported as an error; librdkafka then reconnects by itself."""
    if error is None:
        return False
    assert error.retriable() or error.code() in (KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN), error
    return True


def _message(received: Received) -> Message:
    _, timestamp = received.timestamp()
    headers: Any = tuple(received.headers() or ())
    partition, offset = received.partition(), received.offset()
    assert partition is not None
    assert offset is not None
    return Message(received.key(), received.value(), headers, timestamp, partition, offset)
