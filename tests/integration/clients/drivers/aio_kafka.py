"""aiokafka: the protocol in Python under asyncio, here on an event loop of its own."""

import asyncio
from collections.abc import Sequence
from typing import Any, ClassVar

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.errors import KafkaError
from tests.integration.clients.drivers import SendFailed
from tests.integration.clients.messages import Message, Settings
from tests.patience import PATIENCE


class AiokafkaDriver:
    keeps_timestamps: ClassVar[bool] = True

    def __init__(self, bootstrap_servers: str, settings: Settings) -> None:
        self._servers: str = bootstrap_servers
        self._settings: Settings = settings
        self._runner: asyncio.Runner = asyncio.Runner()
        self._producer: Any = None
        self._consumer: Any = None

    def produce(self, topic: str, messages: Sequence[Message]) -> None:
        self._runner.run(asyncio.wait_for(self._produce(topic, messages), PATIENCE))

    def consume(self, topic: str, count: int, *, partition: int = 0, offset: int = 0) -> list[Message]:
        reading = self._consume(TopicPartition(topic, partition), count, offset)
        return self._runner.run(asyncio.wait_for(reading, PATIENCE))

    def offset_for_time(self, topic: str, partition: int, timestamp: int) -> int | None:
        async def ask() -> int | None:
            wanted = TopicPartition(topic, partition)
            consumer = await self._open_consumer()
            found = (await consumer.offsets_for_times({wanted: timestamp}))[wanted]
            return None if found is None else int(found.offset)

        return self._runner.run(asyncio.wait_for(ask(), PATIENCE))

    def close(self) -> None:
        async def stop() -> None:
            for client in (self._producer, self._consumer):
                if client is not None:
                    await client.stop()

        self._runner.run(stop())
        self._runner.close()

    async def _produce(self, topic: str, messages: Sequence[Message]) -> None:
        producer = await self._open_producer()
        try:
            sent = [
                await producer.send(
                    topic,
                    message.value,
                    message.key,
                    partition=message.partition,
                    timestamp_ms=message.timestamp if message.timestamp >= 0 else None,
                    headers=list(message.headers),
                )
                for message in messages
            ]
            await asyncio.gather(*sent)
        except KafkaError as error:
            raise SendFailed(str(error)) from error

    async def _consume(self, wanted: TopicPartition, count: int, offset: int) -> list[Message]:
        consumer = await self._open_consumer()
        consumer.assign([wanted])
        consumer.seek(wanted, offset)
        return [_message(await consumer.getone()) for _ in range(count)]

    async def _open_producer(self) -> Any:
        if self._producer is None:
            settings = self._settings
            self._producer = AIOKafkaProducer(
                bootstrap_servers=self._servers,
                compression_type=None if settings.codec == "none" else settings.codec,
                acks="all" if settings.acks == "all" else int(settings.acks),
                enable_idempotence=settings.is_idempotent,
                max_request_size=settings.max_request_bytes,
                retry_backoff_ms=50,
                linger_ms=1,
            )
            await self._producer.start()
        return self._producer

    async def _open_consumer(self) -> Any:
        if self._consumer is None:
            isolation = "read_committed" if self._settings.reads_committed else "read_uncommitted"
            self._consumer = AIOKafkaConsumer(
                bootstrap_servers=self._servers,
                group_id=None,
                enable_auto_commit=False,
                isolation_level=isolation,
                fetch_max_wait_ms=100,
                retry_backoff_ms=50,
            )
            await self._consumer.start()
        return self._consumer


def _message(record: Any) -> Message:
    headers = tuple((name, value) for name, value in record.headers)
    return Message(record.key, record.value, headers, record.timestamp, record.partition, record.offset)
