"""InitProducerId: the new producer, and the fencing of the previous one."""

from collections.abc import Callable

import pytest
from tests.unit.transaction.transactions_shard import TIMEOUT_MS, TX, TransactionsShard

from barnabas.base.errors import (
    ConcurrentTransactions,
    CoordinatorNotAvailable,
    InvalidRequest,
    InvalidTransactionTimeout,
    ProducerFenced,
    TransactionalIdAuthorizationFailed,
    UnsupportedVersion,
)
from barnabas.transaction.requests import InitResult
from barnabas.transaction.transaction import MAX_EPOCH, NO_TIMEOUT_MS, TransactionState

LAST = MAX_EPOCH - 1


def test_a_new_transactional_id_gets_the_fresh_producer_id_and_epoch_0() -> None:
    shard = TransactionsShard()
    assert shard.init().result() == InitResult(1001, 0)
    transaction = shard.get()
    assert transaction.state is TransactionState.EMPTY
    assert transaction.timeout_ms == TIMEOUT_MS
    assert transaction.previous_producer_id == 1001
    assert transaction.start_ms == -1
    assert transaction.update_ms == shard.clock.now_ms()


def test_each_further_producer_bumps_the_epoch() -> None:
    shard = TransactionsShard()
    first = shard.init().result()
    assert shard.init(timeout_ms=7).result() == InitResult(first.producer_id, 1)
    assert shard.get().timeout_ms == 7


def test_a_failed_append_changes_nothing() -> None:
    shard = TransactionsShard()
    producer = shard.init().result()
    shard.driver.fail_next(CoordinatorNotAvailable("no disk"))
    assert isinstance(shard.init().error, CoordinatorNotAvailable)
    assert shard.get().producer_epoch == producer.producer_epoch


@pytest.mark.parametrize("timeout_ms", [0, -1, 900_001, NO_TIMEOUT_MS])
def test_a_timeout_beyond_the_brokers_is_refused(timeout_ms: int) -> None:
    assert isinstance(TransactionsShard().init(timeout_ms=timeout_ms).error, InvalidTransactionTimeout)


def test_an_empty_transactional_id_is_refused() -> None:
    assert isinstance(TransactionsShard().init("").error, InvalidRequest)


def test_two_phase_commit_must_be_enabled_on_the_broker() -> None:
    shard = TransactionsShard()
    assert isinstance(shard.init(enable_two_phase=True).error, TransactionalIdAuthorizationFailed)
    assert isinstance(shard.init(keep_prepared=True).error, UnsupportedVersion)


# --- a producer that sends its id and epoch (KIP-360)
# -------------------------------------------------------------


def test_a_producer_with_the_current_epoch_goes_on_with_the_next() -> None:
    shard = TransactionsShard()
    producer = shard.init().result()
    assert shard.init(producer=producer).result() == InitResult(producer.producer_id, 1)


def test_a_repeated_request_gets_the_same_answer() -> None:
    shard = TransactionsShard()
    producer = shard.init().result()
    answers = {shard.init(producer=producer).result() for _ in range(3)}
    assert answers == {InitResult(producer.producer_id, 1)}


def test_a_producer_that_was_replaced_is_fenced() -> None:
    shard = TransactionsShard()
    old = shard.init().result()
    shard.init().result()
    assert isinstance(shard.init(producer=old).error, ProducerFenced)


def test_another_producer_id_is_fenced() -> None:
    shard = TransactionsShard()
    shard.init().result()
    assert isinstance(shard.init(producer=InitResult(5, 0)).error, ProducerFenced)


def test_a_producer_whose_id_has_expired_gets_a_new_one() -> None:
    shard = TransactionsShard()
    assert shard.init(producer=InitResult(5, 9)).result() == InitResult(1001, 0)


def test_a_repeated_request_that_spans_a_coordinator_is_fenced() -> None:
    """As in Kafka: the log has no field for the previous epoch."""
    shard = TransactionsShard()
    producer = shard.init().result()
    shard.init(producer=producer).result()
    assert isinstance(shard.loaded().init(producer=producer).error, ProducerFenced)


# --- exhausted epochs ------------------------------------------------------------------------------


def test_a_new_producer_id_comes_when_epochs_are_used_up() -> None:
    shard = TransactionsShard()
    producer = shard.with_epoch(LAST)
    new = shard.init().result()
    assert new.producer_id != producer.producer_id
    assert new.producer_epoch == 0
    assert shard.get().previous_producer_id == producer.producer_id


def test_a_repeated_request_over_a_new_producer_id_gets_the_same_answer() -> None:
    shard = TransactionsShard()
    producer = shard.with_epoch(LAST)
    new = shard.init(producer=producer).result()
    assert new.producer_epoch == 0
    assert shard.init(producer=producer).result() == new


def test_the_last_epoch_is_returned_again_and_not_bumped() -> None:
    shard = TransactionsShard()
    producer = shard.with_epoch(LAST - 1)
    last = shard.init(producer=producer).result()
    assert last.producer_epoch == LAST
    assert shard.init(producer=producer).result() == last
    assert isinstance(shard.init(producer=last._replace(producer_epoch=3)).error, ProducerFenced)


# --- an ongoing transaction -----------------------------------------------------------------------------


@pytest.mark.parametrize("version", [1, 2])
def test_an_ongoing_transaction_is_aborted_first(version: int) -> None:
    shard = TransactionsShard(transaction_version=version)
    old = shard.ongoing("orders-0", "orders-1")
    assert isinstance(shard.init().error, ConcurrentTransactions)
    assert shard.get().state is TransactionState.PREPARE_ABORT
    assert shard.get().producer_epoch == old.producer_epoch + 1
    assert isinstance(shard.init().error, ConcurrentTransactions)
    assert isinstance(shard.add(old, "orders-2").error, ConcurrentTransactions)
    [prepared] = shard.write_markers()
    assert len(prepared.partitions) == 2
    assert shard.init().result() == InitResult(old.producer_id, old.producer_epoch + 2)
    assert isinstance(shard.add(old, "orders-0").error, ProducerFenced)


@pytest.mark.parametrize("version", [1, 2])
def test_fencing_with_the_last_epoch_leads_to_a_new_producer_id(version: int) -> None:
    shard = TransactionsShard(transaction_version=version)
    old = shard.with_epoch(LAST)
    shard.add(old, "orders-0").result()
    assert isinstance(shard.init().error, ConcurrentTransactions)
    assert shard.get().producer_epoch == MAX_EPOCH
    shard.write_markers()
    new = shard.init().result()
    assert new.producer_id != old.producer_id
    assert new.producer_epoch == (1 if version == 2 else 0)


def test_the_abort_is_committed_before_its_markers_are_written_and_the_client_is_answered() -> None:
    shard = TransactionsShard()
    shard.ongoing()
    shard.driver.hold_commits()
    answer = shard.init()
    assert not answer.is_done
    assert shard.prepared == []
    shard.driver.commit()
    assert isinstance(answer.error, ConcurrentTransactions)
    assert [each.transactional_id for each in shard.prepared] == [TX]


def test_an_abort_that_could_not_be_written_leaves_the_transaction_ongoing() -> None:
    shard = TransactionsShard()
    producer = shard.ongoing()
    shard.driver.fail_next(CoordinatorNotAvailable("no disk"))
    assert isinstance(shard.init().error, CoordinatorNotAvailable)
    assert shard.get().state is TransactionState.ONGOING
    assert shard.end(producer).result().producer_epoch == producer.producer_epoch + 1


def _of_a_replaced_producer(shard: TransactionsShard) -> InitResult:
    old = shard.init().result()
    shard.ongoing()
    return old


def _of_before_the_last_end(shard: TransactionsShard) -> InitResult:
    old = shard.ongoing()
    ended = shard.end(old).result()
    shard.write_markers()
    shard.add(ended, "orders-0").result()
    return old


def _of_before_the_producer_id(shard: TransactionsShard) -> InitResult:
    old = shard.with_epoch(LAST)
    new = shard.init(producer=old).result()
    assert new.producer_id != old.producer_id
    shard.add(new, "orders-0").result()
    return old


@pytest.mark.parametrize(
    "stale_epoch", [_of_a_replaced_producer, _of_before_the_last_end, _of_before_the_producer_id]
)
def test_a_zombie_leaves_the_transaction_of_its_successor_alone(
    stale_epoch: Callable[[TransactionsShard], InitResult],
) -> None:
    shard = TransactionsShard()
    zombie = stale_epoch(shard)
    ongoing = shard.get()
    assert ongoing.state is TransactionState.ONGOING
    assert isinstance(shard.init(producer=zombie).error, ProducerFenced)
    assert shard.get() == ongoing
    shard.end(InitResult(ongoing.producer_id, ongoing.producer_epoch)).result()
    [prepared] = shard.write_markers()
    assert prepared.is_commit


def test_a_producer_may_request_a_new_epoch_in_its_own_transaction() -> None:
    shard = TransactionsShard()
    producer = shard.ongoing()
    assert isinstance(shard.init(producer=producer).error, ConcurrentTransactions)
    shard.write_markers()
    assert shard.init(producer=producer).result() == InitResult(producer.producer_id, 1)
