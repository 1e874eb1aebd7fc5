from pathlib import Path

import pytest
from tests.unit.storage.support import GOLDEN, NOW, batch, marker, summary

from barnabas.base.errors import (
    InvalidProducerEpoch,
    InvalidTxnState,
    KafkaError,
    OutOfOrderSequence,
    TransactionCoordinatorFenced,
)
from barnabas.records.batch import parse_header
from barnabas.storage.append_info import AppendOrigin
from barnabas.storage.index_errors import CorruptIndex
from barnabas.storage.producer_snapshot import decode_snapshot, encode_snapshot
from barnabas.storage.producer_state import ProducerStates, read_marker

CLIENT, COORDINATOR = AppendOrigin.CLIENT, AppendOrigin.COORDINATOR
LAST_SEQUENCE = 2**31 - 1


class Appender:
    """Feeds batches to a state the way a log does."""

    def __init__(self) -> None:
        self.states: ProducerStates = ProducerStates()
        self.end: int = 0

    def send(self, data: bytes, *, origin: AppendOrigin = CLIENT, version: int = 0) -> int:
        """The offset where the batch is, or was, stored."""
        header = parse_header(data)
        ending = read_marker(data) if header.is_control else None
        duplicate = self.states.check(header, self.end, origin, ending, version)
        if duplicate is not None:
            return duplicate.first_offset
        base = self.end
        txn = self.states.apply(header, base, ending)
        if txn is not None:
            self.states.complete(txn)
        self.end += header.last_offset_delta + 1
        return base

    def refuses(self, error: type[KafkaError], data: bytes, **arguments: object) -> None:
        before = summary(self.states)
        with pytest.raises(error):
            self.send(data, **arguments)  # type: ignore[arg-type]
        assert summary(self.states) == before


@pytest.fixture
def log() -> Appender:
    return Appender()


def test_the_last_five_batches_are_recognised(log: Appender) -> None:
    batches = [batch(2, pid=7, sequence=2 * number) for number in range(7)]
    offsets = [log.send(data) for data in batches]
    assert [log.send(data) for data in batches[2:]] == offsets[2:]
    log.refuses(OutOfOrderSequence, batches[1])


def test_a_gap_in_the_sequence_is_refused(log: Appender) -> None:
    log.send(batch(2, pid=7, sequence=0))
    log.refuses(OutOfOrderSequence, batch(1, pid=7, sequence=3))


def test_an_overlap_that_is_no_repetition_is_refused(log: Appender) -> None:
    log.send(batch(2, pid=7, sequence=0))
    log.refuses(OutOfOrderSequence, batch(2, pid=7, sequence=1))


def test_an_unknown_producer_may_start_anywhere(log: Appender) -> None:
    assert log.send(batch(1, pid=7, sequence=41)) == 0
    assert log.send(batch(1, pid=7, sequence=42)) == 1


def test_sequences_wrap_to_zero(log: Appender) -> None:
    log.send(batch(2, pid=7, sequence=LAST_SEQUENCE - 1))
    assert log.send(batch(1, pid=7, sequence=0)) == 2
    log.send(batch(1, pid=8, sequence=LAST_SEQUENCE - 1))
    wrapping = batch(4, pid=8, sequence=LAST_SEQUENCE)
    at = log.send(wrapping)
    assert log.send(wrapping) == at
    assert log.states.entries[8].last_sequence == 2


def test_a_new_epoch_starts_at_zero(log: Appender) -> None:
    log.send(batch(1, pid=7, epoch=1, sequence=0))
    log.refuses(OutOfOrderSequence, batch(1, pid=7, epoch=2, sequence=1))
    log.send(batch(1, pid=7, epoch=2, sequence=0))


def test_an_old_epoch_is_fenced_whatever_its_sequence(log: Appender) -> None:
    log.send(batch(1, pid=7, epoch=2, sequence=0))
    log.refuses(InvalidProducerEpoch, batch(1, pid=7, epoch=1, sequence=1))
    log.refuses(InvalidProducerEpoch, batch(1, pid=7, epoch=1, sequence=9))


def test_producers_do_not_disturb_each_other(log: Appender) -> None:
    for sequence in range(3):
        for pid in (1, 2):
            log.send(batch(1, pid=pid, sequence=sequence))
    assert log.end == 6


def test_an_open_transaction_holds_back_the_stable_offset_until_its_marker_is_replicated(
    log: Appender,
) -> None:
    log.send(batch(1))
    log.send(batch(2, pid=7, sequence=0, transactional=True))
    log.send(batch(1, pid=8, sequence=0, transactional=True))
    assert log.states.first_unstable_offset == 1
    log.send(marker(7, commit=True), origin=COORDINATOR)
    assert log.states.first_unstable_offset == 1
    log.states.on_high_watermark(4)
    assert log.states.first_unstable_offset == 1
    log.states.on_high_watermark(5)
    assert log.states.first_unstable_offset == 3
    log.send(marker(8, commit=False), origin=COORDINATOR)
    log.states.on_high_watermark(6)
    assert log.states.first_unstable_offset is None


def test_a_transaction_is_not_mixed_with_plain_batches(log: Appender) -> None:
    log.send(batch(1, pid=7, sequence=0, transactional=True))
    log.refuses(InvalidTxnState, batch(1, pid=7, sequence=1))


def test_a_marker_without_records_ends_nothing(log: Appender) -> None:
    log.send(marker(7, commit=False), origin=COORDINATOR)
    assert log.states.first_unstable_offset is None
    assert log.states.entries[7].coordinator_epoch == 0


def test_a_marker_of_a_replaced_coordinator_is_refused(log: Appender) -> None:
    log.send(marker(7, commit=True, coordinator_epoch=3), origin=COORDINATOR)
    log.refuses(TransactionCoordinatorFenced, marker(7, commit=True, coordinator_epoch=2), origin=COORDINATOR)


def test_with_transaction_version_two_a_marker_needs_its_own_epoch(log: Appender) -> None:
    log.send(batch(1, pid=7, epoch=1, sequence=0, transactional=True))
    log.refuses(InvalidProducerEpoch, marker(7, commit=True, epoch=1), origin=COORDINATOR, version=2)
    log.send(marker(7, commit=True, epoch=2), origin=COORDINATOR, version=2)
    log.send(marker(7, commit=True, epoch=2), origin=COORDINATOR, version=2)


def test_silent_producers_expire_unless_a_transaction_is_open(log: Appender) -> None:
    log.send(batch(1, pid=7, sequence=0))
    log.send(batch(1, pid=8, sequence=0, transactional=True))
    assert log.states.expire(NOW + 86_399_999) == 0
    assert log.states.expire(NOW + 86_400_000) == 1
    assert list(log.states.entries) == [8]


def test_a_snapshot_keeps_the_last_batch_of_each_producer(log: Appender) -> None:
    for sequence in range(3):
        log.send(batch(2, pid=7, sequence=2 * sequence))
    log.send(batch(1, pid=8, epoch=3, sequence=0, transactional=True))
    again = ProducerStates()
    again.load(decode_snapshot(encode_snapshot(log.states.entries.values())), log.end, NOW)
    assert summary(again) == summary(log.states)
    assert again.first_unstable_offset == 6
    assert list(again.entries[7].batches) == list(log.states.entries[7].batches)[-1:]


def test_a_snapshot_is_loaded_without_what_has_expired_since(log: Appender) -> None:
    log.send(batch(1, pid=7, sequence=0))
    again = ProducerStates()
    again.load(decode_snapshot(encode_snapshot(log.states.entries.values())), log.end, NOW + 86_400_000)
    assert again.is_empty


@pytest.mark.parametrize("path", sorted((GOLDEN / "log-dir").glob("*/*.snapshot")), ids=str)
def test_kafkas_snapshots_are_read_and_written_back(path: Path) -> None:
    data = path.read_bytes()
    assert encode_snapshot(decode_snapshot(data)) == data


@pytest.mark.parametrize("cut", [0, 1, 5, 9, 30, 55])
def test_a_torn_snapshot_is_refused(log: Appender, cut: int) -> None:
    log.send(batch(1, pid=7, sequence=0))
    data = encode_snapshot(log.states.entries.values())
    with pytest.raises(CorruptIndex):
        decode_snapshot(data[:cut])
    with pytest.raises(CorruptIndex):
        decode_snapshot(data[:cut] + bytes([data[cut] ^ 1]) + data[cut + 1 :])
