"""The sparse index of a segment: offset -> position of a batch in the `.log` file.

Format: entries of 8 bytes, big-endian: int32 offset relative to the segment's base offset, int32 position.
The offset is the last one of the batch that starts at the position, so a reader begins at the entry before
the offset it wants. Both columns ascend.

In memory the columns are two arrays, which `bisect` searches without a line of Python. The file is written
when the segment is sealed or closed; a segment that was open in a crash gets its index rebuilt from the
log.
"""

import sys
from array import array
from bisect import bisect_left, bisect_right

from barnabas.storage.index_errors import CorruptIndex

ENTRY_SIZE = 8
_SWAP = sys.byteorder == "little"


class OffsetIndex:
    __slots__ = ("base_offset", "offsets", "positions")

    def __init__(self, base_offset: int) -> None:
        self.base_offset: int = base_offset
        self.offsets: array[int] = array("i")
        self.positions: array[int] = array("i")

    @classmethod
    def decode(cls, base_offset: int, data: bytes, log_size: int) -> "OffsetIndex":
        """Read an index file and check that it can belong to a log of `log_size` bytes."""
        if len(data) % ENTRY_SIZE:
            raise CorruptIndex(f"{len(data)} bytes are no multiple of {ENTRY_SIZE}")
        columns = array("i", data)
        if _SWAP:
            columns.byteswap()
        index = cls(base_offset)
        index.offsets, index.positions = columns[0::2], columns[1::2]
        if columns and not (0 <= columns[0] <= columns[-2] and 0 <= columns[1] <= columns[-1] < log_size):
            raise CorruptIndex(
                f"its last entry is {columns[-2]} -> {columns[-1]} in a log of {log_size} bytes"
            )
        return index

    def encode(self) -> bytes:
        columns = array("i", bytes(ENTRY_SIZE * len(self.offsets)))
        columns[0::2], columns[1::2] = self.offsets, self.positions
        if _SWAP:
            columns.byteswap()
        return columns.tobytes()

    def copy(self) -> "OffsetIndex":
        twin = OffsetIndex(self.base_offset)
        twin.offsets, twin.positions = self.offsets[:], self.positions[:]
        return twin

    def __len__(self) -> int:
        return len(self.offsets)

    def append(self, offset: int, position: int) -> None:
        self.offsets.append(offset - self.base_offset)
        self.positions.append(position)

    def lookup(self, offset: int) -> int:
        """Position from which a scan finds `offset`: the last indexed batch that ends at or before it."""
        slot = bisect_right(self.offsets, offset - self.base_offset)
        return self.positions[slot - 1] if slot else 0

    def boundary_before(self, position: int) -> int:
        """The largest known start of a batch at or before `position`."""
        slot = bisect_right(self.positions, position)
        return self.positions[slot - 1] if slot else 0

    def offset_from(self, position: int) -> int | None:
        """An offset that no batch before `position` has, from the first entry behind it; None without one."""
        slot = bisect_left(self.positions, position)
        return self.base_offset + self.offsets[slot] if slot < len(self.positions) else None

    @property
    def last_offset(self) -> int:
        return self.base_offset + (self.offsets[-1] if self.offsets else 0)

    @property
    def last_position(self) -> int:
        return self.positions[-1] if self.positions else 0

    def truncate_to(self, offset: int) -> None:
        """Keep the entries below `offset`."""
        keep = bisect_right(self.offsets, offset - self.base_offset - 1)
        del self.offsets[keep:]
        del self.positions[keep:]
