"""kafka-python: the protocol in Python."""

import gc
from collections.abc import Sequence
from typing import Any, ClassVar

from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.errors import KafkaError
from tests.integration.clients.drivers import SendFailed
from tests.integration.clients.messages import Message, Settings
from tests.patience import PATIENCE


class KafkaPythonDriver:
    keeps_timestamps: ClassVar[bool] = True

    def __init__(self, bootstrap_servers: str, settings: Settings) -> None:
        self._servers: str = bootstrap_servers
        self._settings: Settings = settings
        self._producer: Any = None
        self._consumer: Any = None

    def produce(self, topic: str, messages: Sequence[Message]) -> None:
        producer = self._open_producer()
        try:
            sent = [
                producer.send(
                    topic,
                    value=message.value,
                    key=message.key,
                    headers=list(message.headers),
                    partition=message.partition,
                    timestamp_ms=message.timestamp if message.timestamp >= 0 else None,
                )
                for message in messages
            ]
            producer.flush(timeout=PATIENCE)
            for future in sent:
                future.get(timeout=PATIENCE)
        except KafkaError as error:
            raise SendFailed(str(error)) from error

    def consume(self, topic: str, count: int, *, partition: int = 0, offset: int = 0) -> list[Message]:
        consumer = self._open_consumer()
        wanted = TopicPartition(topic, partition)
        consumer.assign([wanted])
        consumer.seek(wanted, offset)
        messages: list[Message] = []
        while len(messages) < count:
            polled = consumer.poll(timeout_ms=int(PATIENCE * 1000), max_records=count - len(messages))
            assert polled, f"only {len(messages)} of {count} messages came"
            messages += [_message(record) for record in polled[wanted]]
        return messages

    def offset_for_time(self, topic: str, partition: int, timestamp: int) -> int | None:
        wanted = TopicPartition(topic, partition)
        found = self._open_consumer().offsets_for_times({wanted: timestamp})[wanted]
        return None if found is None else int(found.offset)

    def close(self) -> None:
        for client in (self._producer, self._consumer):
            if client is not None:
                client.close()
        self._producer = self._consumer = None
        # Sockets of refused connections are left to the collector: let it find them in the test that knows.
        gc.collect()

    def _open_producer(self) -> Any:
        if self._producer is None:
            settings = self._settings
            self._producer = KafkaProducer(
                **self._common(),
                compression_type=None if settings.codec == "none" else settings.codec,
                acks="all" if settings.acks == "all" else int(settings.acks),
                enable_idempotence=settings.is_idempotent,
                max_request_size=settings.max_request_bytes,
                linger_ms=1,
            )
        return self._producer

    def _open_consumer(self) -> Any:
        if self._consumer is None:
            isolation = "read_committed" if self._settings.reads_committed else "read_uncommitted"
            self._consumer = KafkaConsumer(
                **self._common(),
                group_id=None,
                enable_auto_commit=False,
                isolation_level=isolation,
                fetch_max_wait_ms=100,
                check_crcs=True,
            )
        return self._consumer

    def _common(self) -> dict[str, object]:
        return {
            "bootstrap_servers": self._servers,
            "reconnect_backoff_ms": 20,
            "reconnect_backoff_max_ms": 100,
            "metrics_enabled": False,
        }


def _message(record: Any) -> Message:
    headers = tuple((name, value) for name, value in record.headers)
    return Message(record.key, record.value, headers, record.timestamp, record.partition, record.offset)
