"""aiokafka as a transactional producer, on an event loop of its own."""

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any, TypeVar

from aiokafka import AIOKafkaProducer, TopicPartition
from aiokafka.errors import InvalidProducerEpoch, KafkaError, ProducerFenced
from aiokafka.structs import OffsetAndMetadata
from tests.integration.clients.drivers import transaction_client
from tests.integration.clients.drivers.group_client import Offsets
from tests.integration.clients.drivers.transaction_client import TransactionFailed, TransactionSettings
from tests.integration.clients.messages import Message
from tests.patience import PATIENCE

Result = TypeVar("Result")


class AiokafkaTransactions:
    """It gets its producer id when it is started, so that is done in `init`."""

    def __init__(self, bootstrap_servers: str, settings: TransactionSettings) -> None:
        self._servers: str = bootstrap_servers
        self._settings: TransactionSettings = settings
        self._runner: asyncio.Runner = asyncio.Runner()
        self._producer: Any = None

    def init(self) -> None:
        self._run(self._start())

    def begin(self) -> None:
        self._run(self._producer.begin_transaction())

    def send(self, topic: str, messages: Sequence[Message]) -> None:
        self._run(self._send(topic, messages))

    def send_offsets(self, offsets: Offsets, consumer: object) -> None:
        wanted = {
            TopicPartition(*each): OffsetAndMetadata(committed.offset, committed.metadata)
            for each, committed in offsets.items()
        }
        self._run(self._producer.send_offsets_to_transaction(wanted, consumer))

    def commit(self) -> None:
        self._run(self._producer.commit_transaction())

    def abort(self) -> None:
        self._run(self._producer.abort_transaction())

    def abandon(self) -> None:
        if self._producer is not None:
            self._runner.run(self._producer.stop())
        self._producer = None
        self._runner.close()

    async def _start(self) -> None:
        settings = self._settings
        self._producer = AIOKafkaProducer(
            bootstrap_servers=self._servers,
            transactional_id=settings.id,
            transaction_timeout_ms=settings.timeout_ms,
            compression_type=None if settings.codec == "none" else settings.codec,
            retry_backoff_ms=20,
            linger_ms=1,
        )
        await self._producer.start()

    async def _send(self, topic: str, messages: Sequence[Message]) -> None:
        sent = [
            await self._producer.send(
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

    def _run(self, coroutine: Coroutine[Any, Any, Result]) -> Result:
        try:
            return self._runner.run(asyncio.wait_for(coroutine, PATIENCE))
        except (ProducerFenced, InvalidProducerEpoch) as error:
            raise transaction_client.ProducerFenced(str(error)) from error
        except KafkaError as error:
            raise TransactionFailed(str(error)) from error
