"""confluent-kafka as a transactional producer."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka import Message as Received
from tests.integration.clients.drivers.group_client import Offsets
from tests.integration.clients.drivers.transaction_client import (
    MustAbort,
    ProducerFenced,
    TransactionFailed,
    TransactionSettings,
)
from tests.integration.clients.messages import Message
from tests.patience import PATIENCE

_FENCING = (KafkaError._FENCED, KafkaError.PRODUCER_FENCED, KafkaError.INVALID_PRODUCER_EPOCH)


class ConfluentTransactions:
    def __init__(self, bootstrap_servers: str, settings: TransactionSettings) -> None:
        self._servers: str = bootstrap_servers
        self._producer: Producer | None = Producer(
            {
                "bootstrap.servers": bootstrap_servers,
                "transactional.id": settings.id,
                "transaction.timeout.ms": settings.timeout_ms,
                "compression.type": settings.codec,
                "queue.buffering.max.messages": 200_000,
                "linger.ms": 1,
                "retry.backoff.ms": 20,
                "retry.backoff.max.ms": 100,
                "reconnect.backoff.ms": 20,
                "reconnect.backoff.max.ms": 100,
                # When its only broker is away, 2.16 takes a new one for it, but waits for the old one to send
                # offsets to the group's coordinator.
                "metadata.recovery.strategy": "none",
                "log_level": 0,
            }
        )

    def init(self) -> None:
        with _translated():
            self._open().init_transactions(PATIENCE)

    def begin(self) -> None:
        with _translated():
            self._open().begin_transaction()

    def send(self, topic: str, messages: Sequence[Message]) -> None:
        failures: list[KafkaError] = []

        def on_delivery(error: KafkaError | None, _: Received) -> None:
            if error is not None:
                failures.append(error)

        producer = self._open()
        with _translated():
            for message in messages:
                producer.produce(
                    topic,
                    message.value,
                    message.key,
                    partition=message.partition,
                    timestamp=max(message.timestamp, 0),
                    headers=list(message.headers),
                    on_delivery=on_delivery,
                )
            assert producer.flush(PATIENCE) == 0, "not all messages were delivered in time"
            if failures:
                raise KafkaException(failures[0])

    def send_offsets(self, offsets: Offsets, consumer: object) -> None:
        wanted = [
            TopicPartition(each.topic, each.partition, committed.offset, committed.metadata)
            for each, committed in offsets.items()
        ]
        membership: Any = self._no_member_of(consumer) if isinstance(consumer, str) else consumer
        with _translated():
            self._open().send_offsets_to_transaction(wanted, membership, PATIENCE)

    def commit(self) -> None:
        with _translated():
            self._open().commit_transaction(PATIENCE)

    def abort(self) -> None:
        with _translated():
            self._open().abort_transaction(PATIENCE)

    def abandon(self) -> None:
        self._producer = None

    def _open(self) -> Producer:
        assert self._producer is not None
        return self._producer

    def _no_member_of(self, group: str) -> object:
        consumer = Consumer({"bootstrap.servers": self._servers, "group.id": group, "log_level": 0})
        membership: object = consumer.consumer_group_metadata()
        consumer.close()
        return membership


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except (KafkaException, SystemError) as failed:
        # A fatal error that comes while `flush` calls back is raised as a SystemError, caused by itself.
        known = failed.__cause__ if isinstance(failed, SystemError) else failed
        if not isinstance(known, KafkaException):
            raise
        error = known.args[0]
        if error.code() in _FENCING:
            raise ProducerFenced(str(error)) from failed
        if error.txn_requires_abort():
            raise MustAbort(str(error)) from failed
        raise TransactionFailed(str(error)) from failed
