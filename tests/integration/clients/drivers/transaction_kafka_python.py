"""kafka-python as a transactional producer."""

import gc
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from kafka import KafkaProducer, TopicPartition
from kafka.errors import InvalidProducerEpochError, KafkaError, ProducerFencedError
from kafka.structs import OffsetAndMetadata
from tests.integration.clients.drivers.group_client import Offsets
from tests.integration.clients.drivers.transaction_client import (
    MustAbort,
    ProducerFenced,
    TransactionFailed,
    TransactionSettings,
)
from tests.integration.clients.messages import Message
from tests.patience import PATIENCE

_FENCING = (ProducerFencedError, InvalidProducerEpochError)


class KafkaPythonTransactions:
    def __init__(self, bootstrap_servers: str, settings: TransactionSettings) -> None:
        self._producer: Any = KafkaProducer(
            bootstrap_servers=bootstrap_servers,
            transactional_id=settings.id,
            transaction_timeout_ms=settings.timeout_ms,
            compression_type=None if settings.codec == "none" else settings.codec,
            max_block_ms=int(PATIENCE * 1000),
            retry_backoff_ms=20,
            reconnect_backoff_ms=20,
            reconnect_backoff_max_ms=100,
            linger_ms=1,
            metrics_enabled=False,
        )

    def init(self) -> None:
        with self._translated():
            self._producer.init_transactions()

    def begin(self) -> None:
        with self._translated():
            self._producer.begin_transaction()

    def send(self, topic: str, messages: Sequence[Message]) -> None:
        with self._translated():
            sent = [
                self._producer.send(
                    topic,
                    value=message.value,
                    key=message.key,
                    headers=list(message.headers),
                    partition=message.partition,
                    timestamp_ms=message.timestamp if message.timestamp >= 0 else None,
                )
                for message in messages
            ]
            self._producer.flush(timeout=PATIENCE)
            for future in sent:
                future.get(timeout=PATIENCE)

    def send_offsets(self, offsets: Offsets, consumer: object) -> None:
        wanted = {
            TopicPartition(*each): OffsetAndMetadata(committed.offset, committed.metadata, -1)
            for each, committed in offsets.items()
        }
        with self._translated():
            self._producer.send_offsets_to_transaction(wanted, consumer)

    def commit(self) -> None:
        with self._translated():
            self._producer.commit_transaction()

    def abort(self) -> None:
        state = self._producer._transaction_manager
        while (
            state.is_bumping_epoch()
        ):  # it asks for a new epoch after some errors, and cannot abort meanwhile
            time.sleep(0.005)
        with self._translated():
            self._producer.abort_transaction()

    def abandon(self) -> None:
        if self._producer is not None:
            sender = self._producer._sender
            self._producer.close(timeout=0)
            sender.join(PATIENCE)
        self._producer = sender = None
        # As in group_kafka_python.py; its thread must be over, or it still holds them.
        gc.collect()

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except KafkaError as error:
            state = self._producer._transaction_manager
            if isinstance(error, _FENCING) or isinstance(state.last_error, _FENCING):
                raise ProducerFenced(str(error)) from error
            if state.has_abortable_error():
                raise MustAbort(str(error)) from error
            raise TransactionFailed(str(error)) from error
