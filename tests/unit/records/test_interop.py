"""The same batches through the encoders and decoders of kafka-python and aiokafka."""

import warnings
from typing import Any

import pytest
from aiokafka.record.default_records import DefaultRecordBatch as AioBatch
from aiokafka.record.default_records import DefaultRecordBatchBuilder as AioBuilder
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies.records import CODECS, record_lists

from barnabas.records.batch import crc_is_valid, parse_header
from barnabas.records.builder import build_batch
from barnabas.records.compression import GZIP, NONE
from barnabas.records.record import Record, decode_records

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # kafka-python reads its schemas in an old way
    from kafka.record.default_records import DefaultRecordBatch as PyBatch
    from kafka.record.default_records import DefaultRecordBatchBuilder as PyBuilder

WITH_KAFKA_PYTHON = (NONE, GZIP)  # its other codecs want libraries of their own


def _read_by(batch: Any) -> list[Record]:
    assert batch.validate_crc()
    return [
        Record(record.offset, record.timestamp, record.key, record.value, tuple(map(tuple, record.headers)))
        for record in batch
    ]


def _built_by(builder: Any, records: list[Record]) -> bytes:
    for record in records:
        builder.append(record.offset, record.timestamp, record.key, record.value, list(record.headers))
    return bytes(builder.build())


def _builder(kind: Any, codec: int) -> Any:
    return kind(
        magic=2,
        compression_type=codec,
        is_transactional=True,
        producer_id=5,
        producer_epoch=6,
        base_sequence=7,
        batch_size=1 << 30,
    )


@given(st.sampled_from(WITH_KAFKA_PYTHON), record_lists())
def test_kafka_python_reads_ours_and_we_read_its(codec: int, records: list[Record]) -> None:
    assert _read_by(PyBatch(build_batch(records, compression=codec))) == records
    theirs = _built_by(_builder(PyBuilder, codec), records)
    assert crc_is_valid(theirs, 0, parse_header(theirs))
    assert decode_records(theirs) == records


@given(st.sampled_from(CODECS), record_lists())
def test_aiokafka_reads_ours_and_we_read_its(codec: int, records: list[Record]) -> None:
    assert _read_by(AioBatch(build_batch(records, compression=codec))) == records
    theirs = _built_by(_builder(AioBuilder, codec), records)
    assert crc_is_valid(theirs, 0, parse_header(theirs))
    assert decode_records(theirs) == records


@pytest.mark.parametrize("kind", [PyBuilder, AioBuilder])
def test_uncompressed_encodings_are_equal_bytes(kind: Any) -> None:
    records = [Record(0, 1000, None, b"v", (("h", None),)), Record(1, 900, b"k" * 70, None)]
    theirs = _built_by(_builder(kind, NONE), records)
    ours = build_batch(
        records,
        producer_id=5,
        producer_epoch=6,
        base_sequence=7,
        transactional=True,
        leader_epoch=parse_header(theirs).partition_leader_epoch,
    )
    assert ours == theirs
