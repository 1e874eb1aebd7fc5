"""The index of aborted transactions whose abort marker is in a segment.

Format: entries of 34 bytes, big-endian: int16 version (0), int64 producer id, first offset, last offset
(the marker's), last stable offset when the marker was written. Entries ascend by last offset. The file
exists only if there is an entry. An entry is written at once and synced with the segment; a segment that
was open in a crash gets its index rebuilt from the log and the producer state before it. After a clean stop
it is compared with what the stop noted (`index_sums`).
"""

import itertools
from bisect import bisect_left
from dataclasses import dataclass
from pathlib import Path
from struct import Struct

from barnabas.base.filesystem import FileSystem
from barnabas.storage import names
from barnabas.storage.index_errors import CorruptIndex

ENTRY = Struct(">hqqqq")
ENTRY_SIZE = ENTRY.size
VERSION = 0


@dataclass(frozen=True, slots=True)
class AbortedTxn:
    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


class TxnIndex:
    def __init__(self, directory: Path, base_offset: int, fs: FileSystem, *, exists: bool) -> None:
        self._directory: Path = directory
        self._base_offset: int = base_offset
        self._fs: FileSystem = fs
        self._entries: list[AbortedTxn] | None = None if exists else []
        self.is_synced: bool = True

    @property
    def path(self) -> Path:
        return self._directory / names.file_name(self._base_offset, names.TXN_INDEX)

    @property
    def entries(self) -> list[AbortedTxn]:
        if self._entries is None:
            self._entries = decode(self._fs.read_bytes(self.path))
        return self._entries

    def check(self) -> None:
        """Raise `CorruptIndex` unless every entry can belong to the segment."""
        previous = self._base_offset - 1
        for entry in self.entries:
            if entry.last_offset <= previous or not 0 <= entry.first_offset <= entry.last_offset:
                raise CorruptIndex(f"{entry} cannot follow offset {previous} in {self.path}")
            previous = entry.last_offset

    def append(self, entry: AbortedTxn) -> None:
        position = len(self.entries) * ENTRY_SIZE
        file = self._fs.open(self.path, create=True)
        file.write_at(position, [encode([entry])])
        self.is_synced = False
        self.entries.append(entry)

    def truncate_to(self, offset: int) -> None:
        """Keep the transactions that ended below `offset`."""
        kept = [entry for entry in self.entries if entry.last_offset < offset]
        if len(kept) < len(self.entries):
            file = self._fs.open(self.path)
            file.truncate(len(kept) * ENTRY_SIZE)
            file.sync()
            self._entries = kept

    def replace(self, entries: list[AbortedTxn]) -> None:
        """Set what recovery found, durably; a file that says the same is left as it is."""
        try:
            if self.entries == entries:
                self.is_synced = not entries  # the crash may have been quicker than the sync
                return
        except CorruptIndex:
            pass
        self._fs.write_atomically(self.path, encode(entries))
        self._entries = entries

    def collect(self, start: int, end: int) -> tuple[list[AbortedTxn], bool]:
        """Transactions that touch [start, end), and whether the search can end with this segment."""
        found: list[AbortedTxn] = []
        entries = self.entries
        first = bisect_left(entries, start, key=lambda entry: entry.last_offset)
        for entry in itertools.islice(entries, first, None):
            if entry.first_offset < end:
                found.append(entry)
            if entry.last_stable_offset >= end:
                return found, True
        return found, False


def encode(entries: list[AbortedTxn]) -> bytes:
    return b"".join(
        ENTRY.pack(VERSION, txn.producer_id, txn.first_offset, txn.last_offset, txn.last_stable_offset)
        for txn in entries
    )


def decode(data: bytes) -> list[AbortedTxn]:
    if len(data) % ENTRY_SIZE:
        raise CorruptIndex(f"{len(data)} bytes are no multiple of {ENTRY_SIZE}")
    entries = []
    for version, *fields in ENTRY.iter_unpack(data):
        if version > VERSION:
            raise CorruptIndex(f"entry version {version} is not known")
        entries.append(AbortedTxn(*fields))
    return entries
