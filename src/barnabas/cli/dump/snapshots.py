"""The small binary files beside a segment: producer snapshots and indexes of aborted transactions."""

from crc32c import crc32c

from barnabas.cli.dump.segment_file import read_whole
from barnabas.cli.dump.unreadable import Unreadable
from barnabas.storage.index_errors import CorruptIndex
from barnabas.storage.producer_entry import NO_OFFSET, ProducerEntry
from barnabas.storage.producer_snapshot import VERSION, decode_snapshot
from barnabas.storage.txn_index import ENTRY_SIZE, AbortedTxn
from barnabas.storage.txn_index import VERSION as TXN_VERSION
from barnabas.storage.txn_index import decode as decode_txns

_VERSION_SIZE = 2
_CRC = slice(2, 6)
_BODY = 6


class CorruptSnapshot(Exception):
    """The file is no snapshot; told on stderr, and the dump goes on."""


def read_snapshot(path: str) -> list[ProducerEntry]:
    data = read_whole(path)
    try:
        return decode_snapshot(data)
    except CorruptIndex as error:
        version = int.from_bytes(data[:2], "big", signed=True)
        if len(data) >= _VERSION_SIZE and version != VERSION:
            raise CorruptSnapshot(
                f"Snapshot failed schema validation: Snapshot contained an unknown file version {version}"
            ) from None
        if len(data) >= _BODY:
            stated, computed = int.from_bytes(data[_CRC], "big"), crc32c(data[_BODY:])
            if stated != computed:
                raise CorruptSnapshot(
                    f"Snapshot is corrupt (CRC is no longer valid). Stored crc: {stated}. "
                    f"Computed crc: {computed}"
                ) from None
        raise CorruptSnapshot(f"Snapshot failed schema validation: {error}") from None


def producer_line(entry: ProducerEntry) -> str:
    first = entry.txn_first_offset
    transaction = "OptionalLong.empty" if first == NO_OFFSET else f"OptionalLong[{first}]"
    line = (
        f"producerId: {entry.producer_id} producerEpoch: {entry.epoch} "
        f"coordinatorEpoch: {entry.coordinator_epoch} currentTxnFirstOffset: {transaction} "
        f"lastTimestamp: {entry.last_timestamp}"
    )
    if entry.batches:
        batch = entry.batches[0]
        line += (
            f" firstSequence: {batch.first_sequence} lastSequence: {batch.last_sequence} "
            f"lastOffset: {batch.last_offset} offsetDelta: {batch.offset_delta} timestamp: {batch.timestamp}"
        )
    return line


def read_aborted(path: str) -> list[AbortedTxn]:
    data = read_whole(path)
    try:
        # An entry that is being written is not there yet.
        return decode_txns(data[: len(data) - len(data) % ENTRY_SIZE])
    except CorruptIndex as error:
        raise Unreadable(f"{path}: {error}") from None


def aborted_line(txn: AbortedTxn) -> str:
    return (
        f"version: {TXN_VERSION} producerId: {txn.producer_id} firstOffset: {txn.first_offset} "
        f"lastOffset: {txn.last_offset} lastStableOffset: {txn.last_stable_offset}"
    )
