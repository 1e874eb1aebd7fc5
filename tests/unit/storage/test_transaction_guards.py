"""Who may begin a transaction in a log, and when consent that was given counts no more."""

import pytest
from tests.unit.storage.support import NOW, MemoryLogs, batch, marker

from barnabas.base.errors import InvalidProducerEpoch, InvalidTxnState, OutOfOrderSequence
from barnabas.records.batch import parse_header
from barnabas.storage.append_info import AppendOrigin
from barnabas.storage.log import Log
from barnabas.storage.transaction_guards import Guard


class Asker:
    """Appends transactional batches the way Produce does: ask, check, append."""

    def __init__(self, log: Log) -> None:
        self.log: Log = log

    def ask(self, data: bytes, *, adds: bool = False) -> Guard | None:
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
def asker() -> Asker:
    return Asker(MemoryLogs().create())


def of_txn(sequence: int = 0, *, epoch: int = 0, count: int = 1) -> bytes:
    return batch(count, pid=7, epoch=epoch, sequence=sequence, transactional=True)


def test_the_first_batch_needs_consent_and_the_next_ones_do_not(asker: Asker) -> None:
    guard = asker.ask(of_txn())
    assert guard is not None
    asker.append(of_txn(), guard)
    assert asker.ask(of_txn(1)) is None
    assert asker.append(of_txn(1), None) == 1
    assert len(asker.log.producers.guards) == 0


def test_a_batch_that_nobody_asked_about_is_refused(asker: Asker) -> None:
    with pytest.raises(InvalidTxnState):
        asker.append(of_txn(), None)


def test_a_marker_between_consent_and_append_makes_the_consent_worthless(asker: Asker) -> None:
    guard = asker.ask(of_txn())
    asker.end()
    with pytest.raises(InvalidTxnState):
        asker.append(of_txn(), guard)


def test_the_consent_to_an_earlier_transaction_does_not_open_the_next_one(asker: Asker) -> None:
    stale = asker.ask(of_txn())
    asker.end()
    fresh = asker.ask(of_txn())
    with pytest.raises(InvalidTxnState):
        asker.append(of_txn(), stale)
    assert asker.append(of_txn(), fresh) == 1


def test_a_transaction_that_was_ended_while_no_guard_was_needed_is_refused(asker: Asker) -> None:
    asker.append(of_txn(), asker.ask(of_txn()))
    assert asker.ask(of_txn(1)) is None
    asker.end()
    with pytest.raises(InvalidTxnState):
        asker.append(of_txn(1), None)


def test_an_older_epoch_is_refused_before_anybody_is_asked(asker: Asker) -> None:
    asker.end(epoch=3)
    with pytest.raises(InvalidProducerEpoch):
        asker.ask(of_txn(epoch=2))


def test_an_epoch_that_became_old_while_it_was_asked_about_is_refused_as_such(asker: Asker) -> None:
    guard = asker.ask(of_txn(), adds=True)
    asker.end(epoch=1, version=2)
    with pytest.raises(InvalidProducerEpoch):
        asker.append(of_txn(), guard)


def test_the_marker_that_begins_an_epoch_leaves_its_next_transaction_alone(asker: Asker) -> None:
    """Version 2: the client knows the new epoch before all markers of the old one are written."""
    asker.append(of_txn(), asker.ask(of_txn(), adds=True))
    guard = asker.ask(of_txn(epoch=1), adds=True)
    asker.end(epoch=1, version=2)
    assert asker.append(of_txn(epoch=1), guard) == 2


def test_a_stored_batch_is_answered_again_though_its_transaction_has_ended(asker: Asker) -> None:
    first = asker.append(of_txn(), asker.ask(of_txn()))
    asker.end(commit=True)
    assert asker.append(of_txn(), None) == first
    assert asker.log.log_end_offset == 2


def test_later_batches_do_not_overtake_one_that_was_put_off(asker: Asker) -> None:
    asker.ask(of_txn(5))  # could not be verified for now: the producer sends it again
    guard = asker.ask(of_txn(6))
    with pytest.raises(OutOfOrderSequence):
        asker.append(of_txn(6), guard)
    asker.append(of_txn(5), guard)
    assert asker.append(of_txn(6), None) == 1


def test_a_lower_sequence_that_comes_later_counts(asker: Asker) -> None:
    asker.ask(of_txn(6))
    asker.ask(of_txn(5))
    with pytest.raises(OutOfOrderSequence):
        asker.append(of_txn(6), asker.ask(of_txn(6)))


def test_a_new_epoch_counts_its_sequences_anew(asker: Asker) -> None:
    asker.ask(of_txn(0))
    guard = asker.ask(of_txn(3, epoch=1))
    assert asker.append(of_txn(3, epoch=1), guard) == 0


def test_an_unknown_producer_of_version_two_begins_at_zero(asker: Asker) -> None:
    guard = asker.ask(of_txn(4), adds=True)
    with pytest.raises(OutOfOrderSequence):
        asker.append(of_txn(4), guard)
    guard = asker.ask(of_txn(0), adds=True)
    assert asker.append(of_txn(0), guard) == 0


def test_without_verification_nobody_need_consent(asker: Asker) -> None:
    assert asker.append(of_txn(), None, is_required=False) == 0


def test_a_batch_outside_the_transaction_is_refused(asker: Asker) -> None:
    asker.append(of_txn(), asker.ask(of_txn()))
    with pytest.raises(InvalidTxnState):
        asker.log.append_as_leader(batch(pid=7, sequence=1), 0)


def test_guards_are_forgotten_in_time(asker: Asker) -> None:
    guard = asker.ask(of_txn())
    asker.log.producers.expire(NOW + asker.log.producers.expiration_ms)
    with pytest.raises(InvalidTxnState):
        asker.append(of_txn(), guard)


def test_a_refused_batch_leaves_the_guard_to_its_repetition(asker: Asker) -> None:
    guard = asker.ask(of_txn())
    torn = bytearray(of_txn())
    torn[-1] ^= 1
    with pytest.raises(Exception, match="CRC"):
        asker.append(bytes(torn), guard)
    assert asker.append(of_txn(), guard) == 0
