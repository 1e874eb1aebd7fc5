"""The producers of a life on the wire: librdkafka's, which live on while the broker is killed and started.

A life names them by a number, as it would by a producer id; without one, producing is neither idempotent nor
part of a transaction. Each has a codec of its own.
"""

from collections.abc import Sequence
from typing import Any

from confluent_kafka import KafkaException, Producer
from tests.faults.random_life.violation import require
from tests.faults.topic_life.batches import CODECS
from tests.patience import NEVER_MS, PATIENCE

from barnabas.records.record import Record

NOT_IDEMPOTENT = -1
_FEW_RECORDS = 5
QUICK: dict[str, Any] = {"reconnect.backoff.ms": 20, "reconnect.backoff.max.ms": 100, "log_level": 0}
"""A client that is back soon after the broker is, and logs nothing about a broker that is down."""


class Delivery:
    """Records on their way, and where they ended up."""

    def __init__(self, producer: Producer, count: int) -> None:
        self._producer: Producer = producer
        self._count: int = count
        self.offsets: list[int] = []
        self.error: Any = None

    def note(self, error: Any, message: Any) -> None:
        if error is not None:
            self.error = self.error or error
        else:
            self.offsets.append(message.offset())

    def wait(self) -> None:
        left = self._producer.flush(PATIENCE)
        require(not left, f"{left} of {self._count} records were never acknowledged")

    def wait_for_first(self) -> None:
        """Until a part of them is acknowledged, and others are on their way."""
        while not self.offsets and self.error is None:
            self._producer.poll(PATIENCE)

    @property
    def base_offset(self) -> int:
        first = self.offsets[0]
        expected = list(range(first, first + self._count))
        require(self.offsets == expected, f"{self._count} records were acknowledged at {self.offsets}")
        return first


class WireProducer:
    def __init__(self, bootstrap: str, number: int, transactional_id: str | None = None) -> None:
        config: dict[str, Any] = {
            "bootstrap.servers": bootstrap,
            **QUICK,
            "enable.idempotence": number != NOT_IDEMPOTENT,
            "acks": "all",
            "linger.ms": 0,
            "batch.num.messages": _FEW_RECORDS,
            "compression.type": CODECS[number % len(CODECS)],
            "message.timeout.ms": NEVER_MS,
        }
        if transactional_id is not None:
            config |= {"transactional.id": transactional_id, "transaction.timeout.ms": NEVER_MS}
        self.number: int = number
        self._producer: Producer = Producer(config)
        self._known: set[tuple[str, int]] = set()
        self.is_transactional: bool = transactional_id is not None
        self._is_in_transaction: bool = False
        if transactional_id is not None:
            self._producer.init_transactions(PATIENCE)

    def send(self, topic: str, partition: int, incarnation: int, records: Sequence[Record]) -> Delivery:
        """Begin to produce; begins a transaction if none is open. `incarnation` tells a topic from its
        namesakes, whose partitions a producer may still have in mind."""
        if (topic, incarnation) not in self._known:
            self._producer.list_topics(topic, PATIENCE)
            self._known.add((topic, incarnation))
        self.begin()
        delivery = Delivery(self._producer, len(records))
        for record in records:
            self._producer.produce(
                topic,
                value=record.value,
                key=record.key,
                partition=partition,
                timestamp=record.timestamp,
                headers=list(record.headers),
                on_delivery=delivery.note,
            )
        return delivery

    def begin(self) -> None:
        if self.is_transactional and not self._is_in_transaction:
            self._producer.begin_transaction()
            self._is_in_transaction = True

    def send_offsets(self, offsets: list[Any], group_metadata: object) -> None:
        self.begin()
        self._repeated(lambda: self._producer.send_offsets_to_transaction(offsets, group_metadata, PATIENCE))

    def end(self, *, is_commit: bool) -> None:
        end = self._producer.commit_transaction if is_commit else self._producer.abort_transaction
        self._repeated(lambda: end(PATIENCE))
        self._is_in_transaction = False

    @staticmethod
    def _repeated(act: Any) -> None:
        """librdkafka gives some errors back that it wants to be tried again."""
        for _ in range(100):
            try:
                act()
                return
            except KafkaException as error:
                if not error.args[0].retriable():
                    raise
        require(False, "a producer's call fails again and again")
