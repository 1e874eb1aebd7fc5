"""The content of any file of a log as rows: for the tables and the JSON lines of `barnabas log dump`."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from barnabas.cli.dump import Unreadable
from barnabas.cli.dump.batches import Batch, CurrentBatch
from barnabas.cli.dump.control_records import read_control
from barnabas.cli.dump.decoders import Decoder, decoder_of_topic
from barnabas.cli.dump.indexes import base_offset_of, read_offset_index, read_time_index
from barnabas.cli.dump.schema import Json
from barnabas.cli.dump.segment_file import SegmentFile, read_whole
from barnabas.cli.dump.snapshots import RAFT_SNAPSHOT, CorruptSnapshot, read_aborted, read_snapshot
from barnabas.records.record import Record
from barnabas.storage import names
from barnabas.storage.checkpoints import decode_lines

BATCH = (
    "offset",
    "last",
    "count",
    "position",
    "size",
    "timestamp",
    "codec",
    "producer",
    "epoch",
    "kind",
    "valid",
)
RECORD = ("offset", "timestamp", "key", "value", "headers")
_COLUMNS = {
    names.INDEX: ("offset", "position"),
    names.TIME_INDEX: ("timestamp", "offset"),
    names.SNAPSHOT: ("producer", "epoch", "sequence", "offset", "timestamp", "coordinator", "transaction"),
    names.TXN_INDEX: ("producer", "first", "last", "stable"),
    names.LEADER_EPOCHS: ("epoch", "offset"),
}


class Rows(NamedTuple):
    columns: tuple[str, ...]
    rows: Iterator[tuple[Json, ...]]


def rows_of(path: Path, *, with_records: bool, start: int) -> Rows:
    """The rows of `path`. For a segment its batches or records from offset `start` on."""
    if path.suffix in (names.LOG, RAFT_SNAPSHOT):
        if with_records:
            return Rows(RECORD, _records(path, start, _decoder(path)))
        return Rows(BATCH, _batches(path, start))
    kind = names.LEADER_EPOCHS if path.name == names.LEADER_EPOCHS else path.suffix
    if kind not in _COLUMNS:
        raise Unreadable(f"{path} is not a file of a log that can be shown")
    return Rows(_COLUMNS[kind], iter(_small_file(path, kind)))


def _decoder(path: Path) -> Decoder:
    parsed = names.parse_directory(path.absolute().parent.name)
    return decoder_of_topic(parsed.topic_partition.topic if parsed else "")


def _batches(path: Path, start: int) -> Iterator[tuple[Json, ...]]:
    with SegmentFile(str(path)) as file:
        for batch in file.batches():
            if batch.last_offset >= start:
                yield _batch_row(batch)


def _batch_row(batch: Batch) -> tuple[Json, ...]:
    if not isinstance(batch, CurrentBatch):
        return (
            batch.last_offset, batch.last_offset, None, batch.position, batch.size, batch.max_timestamp,
            batch.codec, None, None, f"v{batch.magic}", batch.is_valid,
        )  # fmt: skip
    header = batch.header
    kind = "control" if header.is_control else "transaction" if header.is_transactional else "data"
    return (
        header.base_offset, header.last_offset, header.record_count, batch.position, batch.size,
        header.max_timestamp, batch.codec, header.producer_id if header.has_producer_id else None,
        header.partition_leader_epoch, kind, batch.is_valid,
    )  # fmt: skip


def _records(path: Path, start: int, decoder: Decoder) -> Iterator[tuple[Json, ...]]:
    with SegmentFile(str(path)) as file:
        for batch in file.batches():
            if batch.last_offset < start:
                continue
            is_control = isinstance(batch, CurrentBatch) and batch.header.is_control
            for record in batch.records():
                if record.offset >= start:
                    yield _control_row(record) if is_control else _record_row(record, decoder)


def _control_row(record: Record) -> tuple[Json, ...]:
    return record.offset, record.timestamp, None, read_control(record).value, []


def _record_row(record: Record, decoder: Decoder) -> tuple[Json, ...]:
    decoded = decoder.decode(record)
    headers: list[Json] = [
        {"key": name, "value": None if value is None else value.decode("utf-8", "replace")}
        for name, value in record.headers
    ]
    return record.offset, record.timestamp, decoded.key, decoded.value, headers


def _small_file(path: Path, kind: str) -> list[tuple[Json, ...]]:
    text = str(path)
    match kind:
        case names.INDEX:
            return [*read_offset_index(text, base_offset_of(text)).entries]
        case names.TIME_INDEX:
            return [*read_time_index(text, base_offset_of(text)).entries]
        case names.TXN_INDEX:
            return [
                (txn.producer_id, txn.first_offset, txn.last_offset, txn.last_stable_offset)
                for txn in read_aborted(text)
            ]
        case names.LEADER_EPOCHS:
            return _epochs(path)
    try:
        entries = read_snapshot(text)
    except CorruptSnapshot as error:
        raise Unreadable(f"{path}: {error}") from None
    return [
        (
            entry.producer_id, entry.epoch, entry.last_sequence, entry.last_offset, entry.last_timestamp,
            entry.coordinator_epoch, None if entry.txn_first_offset < 0 else entry.txn_first_offset,
        )
        for entry in entries
    ]  # fmt: skip


def _epochs(path: Path) -> list[tuple[Json, ...]]:
    try:
        return [tuple(map(int, line.split())) for line in decode_lines(read_whole(str(path)), path)]
    except (OSError, ValueError) as error:
        raise Unreadable(f"{path}: {error}") from None


def in_blocks(rows: Iterator[tuple[Json, ...]], size: int) -> Iterator[list[tuple[Json, ...]]]:
    while block := list(islice(rows, size)):
        yield block
