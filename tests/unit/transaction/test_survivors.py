from pathlib import Path

import pytest
from tests.unit.storage.support import GOLDEN

from barnabas.base.errors import CorruptMessage, InvalidRecord
from barnabas.base.ids import TopicPartition
from barnabas.records.builder import build_batch
from barnabas.records.control import build_end_marker
from barnabas.records.record import Record
from barnabas.transaction.record_codec import encode_transaction_records
from barnabas.transaction.survivors import TransactionSurvivors
from barnabas.transaction.transaction import Transaction, TransactionState
from barnabas.transaction.transaction_record import TransactionRecord

NOW = 1_600_000_000_000
END = 2**62


class Replayed:
    def __init__(self) -> None:
        self.epochs: dict[str, int] = {}

    def replay(self, record: TransactionRecord) -> None:
        assert record.transaction is not None
        self.epochs[record.transactional_id] = record.transaction.producer_epoch


def transaction(name: str, epoch: int) -> TransactionRecord:
    state = TransactionState.ONGOING
    partitions = frozenset({TopicPartition("topic", 1)})
    value = Transaction(
        transactional_id=name,
        producer_id=7,
        producer_epoch=epoch,
        timeout_ms=1000,
        state=state,
        partitions=partitions,
        start_ms=NOW,
        update_ms=NOW,
    )
    return TransactionRecord(value, name)


def batch(base_offset: int, *records: TransactionRecord, compression: int = 0) -> bytes:
    entries = encode_transaction_records(records, version=1)
    return build_batch(
        [Record(0, NOW, key, value) for key, value in entries],
        base_offset=base_offset,
        compression=compression,
    )


def remaining(*batches: bytes) -> dict[str, int]:
    survivors, shard = TransactionSurvivors(), Replayed()
    survivors.feed(b"".join(batches), 0, END)
    for _ in survivors.replay_into(shard):
        pass
    assert len(survivors) == 0
    return shard.epochs


@pytest.mark.parametrize("compression", [0, 1])
def test_the_newest_record_of_an_id_counts(compression: int) -> None:
    first = batch(0, transaction("a", 0), transaction("b", 0), compression=compression)
    second = batch(2, transaction("a", 1), compression=compression)
    assert remaining(first, second) == {"a": 1, "b": 0}


def test_a_tombstone_removes_its_id() -> None:
    tombstone = batch(1, TransactionRecord(None, "a"))
    assert remaining(batch(0, transaction("a", 0)), tombstone) == {}
    assert remaining(batch(0, transaction("a", 0)), tombstone, batch(2, transaction("a", 3))) == {"a": 3}


def test_markers_and_unknown_keys_are_skipped(caplog: pytest.LogCaptureFixture) -> None:
    unknown = build_batch([Record(0, NOW, b"\x00\x63key", b"value")], base_offset=2)
    marker = build_end_marker(7, 0, True, 0, NOW, base_offset=1)
    assert remaining(batch(0, transaction("a", 0)), marker, unknown) == {"a": 0}
    assert "1 records with an unknown version" in caplog.text


def test_a_batch_that_is_cut_off_waits_for_the_next_chunk() -> None:
    first, second = batch(0, transaction("a", 0)), batch(1, transaction("b", 0))
    survivors = TransactionSurvivors()
    assert survivors.feed(first + second[:-1], 0, END) == 1
    assert survivors.feed(second, 1, END) == 2
    assert (len(survivors), survivors.record_count) == (2, 2)


def test_what_is_before_the_start_or_behind_the_end_does_not_count() -> None:
    batches = [batch(offset, transaction(name, 0)) for offset, name in enumerate("abc")]
    survivors = TransactionSurvivors()
    assert survivors.feed(b"".join(batches), 1, 2) == 2
    assert survivors.record_count == 1


def test_a_record_without_a_key_or_with_a_broken_value_fails_the_load() -> None:
    with pytest.raises(InvalidRecord, match="no key"):
        remaining(build_batch([Record(0, NOW, None, b"value")]))
    key = encode_transaction_records([transaction("a", 0)], version=1)[0][0]
    with pytest.raises(CorruptMessage, match="unreadable"):
        remaining(build_batch([Record(0, NOW, key, b"\x00\x01\x02")]))


def test_apache_kafkas_transaction_log_is_read() -> None:
    logs = [path for path in Path(GOLDEN).glob("log-dir/__transaction_state-*/*.log") if path.stat().st_size]
    assert logs
    found = {name for path in logs for name in remaining(path.read_bytes())}
    assert found
