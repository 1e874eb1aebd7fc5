"""Requests over the wire, made by confluent-kafka: producers, consumers and the admin client of librdkafka.

A life hands over batches; what is in them is produced by a client that makes batches of its own. Clients that
only look are made anew after every start of the broker, producers live on.
"""

from collections.abc import Mapping
from functools import partial
from importlib import import_module
from types import SimpleNamespace
from typing import Any
from uuid import UUID

from confluent_kafka import (
    Consumer,
    ConsumerGroupTopicPartitions,
    IsolationLevel,
    KafkaError,
    KafkaException,
    TopicCollection,
    TopicPartition,
)
from tests.faults.random_life.violation import Violation
from tests.faults.topic_life.found_partition import READ_COMMITTED, FoundPartition
from tests.faults.topic_life.requests import Requests
from tests.faults.topic_life.wire_producers import QUICK, Delivery, WireProducer
from tests.integration.clients.requests import EARLIEST, LATEST
from tests.patience import PATIENCE

from barnabas.base.ids import decode_uuid
from barnabas.records.batch import parse_header
from barnabas.records.record import Record, decode_records

_confluent: Any = import_module("confluent_kafka.admin")
"""Its names are not exported by mypy's rules."""
_SPECS = {EARLIEST: _confluent.OffsetSpec.earliest, LATEST: _confluent.OffsetSpec.latest}
_ISOLATION = (IsolationLevel.READ_UNCOMMITTED, IsolationLevel.READ_COMMITTED)


class WireRequests(Requests):
    def __init__(self, bootstrap: str) -> None:
        super().__init__()
        self._bootstrap: str = bootstrap
        self._common: dict[str, Any] = {"bootstrap.servers": bootstrap, **QUICK}
        self._producers: dict[int, WireProducer] = {}
        self._by_transactional_id: dict[str, WireProducer] = {}
        self._numbers: int = 0
        self._deletions: int = 0
        self.reconnect()

    def reconnect(self) -> None:
        """The broker was started again: look at it with new clients."""
        self._admin: Any = _confluent.AdminClient(self._common)
        self._groups: dict[str, Consumer] = {}
        self._readers: list[Consumer] = [
            Consumer(
                {
                    **self._common,
                    "group.id": "reader",
                    "enable.auto.commit": False,
                    "auto.offset.reset": "error",
                    "enable.partition.eof": True,
                    "check.crcs": True,
                    "fetch.wait.max.ms": 10,
                    "isolation.level": isolation,
                }
            )
            for isolation in ("read_uncommitted", "read_committed")
        ]

    def close(self) -> None:
        for consumer in (*self._readers, *self._groups.values()):
            consumer.close()
        self._groups.clear()
        self._readers.clear()

    # --- topics ---------------------------------------------------------------------------------------

    async def create_topic(self, name: str, partitions: int, configs: Mapping[str, str]) -> UUID:
        topic = _confluent.NewTopic(name, partitions, 1, config=dict(configs))
        _result(self._admin.create_topics([topic])[name], f"create {name}")
        return (await self.topics())[name][0]

    async def delete_topic(self, name: str) -> None:
        _result(self._admin.delete_topics([name])[name], f"delete {name}")
        self._deletions += 1
        self._forget_sequences()
        # librdkafka keeps the leader epoch of the old topic, and does not read a new one of a lower epoch.
        self.close()
        self.reconnect()

    def _forget_sequences(self) -> None:
        """Idempotent producers go on with their sequences, which a log without their records refuses."""
        for number in [each for each, known in self._producers.items() if not known.is_transactional]:
            del self._producers[number]

    async def topics(self) -> dict[str, tuple[UUID, int]]:
        listed = self._admin.list_topics(timeout=PATIENCE).topics
        names = [name for name in listed if not name.startswith("__")]
        if not names:
            return {}
        described = self._admin.describe_topics(TopicCollection(names))
        found = {name: _result(future, f"describe {name}") for name, future in described.items()}
        return {name: (decode_uuid(str(each.topic_id)), len(each.partitions)) for name, each in found.items()}

    async def alter_configs(self, topic: str, configs: Mapping[str, str | None]) -> None:
        operations = _confluent.AlterConfigOpType
        entries = [
            _confluent.ConfigEntry(
                name, value, incremental_operation=operations.DELETE if value is None else operations.SET
            )
            for name, value in configs.items()
        ]
        kind = _confluent.ResourceType.TOPIC
        resource = _confluent.ConfigResource(kind, topic, incremental_configs=entries)
        _result(self._admin.incremental_alter_configs([resource])[resource], f"configure {topic}")

    async def configs(self, topic: str) -> dict[str, str]:
        resource = _confluent.ConfigResource(_confluent.ResourceType.TOPIC, topic)
        found = _result(self._admin.describe_configs([resource])[resource], f"describe {topic}")
        own = _confluent.ConfigSource.DYNAMIC_TOPIC_CONFIG.value
        return {name: entry.value for name, entry in found.items() if entry.source == own}

    # --- records --------------------------------------------------------------------------------------

    async def produce(
        self, topic: str, partition: int, batch: bytes, transactional_id: str | None = None
    ) -> Any:
        delivery = self.send(topic, partition, parse_header(batch).producer_id, decode_records(batch))
        delivery.wait()
        if delivery.error is not None:
            return SimpleNamespace(error_code=delivery.error.code(), error_message=str(delivery.error))
        return SimpleNamespace(error_code=0, error_message=None, base_offset=delivery.base_offset)

    def send(self, topic: str, partition: int, number: int, records: list[Record]) -> Delivery:
        """Begin to produce with the producer of that number."""
        producer = self._producers.get(number)
        if producer is None:
            producer = self._producers[number] = WireProducer(self._bootstrap, number)
        return producer.send(topic, partition, self._deletions, records)

    async def delete_records(self, topic: str, partition: int, offset: int) -> Any:
        target = TopicPartition(topic, partition, offset)
        (future,) = self._admin.delete_records([target]).values()
        found = _result(future, f"DeleteRecords {topic}-{partition}")
        self._forget_sequences()
        return SimpleNamespace(error_code=0, low_watermark=found.low_watermark)

    async def list_offset(self, topic: str, partition: int, timestamp: int, isolation: int = 0) -> Any:
        spec = _SPECS.get(timestamp, partial(_confluent.OffsetSpec.for_timestamp, timestamp))()
        wanted = {TopicPartition(topic, partition): spec}
        (future,) = self._admin.list_offsets(wanted, isolation_level=_ISOLATION[isolation]).values()
        try:
            return SimpleNamespace(error_code=0, offset=future.result(PATIENCE).offset)
        except KafkaException as error:
            return SimpleNamespace(error_code=error.args[0].code(), offset=-1)

    async def find_partition(self, topic: str, partition: int) -> FoundPartition:
        found = FoundPartition()
        wanted = (("start", EARLIEST, 0), ("end", LATEST, 0), ("stable", LATEST, READ_COMMITTED))
        for name, timestamp, isolation in wanted:
            answer = await self.list_offset(topic, partition, timestamp, isolation)
            if answer.error_code:
                found.error = answer.error_code
                return found
            setattr(found, name, answer.offset)
        found.records = self._read(0, topic, partition, found.start)
        found.committed = self._read(READ_COMMITTED, topic, partition, found.start)
        return found

    def _read(self, isolation: int, topic: str, partition: int, start: int) -> dict[int, Record]:
        reader = self._readers[isolation]
        reader.list_topics(topic, PATIENCE)  # else its first fetch waits for a timer
        reader.assign([TopicPartition(topic, partition, start)])
        found: dict[int, Record] = {}
        while True:
            message = reader.poll(PATIENCE)
            if message is None:
                raise Violation(f"{topic}-{partition}: its end is never reached from {start} on")
            error = message.error()
            if error is None:
                record = _record(message)
                found[record.offset] = record
            elif error.code() == KafkaError._PARTITION_EOF:
                reader.unassign()
                return found
            elif not error.retriable():
                raise Violation(f"{topic}-{partition}: read from {start} on: {error}")

    # --- coordinators ---------------------------------------------------------------------------------

    async def init_producer_id(self, transactional_id: str | None) -> tuple[int, int]:
        self._numbers += 1
        producer = WireProducer(self._bootstrap, self._numbers, transactional_id)
        self._producers[self._numbers] = producer
        if transactional_id is not None:
            self._by_transactional_id[transactional_id] = producer
        return self._numbers, 0

    async def end_transaction(
        self, transactional_id: str, producer: Mapping[str, int], *, is_commit: bool
    ) -> Any:
        known = self._by_transactional_id[transactional_id]
        known.end(is_commit=is_commit)
        return SimpleNamespace(error_code=0, producer_id=known.number, producer_epoch=0)

    async def markers_are_missing(self) -> bool:
        """No client of confluent-kafka lists transactions: the offsets show when they are written."""
        return False

    async def commit_offset(self, group: str, topic: str, partition: int, offset: int) -> None:
        self._consumer(group).commit(offsets=[TopicPartition(topic, partition, offset)], asynchronous=False)

    async def commit_offset_in_transaction(
        self,
        transactional_id: str,
        producer: Mapping[str, int],
        group: str,
        topic: str,
        partition: int,
        offset: int,
    ) -> None:
        metadata = self._consumer(group).consumer_group_metadata()
        target = TopicPartition(topic, partition, offset)
        self._by_transactional_id[transactional_id].send_offsets([target], metadata)

    async def committed_offsets(self, group: str) -> dict[tuple[str, int], int]:
        (future,) = self._admin.list_consumer_group_offsets(
            [ConsumerGroupTopicPartitions(group)], require_stable=False
        ).values()
        found = _result(future, f"offsets of {group}").topic_partitions
        return {(each.topic, each.partition): each.offset for each in found if each.offset >= 0}

    def _consumer(self, group: str) -> Consumer:
        consumer = self._groups.get(group)
        if consumer is None:
            consumer = self._groups[group] = Consumer(
                {**self._common, "group.id": group, "enable.auto.commit": False}
            )
        return consumer


def _result(future: Any, what: str) -> Any:
    try:
        return future.result(PATIENCE)
    except KafkaException as error:
        raise Violation(f"{what}: {error.args[0]}") from error


def _record(message: Any) -> Record:
    headers = tuple((name, value) for name, value in message.headers() or ())
    return Record(message.offset(), message.timestamp()[1], message.key(), message.value(), headers)
