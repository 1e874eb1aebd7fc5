"""Transaction timeouts, and the expiration of unused transactional ids."""

import pytest
from tests.unit.transaction.transactions_shard import TIMEOUT_MS, TX, TransactionsShard

from barnabas.base.errors import ConcurrentTransactions, CoordinatorNotAvailable, ProducerFenced
from barnabas.transaction.requests import InitResult
from barnabas.transaction.transaction import MAX_EPOCH, TransactionState

DAY_MS = 86_400_000


@pytest.mark.parametrize("version", [1, 2])
def test_a_transaction_past_its_timeout_is_aborted_and_its_producer_fenced(version: int) -> None:
    shard = TransactionsShard(transaction_version=version)
    producer = shard.ongoing(version=version)
    shard.driver.advance(TIMEOUT_MS - 1)
    shard.add(producer, "orders-1").result()
    assert shard.get().state is TransactionState.ONGOING
    shard.driver.advance(1)
    assert shard.get().state is TransactionState.PREPARE_ABORT
    assert isinstance(shard.end(producer).error, ConcurrentTransactions)
    [prepared] = shard.write_markers()
    assert prepared.producer_epoch == producer.producer_epoch + 1
    assert not prepared.is_commit
    assert isinstance(shard.add(producer, "orders-0").error, ProducerFenced)
    assert isinstance(shard.end(producer, version=1).error, ProducerFenced)


def test_a_transaction_that_ended_in_time_is_left_alone() -> None:
    shard = TransactionsShard()
    ended = shard.end(shard.ongoing()).result()
    shard.write_markers()
    shard.driver.advance(TIMEOUT_MS // 2)
    shard.add(ended, "orders-0").result()
    shard.driver.advance(TIMEOUT_MS // 2 + 1)
    assert shard.get().state is TransactionState.ONGOING
    assert len(shard.environment.timers) == 1


def test_the_timeout_counts_from_the_start_also_for_a_new_coordinator() -> None:
    shard = TransactionsShard()
    shard.ongoing()
    shard.clock.advance(TIMEOUT_MS - 10)
    other = shard.loaded()
    other.driver.advance(9)
    assert other.get().state is TransactionState.ONGOING
    other.driver.advance(1)
    assert other.get().state is TransactionState.PREPARE_ABORT


def test_an_abort_that_cannot_be_written_is_retried() -> None:
    shard = TransactionsShard()
    shard.ongoing()
    shard.driver.fail_next(CoordinatorNotAvailable("no disk"), times=2)
    shard.driver.advance(TIMEOUT_MS)
    assert shard.get().state is TransactionState.ONGOING
    shard.driver.advance(1_000)
    assert shard.get().state is TransactionState.PREPARE_ABORT
    assert shard.get().producer_epoch == 1


def test_a_timeout_with_the_last_epoch_waits_for_a_producer_id() -> None:
    shard = TransactionsShard()
    producer = shard.with_epoch(MAX_EPOCH - 1)
    shard.add(producer, "orders-0").result()
    shard.environment.take_producer_id = lambda: None
    shard.driver.advance(TIMEOUT_MS + 400)
    assert shard.get().state is TransactionState.ONGOING
    shard.environment.take_producer_id = lambda: 77
    shard.driver.advance(500)
    shard.write_markers()
    assert (shard.get().producer_id, shard.get().producer_epoch) == (77, 0)


def test_a_two_phase_transaction_never_times_out() -> None:
    shard = TransactionsShard(is_two_phase_enabled=True)
    shard.ongoing(enable_two_phase=True, timeout_ms=1)
    assert shard.get().is_two_phase
    shard.driver.advance(30 * DAY_MS)
    assert shard.get().state is TransactionState.ONGOING
    other = shard.loaded()
    other.driver.advance(30 * DAY_MS)
    assert other.get().state is TransactionState.ONGOING


# --- expiry -------------------------------------------------------------------------------------------------


def test_an_unused_id_expires() -> None:
    shard = TransactionsShard(id_expiration_ms=1_000)
    producer = shard.init().result()
    shard.clock.advance(999)
    shard.driver.run(shard.shard.expire()).result()
    assert len(shard.shard) == 1
    shard.clock.advance(1)
    shard.driver.run(shard.shard.expire()).result()
    assert len(shard.shard) == len(shard.loaded().shard) == 0
    assert shard.init(producer=producer).result() == InitResult(shard.last_id, 0)


@pytest.mark.parametrize("commit", [True, False])
def test_complete_transactions_expire_and_unfinished_ones_do_not(commit: bool) -> None:
    shard = TransactionsShard(id_expiration_ms=1_000, is_two_phase_enabled=True)
    shard.ongoing(enable_two_phase=True)
    shard.clock.advance(DAY_MS)
    assert shard.shard.expire().records == []
    shard.end(InitResult(shard.get().producer_id, 0), commit=commit)
    shard.clock.advance(DAY_MS)
    assert shard.shard.expire().records == []
    shard.write_markers()
    assert shard.shard.expire().records == []
    shard.clock.advance(DAY_MS)
    [tombstone] = shard.shard.expire().records
    assert tombstone == (None, TX)
