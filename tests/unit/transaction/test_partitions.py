"""Partitions are added to a transaction, and verified."""

import pytest
from tests.unit.transaction.transactions_shard import TransactionsShard

from barnabas.base.errors import (
    ConcurrentTransactions,
    ErrorCode,
    InvalidProducerIdMapping,
    InvalidRequest,
    ProducerFenced,
)
from barnabas.transaction.transaction import TransactionState


def test_the_first_partition_starts_the_transaction() -> None:
    shard = TransactionsShard()
    producer = shard.init().result()
    shard.clock.advance(5)
    shard.add(producer, "orders-0", version=1).result()
    started_ms = shard.clock.now_ms()
    shard.clock.advance(5)
    shard.add(producer, "orders-1", "bills-0").result()
    transaction = shard.get()
    assert transaction.state is TransactionState.ONGOING
    assert {str(each) for each in transaction.partitions} == {"orders-0", "orders-1", "bills-0"}
    assert transaction.start_ms == started_ms
    assert transaction.update_ms == shard.clock.now_ms()
    assert transaction.client_version == 2


def test_partitions_that_are_in_already_are_not_written_again() -> None:
    shard = TransactionsShard()
    producer = shard.ongoing("orders-0", "orders-1")
    written = len(shard.driver.records)
    shard.add(producer, "orders-1").result()
    assert len(shard.driver.records) == written


@pytest.mark.parametrize("version", [1, 2])
def test_the_next_transaction_starts_empty(version: int) -> None:
    shard = TransactionsShard()
    producer = shard.ongoing("orders-0", version=version)
    ended = shard.end(producer, version=version).result()
    shard.write_markers()
    shard.clock.advance(9)
    shard.add(ended if version == 2 else producer, "bills-0").result()
    assert [str(each) for each in shard.get().partitions] == ["bills-0"]
    assert shard.get().start_ms == shard.clock.now_ms()


def test_refused_additions_name_the_error() -> None:
    shard = TransactionsShard()
    producer = shard.ongoing()
    assert isinstance(shard.add(producer, "a-0", transactional_id="").error, InvalidRequest)
    assert isinstance(shard.add(producer, "a-0", transactional_id="x").error, InvalidProducerIdMapping)
    other_id, other_epoch = producer._replace(producer_id=3), producer._replace(producer_epoch=3)
    assert isinstance(shard.add(other_id, "a-0").error, InvalidProducerIdMapping)
    assert isinstance(shard.add(other_epoch, "a-0").error, ProducerFenced)
    shard.end(producer)
    assert isinstance(shard.add(other_id, "a-0").error, ConcurrentTransactions)


def test_verification_distinguishes_partitions_of_the_transaction() -> None:
    shard = TransactionsShard()
    producer = shard.ongoing("orders-0")
    assert shard.verify(producer, "orders-0", "orders-1") == {
        "orders-0": ErrorCode.none,
        "orders-1": ErrorCode.transaction_abortable,
    }


def test_verification_refuses_all_partitions_of_another_producer() -> None:
    shard = TransactionsShard()
    producer = shard.ongoing("orders-0")
    other_id, other_epoch = producer._replace(producer_id=3), producer._replace(producer_epoch=3)

    def codes(found: dict[str, ErrorCode]) -> set[ErrorCode]:
        return set(found.values())

    assert codes(shard.verify(producer, "a-0", transactional_id="")) == {ErrorCode.invalid_request}
    unknown = shard.verify(producer, "a-0", transactional_id="unknown")
    assert codes(unknown) == {ErrorCode.invalid_producer_id_mapping}
    assert codes(shard.verify(other_id, "orders-0")) == {ErrorCode.invalid_producer_id_mapping}
    assert codes(shard.verify(other_epoch, "orders-0")) == {ErrorCode.producer_fenced}
    shard.end(producer, version=1)
    assert codes(shard.verify(producer, "orders-0")) == {ErrorCode.concurrent_transactions}
