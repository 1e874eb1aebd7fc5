"""Two-phase commit (KIP-939): a new producer completes the prepared transaction of another one.

The transaction keeps its producer id and epoch. The client continues with the next ones, which fence all
producers before it. After each end the client's epoch is bumped once more.
"""

import pytest
from tests.unit.transaction.transactions_shard import TIMEOUT_MS, TX, TransactionsShard

from barnabas.base.errors import (
    ConcurrentTransactions,
    ErrorCode,
    InvalidProducerIdMapping,
    InvalidTxnState,
    ProducerFenced,
)
from barnabas.transaction.requests import EndResult, InitResult
from barnabas.transaction.transaction import MAX_EPOCH, TransactionState
from barnabas.transaction.transaction_record import TransactionRecord

LAST = MAX_EPOCH - 1


@pytest.fixture
def shard() -> TransactionsShard:
    return TransactionsShard(is_two_phase_enabled=True)


def keep(shard: TransactionsShard) -> InitResult:
    return shard.init(enable_two_phase=True, keep_prepared=True).result()


@pytest.mark.parametrize("commit", [True, False])
def test_a_new_producer_completes_what_the_old_one_left(shard: TransactionsShard, commit: bool) -> None:
    old = shard.ongoing("orders-0", enable_two_phase=True)
    new = keep(shard)
    assert new == InitResult(old.producer_id, 1, ongoing_producer_id=old.producer_id, ongoing_epoch=0)
    kept = shard.get()
    assert kept.state is TransactionState.ONGOING
    assert (kept.producer_id, kept.producer_epoch) == (old.producer_id, 0)
    assert (kept.next_producer_id, kept.next_producer_epoch) == (old.producer_id, 1)
    ended = shard.end(new, commit=commit).result()
    assert ended == EndResult(old.producer_id, 2)
    [prepared] = shard.write_markers()
    assert (prepared.producer_id, prepared.producer_epoch) == (old.producer_id, 1)
    assert prepared.is_commit is commit
    shard.add(ended, "orders-0").result()
    assert shard.end(ended).result() == EndResult(old.producer_id, 3)


def test_only_the_last_producer_may_complete_it(shard: TransactionsShard) -> None:
    first = shard.ongoing(enable_two_phase=True)
    second, third = keep(shard), keep(shard)
    assert (second.producer_epoch, third.producer_epoch) == (1, 2)
    assert third.ongoing_epoch == 0
    for old in (first, second):
        assert isinstance(shard.end(old).error, ProducerFenced)
        assert isinstance(shard.add(old, "orders-1").error, ProducerFenced)
        assert shard.verify(old, "orders-0") == {"orders-0": ErrorCode.producer_fenced}
    assert shard.end(third).result() == EndResult(first.producer_id, 3)


def test_a_kept_transaction_takes_no_more_partitions(shard: TransactionsShard) -> None:
    shard.ongoing(enable_two_phase=True)
    new = keep(shard)
    assert isinstance(shard.add(new, "orders-0").error, InvalidTxnState)
    assert shard.verify(new, "orders-0") == {"orders-0": ErrorCode.invalid_txn_state}


def test_a_kept_transaction_survives_the_coordinator(shard: TransactionsShard) -> None:
    shard.ongoing(enable_two_phase=True)
    new = keep(shard)
    other = shard.loaded()
    ended = other.end(new).result()
    assert ended == EndResult(new.producer_id, 2)
    other.write_markers()
    assert other.end(new).result() == ended
    assert other.loaded().end(new).result() == ended


def test_a_delayed_end_does_not_end_the_next_transaction(shard: TransactionsShard) -> None:
    shard.ongoing(enable_two_phase=True)
    new = keep(shard)
    ended = shard.end(new).result()
    shard.write_markers()
    shard.add(ended, "orders-0").result()
    assert isinstance(shard.end(new).error, ProducerFenced)


def test_without_a_transaction_there_is_nothing_to_keep(shard: TransactionsShard) -> None:
    assert keep(shard) == InitResult(shard.last_id, 0)
    assert keep(shard).ongoing_producer_id == -1
    shard.end(shard.ongoing())
    assert isinstance(shard.init(keep_prepared=True).error, ConcurrentTransactions)
    shard.write_markers()
    assert keep(shard).ongoing_epoch == -1


def test_init_without_keep_aborts(shard: TransactionsShard) -> None:
    old = shard.ongoing(enable_two_phase=True)
    kept = keep(shard)
    assert isinstance(shard.init(enable_two_phase=True).error, ConcurrentTransactions)
    [prepared] = shard.write_markers()
    assert (prepared.is_commit, prepared.producer_epoch) == (False, 1)
    assert shard.init().result() == InitResult(old.producer_id, kept.producer_epoch + 2)


def test_a_transaction_with_a_timeout_can_be_kept_and_still_times_out(shard: TransactionsShard) -> None:
    shard.ongoing()
    new = shard.init(keep_prepared=True, timeout_ms=TIMEOUT_MS * 2).result()
    shard.driver.advance(TIMEOUT_MS)
    assert shard.get().state is TransactionState.PREPARE_ABORT
    shard.write_markers()
    assert (shard.get().producer_id, shard.get().producer_epoch) == (new.producer_id, 2)


def test_a_repeated_keep_of_the_same_producer_gets_the_same_answer(shard: TransactionsShard) -> None:
    old = shard.ongoing(enable_two_phase=True)
    answers = {shard.init(producer=old, enable_two_phase=True, keep_prepared=True).result() for _ in range(3)}
    assert answers == {InitResult(old.producer_id, 1, old.producer_id, 0)}
    stale = InitResult(old.producer_id, 9)
    assert isinstance(shard.init(producer=stale, keep_prepared=True).error, ProducerFenced)


# --- exhausted epochs --------------------------------------------------------------------------------


def test_keeping_with_the_last_epoch_leads_to_a_new_producer_id(shard: TransactionsShard) -> None:
    old = shard.with_epoch(LAST, enable_two_phase=True)
    shard.add(old, "orders-0").result()
    new = keep(shard)
    assert new.producer_id != old.producer_id
    assert new == InitResult(new.producer_id, 0, old.producer_id, LAST)
    ended = shard.end(new).result()
    assert ended == EndResult(new.producer_id, 1)
    [prepared] = shard.write_markers()
    assert (prepared.producer_id, prepared.producer_epoch) == (old.producer_id, MAX_EPOCH)
    assert shard.end(new).result() == ended
    assert (shard.get().producer_id, shard.get().producer_epoch) == ended


def test_ending_a_kept_one_with_the_last_epoch_leads_to_a_new_producer_id(shard: TransactionsShard) -> None:
    old = shard.with_epoch(LAST - 1, enable_two_phase=True)
    shard.add(old, "orders-0").result()
    new = keep(shard)
    assert new.producer_epoch == LAST
    ended = shard.end(new).result()
    assert ended.producer_id != old.producer_id
    assert ended.producer_epoch == 0
    shard.write_markers()
    assert shard.end(new).result() == ended
    assert shard.loaded().end(new).result() == ended


def test_epochs_may_be_used_up_twice_over_one_transaction(shard: TransactionsShard) -> None:
    old = shard.with_epoch(LAST, enable_two_phase=True)
    shard.add(old, "orders-0").result()
    second = keep(shard)
    kept = shard.get()._replace(next_producer_epoch=LAST)
    shard.shard.replay(TransactionRecord(kept, TX))
    client = InitResult(second.producer_id, LAST)
    ended = shard.end(client, commit=False).result()
    assert ended.producer_id not in (old.producer_id, second.producer_id)
    shard.write_markers()
    assert shard.end(client, commit=False).result() == ended
    assert isinstance(shard.end(old).error, InvalidProducerIdMapping)


def test_a_client_below_version_2_may_complete_it_too(shard: TransactionsShard) -> None:
    old = shard.ongoing(enable_two_phase=True)
    new = keep(shard)
    assert shard.end(new, version=1).result() == EndResult(-1, -1)
    [prepared] = shard.write_markers()
    # The marker fences the producer of the records.
    assert prepared.producer_epoch == old.producer_epoch + 1
    assert shard.end(new, version=1).result() == EndResult(-1, -1)
    shard.add(new, "orders-0", version=1).result()
