"""The time index of a segment: timestamp -> offset.

Format: entries of 12 bytes, big-endian: int64 timestamp, int32 offset relative to the segment's base
offset. An entry says that no batch up to the offset has a later timestamp than this; both columns ascend,
and an entry is written only if its timestamp is later than the one before. The last entry of a sealed
segment is its largest timestamp, by which retention judges it.
"""

from array import array
from bisect import bisect_right
from struct import Struct

from barnabas.storage.index_errors import CorruptIndex

ENTRY = Struct(">qi")
ENTRY_SIZE = ENTRY.size
NO_TIMESTAMP = -1


class TimeIndex:
    __slots__ = ("base_offset", "offsets", "timestamps")

    def __init__(self, base_offset: int) -> None:
        self.base_offset: int = base_offset
        self.timestamps: array[int] = array("q")
        self.offsets: array[int] = array("i")

    @classmethod
    def decode(cls, base_offset: int, data: bytes) -> "TimeIndex":
        if len(data) % ENTRY_SIZE:
            raise CorruptIndex(f"{len(data)} bytes are no multiple of {ENTRY_SIZE}")
        index = cls(base_offset)
        for timestamp, offset in ENTRY.iter_unpack(data):
            index.timestamps.append(timestamp)
            index.offsets.append(offset)
        if index.timestamps and not (
            index.timestamps[0] <= index.timestamps[-1] and 0 <= index.offsets[0] <= index.offsets[-1]
        ):
            raise CorruptIndex(f"its last entry is {index.timestamps[-1]} -> {index.offsets[-1]}")
        return index

    def encode(self) -> bytes:
        return b"".join(map(ENTRY.pack, self.timestamps, self.offsets))

    def copy(self) -> "TimeIndex":
        twin = TimeIndex(self.base_offset)
        twin.timestamps, twin.offsets = self.timestamps[:], self.offsets[:]
        return twin

    def __len__(self) -> int:
        return len(self.timestamps)

    def maybe_append(self, timestamp: int, offset: int) -> None:
        """Add an entry if `timestamp` is later than all before."""
        if timestamp > (self.timestamps[-1] if self.timestamps else NO_TIMESTAMP):
            self.timestamps.append(timestamp)
            self.offsets.append(offset - self.base_offset)

    def lookup(self, timestamp: int) -> int:
        """An offset before which every batch is older than `timestamp` (a scan starts there)."""
        slot = bisect_right(self.timestamps, timestamp)
        return self.base_offset + (self.offsets[slot - 1] if slot else 0)

    @property
    def last_entry(self) -> tuple[int, int]:
        """(timestamp, offset) of the last entry; (-1, base offset) of an empty index."""
        if not self.timestamps:
            return NO_TIMESTAMP, self.base_offset
        return self.timestamps[-1], self.base_offset + self.offsets[-1]

    def truncate_to(self, offset: int) -> None:
        """Keep the entries below `offset`."""
        keep = bisect_right(self.offsets, offset - self.base_offset - 1)
        del self.timestamps[keep:]
        del self.offsets[keep:]
