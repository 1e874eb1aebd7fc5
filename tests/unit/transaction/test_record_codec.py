"""The `__transaction_state` of Apache Kafka 4.3: its bytes, and what its own dump tool prints of them."""

import json
import re
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given

from barnabas.base.errors import CorruptMessage
from barnabas.base.ids import TopicPartition
from barnabas.records.batch import iter_headers
from barnabas.records.record import Record, decode_records
from barnabas.transaction.record_codec import (
    decode_transaction_record,
    encode_transaction_records,
)
from barnabas.transaction.transaction import Transaction, TransactionState
from barnabas.transaction.transaction_record import TransactionRecord

GOLDEN = Path(__file__).parents[2] / "golden" / "apache-kafka-4.3"
NAME = "00000000000000000000.log"
PRINTED = re.compile(r"^\| offset: \d+ .* key: (\{.*\}) payload: (.*)$")

EPOCHS = st.integers(-1, 0x7FFF)
IDS = st.integers(-1, 2**63 - 1)
TIMES = st.integers(-1, 2**53)
PARTITIONS = st.frozensets(
    st.builds(TopicPartition, st.sampled_from(["a", "b", "ü"]), st.integers(0, 2**31 - 1)), max_size=6
)


@st.composite
def transactions(draw: st.DrawFn) -> Transaction:
    state = draw(st.sampled_from(list(TransactionState)[:6]))
    return Transaction(
        transactional_id=draw(st.text(max_size=20).filter(lambda text: text.isprintable())),
        producer_id=draw(IDS),
        producer_epoch=draw(EPOCHS),
        timeout_ms=draw(st.integers(0, 2**31 - 1)),
        state=state,
        partitions=frozenset() if state is TransactionState.EMPTY else draw(PARTITIONS),
        previous_producer_id=draw(IDS),
        next_producer_id=draw(IDS),
        next_producer_epoch=draw(EPOCHS),
        start_ms=draw(TIMES),
        update_ms=draw(TIMES),
        client_version=draw(st.integers(0, 2)),
    )


def golden_records() -> list[Record]:
    log = (GOLDEN / "log-dir" / "__transaction_state-0" / NAME).read_bytes()
    return [
        record
        for position, header in iter_headers(log)
        for record in decode_records(log[position : position + header.size])
    ]


def decoded(record: Record) -> TransactionRecord:
    assert record.key is not None
    found = decode_transaction_record(record.key, record.value)
    assert found is not None
    return found


def test_kafkas_bytes_are_written_again() -> None:
    records = golden_records()
    assert len(records) == 13
    for record in records:
        assert encode_transaction_records([decoded(record)], version=1) == [(record.key, record.value)]


def test_records_are_read_as_kafka_prints_them() -> None:
    lines = (GOLDEN / "dumps" / f"__transaction_state-0_{NAME}.txt").read_text().splitlines()
    printed = [found.groups() for found in map(PRINTED.match, lines) if found is not None]
    records = [decoded(record) for record in golden_records()]
    assert len(printed) == len(records)
    for (key, payload), record in zip(printed, records, strict=True):
        assert json.loads(key)["data"] == {"transactionalId": record.transactional_id}
        assert record.transaction is not None
        assert json.loads(payload)["data"] == as_printed(record.transaction)


def as_printed(transaction: Transaction) -> dict[str, Any]:
    is_empty = transaction.state is TransactionState.EMPTY
    by_topic: dict[str, list[int]] = {}
    for topic, partition in sorted(transaction.partitions):
        by_topic.setdefault(topic, []).append(partition)
    return {
        "producerId": transaction.producer_id,
        "previousProducerId": transaction.previous_producer_id,
        "producerEpoch": transaction.producer_epoch,
        "transactionTimeoutMs": transaction.timeout_ms,
        "transactionStatus": int(transaction.state),
        "transactionPartitions": None
        if is_empty
        else [{"topic": topic, "partitionIds": ids} for topic, ids in by_topic.items()],
        "transactionLastUpdateTimestampMs": transaction.update_ms,
        "transactionStartTimestampMs": transaction.start_ms,
    }


@given(transactions())
def test_what_is_written_is_read(transaction: Transaction) -> None:
    record = TransactionRecord(transaction, transaction.transactional_id)
    [(key, value)] = encode_transaction_records([record], version=1)
    assert decode_transaction_record(key, value) == record


@given(transactions())
def test_the_first_version_has_no_fields_for_later_additions(transaction: Transaction) -> None:
    [(key, value)] = encode_transaction_records(
        [TransactionRecord(transaction, transaction.transactional_id)], version=0
    )
    found = decode_transaction_record(key, value)
    assert found is not None
    assert found.transaction is not None
    read = found.transaction
    assert (read.producer_id, read.producer_epoch) == (transaction.producer_id, transaction.producer_epoch)
    assert (read.state, read.partitions) == (transaction.state, transaction.partitions)
    assert (read.previous_producer_id, read.next_producer_id, read.client_version) == (-1, -1, 0)


def test_the_bytes_of_the_first_version() -> None:
    transaction = Transaction(
        transactional_id="t",
        producer_id=5,
        producer_epoch=3,
        timeout_ms=1,
        state=TransactionState.ONGOING,
        partitions=frozenset({TopicPartition("a", 2), TopicPartition("a", 1)}),
        start_ms=7,
        update_ms=8,
    )
    [(key, value)] = encode_transaction_records([TransactionRecord(transaction, "t")], version=0)
    assert key == bytes.fromhex("0000000174")
    assert value == bytes.fromhex(
        "0000 0000000000000005 0003 00000001 01"
        "00000001 0001 61 00000002 00000001 00000002"
        "0000000000000008 0000000000000007"
    )


def test_the_tags_of_two_phase_commit_are_kafkas() -> None:
    transaction = Transaction(
        transactional_id="t",
        producer_id=5,
        producer_epoch=3,
        timeout_ms=1,
        next_producer_id=6,
        next_producer_epoch=0,
        client_version=2,
    )
    [(_, value)] = encode_transaction_records([TransactionRecord(transaction, "t")], version=1)
    assert value is not None
    assert value.endswith(bytes.fromhex("03010800000000000000060202000203020000"))


def test_a_tombstone_has_no_value() -> None:
    [(key, value)] = encode_transaction_records([TransactionRecord(None, "deleted")], version=1)
    assert value is None
    assert decode_transaction_record(key, None) == TransactionRecord(None, "deleted")


@pytest.mark.parametrize(("key", "value"), [("0001000174", "00"), ("0000000174", "0002")])
def test_what_a_later_version_wrote_is_skipped(key: str, value: str) -> None:
    assert decode_transaction_record(bytes.fromhex(key), bytes.fromhex(value)) is None


def test_a_cut_or_wrong_value_is_corrupt() -> None:
    record = golden_records()[1]
    assert record.key is not None
    assert record.value is not None
    for size in range(len(record.value)):
        with pytest.raises(CorruptMessage):
            decode_transaction_record(record.key, record.value[:size])
    wrong_state = record.value[:16] + b"\x63" + record.value[17:]
    with pytest.raises(CorruptMessage):
        decode_transaction_record(record.key, wrong_state)
