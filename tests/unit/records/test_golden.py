"""Apache Kafka's own files against what its dump tool printed of them."""

import re
import struct
from pathlib import Path

import pytest

from barnabas.records.batch import HEADER_SIZE, BatchHeader, crc_is_valid, iter_headers
from barnabas.records.builder import assemble, build_batch
from barnabas.records.compression import CODEC_NAMES, LZ4, NONE
from barnabas.records.control import build_end_marker
from barnabas.records.record import Record, decode_records, iter_record_keys, record_offsets_and_timestamps

GOLDEN = Path(__file__).parents[2] / "golden" / "apache-kafka-4.3"
LOGS = sorted(GOLDEN.glob("log-dir/*/*.log"))
PRINTED_AS_BYTES = ("plain-", "codecs-", "txn-", "compact-", "appendtime-")


def _name(path: Path) -> str:
    return f"{path.parent.name}_{path.name}"


def _batches(path: Path) -> list[tuple[BatchHeader, bytes]]:
    data = path.read_bytes()
    return [(header, data[position : position + header.size]) for position, header in iter_headers(data)]


def _batch_line(position: int, header: BatchHeader, *, valid: bool) -> str:
    horizon = f"[{header.base_timestamp}]" if header.has_delete_horizon else ".empty"
    return (
        f"baseOffset: {header.base_offset} lastOffset: {header.last_offset} count: {header.record_count} "
        f"baseSequence: {header.base_sequence} lastSequence: {header.last_sequence} "
        f"producerId: {header.producer_id} producerEpoch: {header.producer_epoch} "
        f"partitionLeaderEpoch: {header.partition_leader_epoch} "
        f"isTransactional: {str(header.is_transactional).lower()} "
        f"isControl: {str(header.is_control).lower()} "
        f"deleteHorizonMs: OptionalLong{horizon} position: {position} "
        f"{('CreateTime', 'LogAppendTime')[header.timestamp_type]}: {header.max_timestamp} "
        f"size: {header.size} magic: {header.magic} compresscodec: {CODEC_NAMES[header.compression]} "
        f"crc: {header.crc} isvalid: {str(valid).lower()}"
    )


def _record_line(header: BatchHeader, record: Record) -> str:
    sequence = header.base_sequence + record.offset - header.base_offset if header.base_sequence >= 0 else -1
    line = (
        f"| offset: {record.offset} "
        f"{('CreateTime', 'LogAppendTime')[header.timestamp_type]}: {record.timestamp} "
        f"keySize: {-1 if record.key is None else len(record.key)} "
        f"valueSize: {-1 if record.value is None else len(record.value)} "
        f"sequence: {sequence} headerKeys: [{','.join(name for name, _ in record.headers)}]"
    )
    if header.is_control:
        assert record.key is not None
        assert record.value is not None
        _, kind = struct.unpack(">hh", record.key)
        _, epoch = struct.unpack(">hi", record.value)
        return f"{line} endTxnMarker: {('ABORT', 'COMMIT')[kind]} coordinatorEpoch: {epoch}"
    if record.key is not None:
        line += f" key: {record.key.decode()}"
    if record.value is not None:
        line += f" payload: {record.value.decode()}"
    return line


def test_the_golden_logs_are_there() -> None:
    assert {path.parent.name for path in LOGS} >= {f"codecs-{codec}" for codec in range(5)} | {
        "plain-0",
        "txn-0",
    }


@pytest.mark.parametrize("path", LOGS, ids=_name)
def test_headers_read_as_the_dump_tool_prints_them(path: Path) -> None:
    dump = (GOLDEN / "dumps" / f"{_name(path)}.txt").read_text().splitlines()
    data = path.read_bytes()
    read = [
        _batch_line(at, header, valid=crc_is_valid(data, at, header)) for at, header in iter_headers(data)
    ]
    assert read == [line for line in dump if line.startswith("baseOffset:")]


@pytest.mark.parametrize(
    "path", [path for path in LOGS if _name(path).startswith(PRINTED_AS_BYTES)], ids=_name
)
def test_records_read_as_the_dump_tool_prints_them(path: Path) -> None:
    dump = (GOLDEN / "dumps" / f"{_name(path)}.txt").read_text().splitlines()
    read = [
        _record_line(header, record) for header, batch in _batches(path) for record in decode_records(batch)
    ]
    assert read == [line for line in dump if line.startswith("|")]


@pytest.mark.parametrize("path", LOGS, ids=_name)
def test_keys_and_timestamps_alone_equal_those_of_the_decoded_records(path: Path) -> None:
    for _, batch in _batches(path):
        records = decode_records(batch)
        assert list(iter_record_keys(batch)) == [(record.offset, record.key) for record in records]
        assert record_offsets_and_timestamps(batch) == [
            (record.offset, record.timestamp) for record in records
        ]


@pytest.mark.parametrize("path", LOGS, ids=_name)
def test_kafkas_uncompressed_batches_are_rebuilt_byte_for_byte(path: Path) -> None:
    for header, batch in _batches(path):
        if header.compression != NONE or header.timestamp_type or _is_cleaned(header):
            continue
        rebuilt = build_batch(
            decode_records(batch),
            base_offset=header.base_offset,
            producer_id=header.producer_id,
            producer_epoch=header.producer_epoch,
            base_sequence=header.base_sequence,
            leader_epoch=header.partition_leader_epoch,
            transactional=header.is_transactional,
            control=header.is_control,
            keep_offsets=True,
        )
        assert rebuilt == batch
        assert assemble(header._replace(crc=0, batch_length=0), batch[HEADER_SIZE:]) == batch


def test_kafkas_transaction_markers_are_built_byte_for_byte() -> None:
    markers = [(header, batch) for path in LOGS for header, batch in _batches(path) if header.is_control]
    assert len(markers) >= 4
    for header, batch in markers:
        (record,) = decode_records(batch)
        built = build_end_marker(
            is_commit=record.key == struct.pack(">hh", 0, 1),
            producer_id=header.producer_id,
            producer_epoch=header.producer_epoch,
            timestamp=record.timestamp,
            coordinator_epoch=struct.unpack(">hi", record.value or b"")[1],
            base_offset=header.base_offset,
            leader_epoch=header.partition_leader_epoch,
        )
        assert built == batch


def test_our_lz4_frame_starts_as_the_stored_one() -> None:
    (header, batch), *_ = _batches(GOLDEN / "log-dir" / "codecs-3" / "00000000000000000000.log")
    assert header.compression == LZ4
    ours = build_batch(decode_records(batch), compression=LZ4)
    assert ours[HEADER_SIZE : HEADER_SIZE + 7] == batch[HEADER_SIZE : HEADER_SIZE + 7]


def _is_cleaned(header: BatchHeader) -> bool:
    return header.has_delete_horizon or header.record_count != header.last_offset_delta + 1


def test_a_compacted_batch_keeps_offsets_beyond_its_records() -> None:
    dump = (GOLDEN / "dumps" / "compact-0_00000000000000000000.log.txt").read_text()
    assert re.search(r"baseOffset: 80 lastOffset: 119 count: 10 ", dump)
    (header, batch), *_ = _batches(GOLDEN / "log-dir" / "compact-0" / "00000000000000000000.log")
    assert header.last_offset == 119
    assert decode_records(batch)[0].offset == 110
