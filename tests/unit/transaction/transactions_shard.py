"""A transaction shard as the runtime drives it, with short requests for tests.

    shard = TransactionsShard()                     # loaded, empty; settings by name
    producer = shard.init("tx").result()            # an InitResult
    shard.add("tx", producer, "orders-0")
    shard.end("tx", producer)                       # commit, version 2
    shard.write_markers()                           # for every call of `on_prepared`

`log` has the records as they are in the log, through the codec. `loaded()` is a shard that was loaded from
it.
"""

from dataclasses import replace
from typing import Any, Protocol

from tests.unit.group.shard_driver import ShardDriver

from barnabas.base.clock import ManualClock
from barnabas.base.config.broker_config import BrokerConfig
from barnabas.base.deferred import Deferred
from barnabas.base.errors import ErrorCode, NotCoordinator
from barnabas.base.ids import TopicPartition
from barnabas.transaction.environment import TransactionEnvironment, settings_of
from barnabas.transaction.record_codec import (
    decode_transaction_record,
    encode_transaction_records,
)
from barnabas.transaction.requests import EndResult, InitProducerId, InitResult
from barnabas.transaction.shard import TransactionShard
from barnabas.transaction.transaction import NO_PRODUCER_EPOCH, Transaction
from barnabas.transaction.transaction_record import TransactionRecord

TX = "tx"
TIMEOUT_MS = 60_000


class Identity(Protocol):
    @property
    def producer_id(self) -> int: ...

    @property
    def producer_epoch(self) -> int: ...


def partition(text: str) -> TopicPartition:
    topic, _, number = text.rpartition("-")
    return TopicPartition(topic, int(number))


class TransactionsShard:
    def __init__(self, clock: ManualClock | None = None, **settings: Any) -> None:
        self.clock: ManualClock = clock or ManualClock()
        self.settings: dict[str, Any] = settings
        defaults = settings_of(BrokerConfig.from_properties({"node.id": "1"}))
        self.environment = TransactionEnvironment(self.clock, replace(defaults, **settings))
        self.environment.take_producer_id = self.fresh_id
        self.shard = TransactionShard(self.environment)
        self.prepared: list[Transaction] = []
        self.shard.on_prepared = lambda transaction: self.prepared.append(transaction)
        self.driver = ShardDriver(self.shard, self.environment)
        self.last_id = 1000
        self.shard.on_loaded()

    def fresh_id(self) -> int:
        self.last_id += 1
        return self.last_id

    # --- requests ------------------------------------------------------------------------------------------

    def init(
        self, transactional_id: str = TX, producer: Identity | None = None, **fields: Any
    ) -> Deferred[InitResult]:
        fields.setdefault("timeout_ms", TIMEOUT_MS)
        if producer is not None:
            fields |= {"producer_id": producer.producer_id, "producer_epoch": producer.producer_epoch}
        request = InitProducerId(transactional_id, **fields)
        return self.driver.call(self.shard.init_producer_id, request, self.fresh_id())

    def add(
        self, producer: Identity, *partitions: str, transactional_id: str = TX, version: int = 2
    ) -> Deferred[None]:
        return self.driver.call(
            self.shard.add_partitions,
            transactional_id,
            producer.producer_id,
            producer.producer_epoch,
            [partition(each) for each in partitions],
            version,
        )

    def verify(
        self, producer: Identity, *partitions: str, transactional_id: str = TX
    ) -> dict[str, ErrorCode]:
        found = self.shard.verify_partitions(
            transactional_id,
            producer.producer_id,
            producer.producer_epoch,
            [partition(each) for each in partitions],
        )
        return {str(each): code for each, code in found.items()}

    def end(
        self, producer: Identity, *, commit: bool = True, transactional_id: str = TX, version: int = 2
    ) -> Deferred[EndResult]:
        return self.driver.call(
            self.shard.end,
            transactional_id,
            producer.producer_id,
            producer.producer_epoch,
            is_commit=commit,
            client_version=version,
            fresh_id=self.fresh_id(),
        )

    def write_markers(self) -> list[Transaction]:
        prepared, self.prepared = self.prepared, []
        for each in prepared:
            self.driver.call(
                self.shard.complete,
                each.transactional_id,
                each.producer_id,
                each.producer_epoch,
                each.is_commit,
            ).result()
        return prepared

    # --- shortcuts -----------------------------------------------------------------------------------------

    def ongoing(self, *partitions: str, version: int = 2, **fields: Any) -> InitResult:
        producer = self.init(**fields).result()
        self.add(producer, *(partitions or ("orders-0",)), version=version).result()
        return producer

    def with_epoch(self, epoch: int, **fields: Any) -> InitResult:
        """A producer that begins with this epoch."""
        first = self.init(**fields).result()
        before = self.get()._replace(producer_epoch=epoch - 1)
        self.shard.replay(TransactionRecord(before, TX))
        producer = self.init(**fields).result()
        assert producer == (first.producer_id, epoch, -1, -1)
        return producer

    def get(self, transactional_id: str = TX) -> Transaction:
        return self.shard.describe(transactional_id)

    def loaded(self) -> "TransactionsShard":
        """Another coordinator that takes over. It loads the log."""
        other = TransactionsShard(self.clock, **self.settings)
        other.last_id = self.last_id
        # Loading is before `on_loaded`, which the constructor called for an empty log.
        other.shard.on_unloaded(NotCoordinator())
        for record in through_codec(self.driver.records):
            other.shard.replay(record)
            other.driver.records.append(record)
        other.shard.on_loaded()
        return other


def through_codec(records: list[TransactionRecord]) -> list[TransactionRecord]:
    decoded = [
        decode_transaction_record(key, value) for key, value in encode_transaction_records(records, version=1)
    ]
    return [record for record in decoded if record is not None]


def durable(transaction: Transaction) -> Transaction:
    """The part that is in the log."""
    return transaction._replace(last_producer_epoch=NO_PRODUCER_EPOCH)
