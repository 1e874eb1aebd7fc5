"""Which producers may begin a transaction in a log, and when a verification becomes void."""

import pytest
from tests.unit.storage.support import NOW, MemoryLogs, batch, marker

from barnabas.base.errors import InvalidProducerEpoch, InvalidTxnState, OutOfOrderSequence
from barnabas.records.batch import parse_header
from barnabas.storage.append_info import AppendOrigin
from barnabas.storage.log import Log
from barnabas.storage.transaction_guards import Guard


class Verifier:
    """Appends transactional batches the way Produce does: verify, check, append."""

    def __init__(self, log: Log) -> None:
        self.log: Log = log

    def verify(self, data: bytes, *, adds: bool = False) -> Guard | None:
        return self.log.producers.begin_verification(parse_header(data), adds_partition=adds, now_ms=NOW)

    def append(self, data: bytes, guard: Guard | None, *, is_required: bool = True) -> int:
        self.log.producers.check_verified(parse_header(data), guard, is_required=is_required)
        return self.log.append_as_leader(data, 0).base_offset

    def end(self, epoch: int = 0, *, commit: bool = False, version: int = 0) -> None:
        self.log.append_as_leader(
            marker(7, commit=commit, epoch=epoch),
            0,
            origin=AppendOrigin.COORDINATOR,
            transaction_version=version,
        )


@pytest.fixture
def verifier() -> Verifier:
    return Verifier(MemoryLogs().create())


def of_txn(sequence: int = 0, *, epoch: int = 0, count: int = 1) -> bytes:
    return batch(count, pid=7, epoch=epoch, sequence=sequence, transactional=True)


def test_the_first_batch_needs_verification_and_the_next_ones_do_not(verifier: Verifier) -> None:
    guard = verifier.verify(of_txn())
    assert guard is not None
    verifier.append(of_txn(), guard)
    assert verifier.verify(of_txn(1)) is None
    assert verifier.append(of_txn(1), None) == 1
    assert len(verifier.log.producers.guards) == 0


def test_a_batch_that_was_not_verified_is_refused(verifier: Verifier) -> None:
    with pytest.raises(InvalidTxnState):
        verifier.append(of_txn(), None)


def test_a_marker_between_verification_and_append_voids_the_verification(verifier: Verifier) -> None:
    guard = verifier.verify(of_txn())
    verifier.end()
    with pytest.raises(InvalidTxnState):
        verifier.append(of_txn(), guard)


def test_the_verification_of_an_earlier_transaction_does_not_open_the_next_one(verifier: Verifier) -> None:
    stale = verifier.verify(of_txn())
    verifier.end()
    fresh = verifier.verify(of_txn())
    with pytest.raises(InvalidTxnState):
        verifier.append(of_txn(), stale)
    assert verifier.append(of_txn(), fresh) == 1


def test_a_transaction_that_was_ended_while_no_guard_was_needed_is_refused(verifier: Verifier) -> None:
    verifier.append(of_txn(), verifier.verify(of_txn()))
    assert verifier.verify(of_txn(1)) is None
    verifier.end()
    with pytest.raises(InvalidTxnState):
        verifier.append(of_txn(1), None)


def test_an_older_epoch_is_refused_before_it_is_verified(verifier: Verifier) -> None:
    verifier.end(epoch=3)
    with pytest.raises(InvalidProducerEpoch):
        verifier.verify(of_txn(epoch=2))


def test_an_epoch_that_became_old_during_its_verification_is_refused_as_such(verifier: Verifier) -> None:
    guard = verifier.verify(of_txn(), adds=True)
    verifier.end(epoch=1, version=2)
    with pytest.raises(InvalidProducerEpoch):
        verifier.append(of_txn(), guard)


def test_the_marker_that_begins_an_epoch_leaves_its_next_transaction_alone(verifier: Verifier) -> None:
    """Version 2: the client knows the new epoch before all markers of the old one are written."""
    verifier.append(of_txn(), verifier.verify(of_txn(), adds=True))
    guard = verifier.verify(of_txn(epoch=1), adds=True)
    verifier.end(epoch=1, version=2)
    assert verifier.append(of_txn(epoch=1), guard) == 2


def test_a_stored_batch_is_answered_again_though_its_transaction_has_ended(verifier: Verifier) -> None:
    first = verifier.append(of_txn(), verifier.verify(of_txn()))
    verifier.end(commit=True)
    assert verifier.append(of_txn(), None) == first
    assert verifier.log.log_end_offset == 2


def test_later_batches_do_not_overtake_one_that_was_put_off(verifier: Verifier) -> None:
    verifier.verify(of_txn(5))  # could not be verified for now: the producer sends it again
    guard = verifier.verify(of_txn(6))
    with pytest.raises(OutOfOrderSequence):
        verifier.append(of_txn(6), guard)
    verifier.append(of_txn(5), guard)
    assert verifier.append(of_txn(6), None) == 1


def test_a_lower_sequence_that_comes_later_counts(verifier: Verifier) -> None:
    verifier.verify(of_txn(6))
    verifier.verify(of_txn(5))
    with pytest.raises(OutOfOrderSequence):
        verifier.append(of_txn(6), verifier.verify(of_txn(6)))


def test_a_new_epoch_counts_its_sequences_anew(verifier: Verifier) -> None:
    verifier.verify(of_txn(0))
    guard = verifier.verify(of_txn(3, epoch=1))
    assert verifier.append(of_txn(3, epoch=1), guard) == 0


def test_an_unknown_producer_of_version_two_begins_at_zero(verifier: Verifier) -> None:
    guard = verifier.verify(of_txn(4), adds=True)
    with pytest.raises(OutOfOrderSequence):
        verifier.append(of_txn(4), guard)
    guard = verifier.verify(of_txn(0), adds=True)
    assert verifier.append(of_txn(0), guard) == 0


def test_without_verification_no_guard_is_needed(verifier: Verifier) -> None:
    assert verifier.append(of_txn(), None, is_required=False) == 0


def test_a_batch_outside_the_transaction_is_refused(verifier: Verifier) -> None:
    verifier.append(of_txn(), verifier.verify(of_txn()))
    with pytest.raises(InvalidTxnState):
        verifier.log.append_as_leader(batch(pid=7, sequence=1), 0)


def test_guards_are_forgotten_in_time(verifier: Verifier) -> None:
    guard = verifier.verify(of_txn())
    verifier.log.producers.expire(NOW + verifier.log.producers.expiration_ms)
    with pytest.raises(InvalidTxnState):
        verifier.append(of_txn(), guard)


def test_a_refused_batch_leaves_the_guard_to_its_repetition(verifier: Verifier) -> None:
    guard = verifier.verify(of_txn())
    torn = bytearray(of_txn())
    torn[-1] ^= 1
    with pytest.raises(Exception, match="CRC"):
        verifier.append(bytes(torn), guard)
    assert verifier.append(of_txn(), guard) == 0
