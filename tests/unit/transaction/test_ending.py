"""EndTxn, in both versions: outcomes, repeated requests, exhausted epochs."""

import pytest
from tests.unit.transaction.transactions_shard import TX, TransactionsShard

from barnabas.base.errors import (
    ConcurrentTransactions,
    CoordinatorNotAvailable,
    InvalidProducerIdMapping,
    InvalidRequest,
    InvalidTxnState,
    KafkaError,
    ProducerFenced,
)
from barnabas.transaction.requests import EndResult, InitResult
from barnabas.transaction.transaction import MAX_EPOCH, TransactionState

LAST = MAX_EPOCH - 1
COMPLETE = {True: TransactionState.COMPLETE_COMMIT, False: TransactionState.COMPLETE_ABORT}
PREPARE = {True: TransactionState.PREPARE_COMMIT, False: TransactionState.PREPARE_ABORT}


@pytest.mark.parametrize("version", [0, 1, 2])
@pytest.mark.parametrize("commit", [True, False])
def test_a_transaction_is_prepared_then_complete(version: int, commit: bool) -> None:
    shard = TransactionsShard()
    producer = shard.ongoing("orders-0", version=version)
    shard.end(producer, commit=commit, version=version).result()
    assert shard.get().state is PREPARE[commit]
    [prepared] = shard.write_markers()
    assert [str(each) for each in prepared.partitions] == ["orders-0"]
    assert prepared.is_commit is commit
    assert shard.get().state is COMPLETE[commit]
    assert shard.get().partitions == frozenset()


@pytest.mark.parametrize("version", [0, 1])
def test_an_old_client_keeps_its_epoch(version: int) -> None:
    shard = TransactionsShard()
    producer = shard.ongoing(version=version)
    assert shard.end(producer, version=version).result() == EndResult(-1, -1)
    [prepared] = shard.write_markers()
    assert prepared.producer_epoch == producer.producer_epoch == shard.get().producer_epoch


def test_from_version_2_each_end_bumps_the_epoch_and_markers_carry_the_new_one() -> None:
    shard = TransactionsShard()
    producer = shard.ongoing()
    ended = shard.end(producer).result()
    assert ended == EndResult(producer.producer_id, producer.producer_epoch + 1)
    [prepared] = shard.write_markers()
    assert prepared.producer_epoch == ended.producer_epoch
    assert prepared.client_version == 2
    shard.add(ended, "orders-0").result()
    assert isinstance(shard.add(producer, "orders-0").error, ProducerFenced)


@pytest.mark.parametrize("version", [1, 2])
def test_while_markers_are_written_the_client_must_wait(version: int) -> None:
    shard = TransactionsShard()
    producer = shard.ongoing(version=version)
    shard.end(producer, version=version)
    assert isinstance(shard.end(producer, version=version).error, ConcurrentTransactions)
    assert isinstance(shard.end(producer, version=version, commit=False).error, ConcurrentTransactions)


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("commit", [True, False])
def test_a_repeated_end_gets_the_same_answer_and_writes_nothing(version: int, commit: bool) -> None:
    shard = TransactionsShard()
    producer = shard.ongoing(version=version)
    first = shard.end(producer, commit=commit, version=version).result()
    shard.write_markers()
    written = len(shard.driver.records)
    assert shard.end(producer, commit=commit, version=version).result() == first
    assert shard.loaded().end(producer, commit=commit, version=version).result() == first
    assert len(shard.driver.records) == written
    assert isinstance(shard.end(producer, commit=not commit, version=version).error, InvalidTxnState)


# Kafka's table for version 2: state, epoch (0 the current one, -1 the one before), commit -> the result.
VERSION_2 = [
    (TransactionState.EMPTY, -1, False, ProducerFenced),
    (TransactionState.EMPTY, 0, False, None),
    (TransactionState.EMPTY, -1, True, ProducerFenced),
    (TransactionState.EMPTY, 0, True, InvalidTxnState),
    (TransactionState.COMPLETE_ABORT, -1, True, InvalidTxnState),
    (TransactionState.COMPLETE_ABORT, 0, False, None),
    (TransactionState.COMPLETE_ABORT, 0, True, InvalidTxnState),
    (TransactionState.COMPLETE_COMMIT, -1, False, InvalidTxnState),
    (TransactionState.COMPLETE_COMMIT, 0, False, None),
    (TransactionState.COMPLETE_COMMIT, 0, True, InvalidTxnState),
    (TransactionState.COMPLETE_COMMIT, 1, False, ProducerFenced),
    (TransactionState.COMPLETE_COMMIT, -2, True, ProducerFenced),
]


@pytest.mark.parametrize(("state", "offset", "commit", "error"), VERSION_2)
def test_without_partitions_in_version_2(
    state: TransactionState, offset: int, commit: bool, error: type[KafkaError] | None
) -> None:
    shard = TransactionsShard()
    shard.init()
    shard.init()
    producer = InitResult(shard.get().producer_id, shard.get().producer_epoch)
    if state is not TransactionState.EMPTY:
        shard.add(producer, "orders-0")
        shard.end(producer, commit=state is TransactionState.COMPLETE_COMMIT)
        shard.write_markers()
    current = shard.get()
    assert current.state is state
    sender = InitResult(current.producer_id, current.producer_epoch + offset)
    answer = shard.end(sender, commit=commit)
    if error is not None:
        assert type(answer.error) is error
        return
    assert answer.result() == EndResult(current.producer_id, current.producer_epoch + 1)
    [prepared] = shard.write_markers()
    assert prepared.partitions == frozenset()
    assert prepared.start_ms == prepared.update_ms == shard.clock.now_ms()
    assert shard.get().state is TransactionState.COMPLETE_ABORT


@pytest.mark.parametrize("commit", [True, False])
def test_an_old_client_cannot_end_what_did_not_start(commit: bool) -> None:
    shard = TransactionsShard()
    producer = shard.init().result()
    assert isinstance(shard.end(producer, commit=commit, version=1).error, InvalidTxnState)


@pytest.mark.parametrize("version", [1, 2])
def test_another_producer_is_refused(version: int) -> None:
    shard = TransactionsShard()
    producer = shard.ongoing(version=version)
    other_id = producer._replace(producer_id=7)
    assert isinstance(shard.end(other_id, version=version).error, InvalidProducerIdMapping)
    for epoch in (1, -1):
        other_epoch = producer._replace(producer_epoch=epoch)
        assert isinstance(shard.end(other_epoch, version=version).error, ProducerFenced)
    unknown = shard.end(producer, version=version, transactional_id="unknown")
    assert isinstance(unknown.error, InvalidProducerIdMapping)
    assert isinstance(shard.end(producer, version=version, transactional_id="").error, InvalidRequest)


@pytest.mark.parametrize("commit", [True, False])
def test_a_zombie_is_not_taken_for_its_successor_of_an_older_version(commit: bool) -> None:
    """Its epoch is the one before the current one, but no end of a transaction has bumped it."""
    shard = TransactionsShard()
    zombie = shard.init().result()
    successor = shard.ongoing(version=1)
    assert successor.producer_epoch == zombie.producer_epoch + 1
    shard.end(successor, commit=commit, version=1).result()
    shard.write_markers()
    for each in (shard, shard.loaded()):
        assert isinstance(each.end(zombie, commit=commit).error, ProducerFenced)
        assert each.end(successor, commit=commit, version=1).result() == EndResult(-1, -1)


# --- exhausted epochs --------------------------------------------------------------------------------


@pytest.mark.parametrize("commit", [True, False])
def test_ending_with_the_last_epoch_leads_to_a_new_producer_id(commit: bool) -> None:
    shard = TransactionsShard()
    producer = shard.with_epoch(LAST)
    shard.add(producer, "orders-0").result()
    ended = shard.end(producer, commit=commit).result()
    assert ended.producer_id != producer.producer_id
    assert ended.producer_epoch == 0
    prepared = shard.get()
    assert (prepared.producer_id, prepared.producer_epoch) == (producer.producer_id, MAX_EPOCH)
    assert prepared.next_producer_id == ended.producer_id
    # The new producer may be faster than the markers.
    assert isinstance(shard.add(ended, "orders-0").error, ConcurrentTransactions)
    shard.write_markers()
    after = shard.get()
    assert (after.producer_id, after.producer_epoch) == ended
    assert (after.previous_producer_id, after.next_producer_id) == (producer.producer_id, -1)
    assert shard.end(producer, commit=commit).result() == ended
    assert shard.loaded().end(producer, commit=commit).result() == ended
    assert isinstance(shard.end(producer, commit=not commit).error, InvalidTxnState)
    shard.add(ended, "orders-0").result()
    assert isinstance(shard.end(producer, commit=commit).error, InvalidProducerIdMapping | ProducerFenced)


def test_a_new_coordinator_finishes_what_the_old_one_prepared() -> None:
    shard = TransactionsShard()
    producer = shard.with_epoch(LAST)
    shard.add(producer, "orders-0").result()
    ended = shard.end(producer).result()
    other = shard.loaded()
    [prepared] = other.write_markers()
    assert prepared.is_commit
    assert (other.get().producer_id, other.get().producer_epoch) == ended


# --- markers ------------------------------------------------------------------------------------------------


def test_markers_wait_until_the_outcome_is_committed() -> None:
    shard = TransactionsShard()
    producer = shard.ongoing()
    shard.driver.hold_commits()
    answer = shard.end(producer)
    assert (answer.is_done, shard.prepared) == (False, [])
    shard.driver.commit()
    assert answer.is_done
    assert len(shard.prepared) == 1


def test_an_outcome_that_was_appended_but_not_committed_is_written_again() -> None:
    shard = TransactionsShard()
    producer = shard.ongoing()
    shard.driver.hold_commits()
    answer = shard.end(producer)
    shard.driver.commit(CoordinatorNotAvailable("too few replicas"))
    assert isinstance(answer.error, CoordinatorNotAvailable)
    assert shard.prepared == []
    shard.driver.fail_next(CoordinatorNotAvailable("still"))
    shard.driver.advance(2_000)
    assert [each.is_commit for each in shard.write_markers()] == [True]
    assert shard.get().state is TransactionState.COMPLETE_COMMIT
    shard.driver.advance(2_000)
    assert shard.prepared == []


def test_completion_is_refused_for_markers_of_another_producer() -> None:
    shard = TransactionsShard()
    producer = shard.ongoing()

    def complete(producer_id: int, epoch: int, commit: bool = True) -> KafkaError | None:
        return shard.driver.call(shard.shard.complete, TX, producer_id, epoch, commit).error

    assert isinstance(complete(producer.producer_id, 0), InvalidTxnState)
    shard.end(producer)
    assert isinstance(complete(1, 1), InvalidProducerIdMapping)
    assert isinstance(complete(producer.producer_id, 0), ProducerFenced)
    assert isinstance(complete(producer.producer_id, 1, commit=False), InvalidTxnState)
    assert complete(producer.producer_id, 1) is None
    written = len(shard.driver.records)
    assert complete(producer.producer_id, 1) is None
    assert len(shard.driver.records) == written
