"""The small files beside a segment: producer snapshots, indexes of aborted transactions, Raft snapshots.

A snapshot of a Raft log is named `<end offset>-<epoch>.checkpoint`, in 20 and 10 digits.
"""

import re

from crc32c import crc32c

from barnabas.cli.dump import Unreadable
from barnabas.cli.dump.segment_file import read_whole
from barnabas.storage.index_errors import CorruptIndex
from barnabas.storage.producer_entry import NO_OFFSET, ProducerEntry
from barnabas.storage.producer_snapshot import VERSION, decode_snapshot
from barnabas.storage.txn_index import ENTRY_SIZE, AbortedTxn
from barnabas.storage.txn_index import VERSION as TXN_VERSION
from barnabas.storage.txn_index import decode as decode_txns

_VERSION_SIZE = 2
_CRC = slice(2, 6)
_BODY = 6
RAFT_SNAPSHOT = ".checkpoint"
_RAFT_BOOTSTRAP = "bootstrap.checkpoint"
_RAFT_NAME = re.compile(r"(\d{20})-(\d{10})\.checkpoint")


class CorruptSnapshot(Exception):
    """The file is not a valid snapshot. The dump reports it on stderr and goes on."""


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
        # Ignore an entry that is not written completely.
        return decode_txns(data[: len(data) - len(data) % ENTRY_SIZE])
    except CorruptIndex as error:
        raise Unreadable(f"{path}: {error}") from None


def aborted_line(txn: AbortedTxn) -> str:
    return (
        f"version: {TXN_VERSION} producerId: {txn.producer_id} firstOffset: {txn.first_offset} "
        f"lastOffset: {txn.last_offset} lastStableOffset: {txn.last_stable_offset}"
    )


def raft_snapshot_line(path: str) -> str:
    name = path.rpartition("/")[2]
    if name == _RAFT_BOOTSTRAP:
        return "KRaft bootstrap snapshot"
    found = _RAFT_NAME.fullmatch(name)
    if found is None:
        raise Unreadable(f"{path} is not named like a snapshot, by end offset and epoch")
    return f"Snapshot end offset: {int(found[1])}, epoch: {int(found[2])}"
