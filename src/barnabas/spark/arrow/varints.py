"""Zig-zag varints at many positions at once.

`Windows` lays an 8-byte window over every byte of a buffer, without a copy. A varint is then a few operations
on 64-bit words for all positions together. A number that does not end within its window (the 9 and 10 bytes
of huge 64-bit numbers) is read alone, by `records.varint`. Positions may lie at or beyond the end of the
buffer: there are only zeros. The caller compares the positions after the numbers with the bounds it knows.
"""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from barnabas.records.batch import Buffer
from barnabas.records.varint import decode_varlong

Positions: TypeAlias = NDArray[np.int64]
Numbers: TypeAlias = NDArray[np.int64]

WINDOW = 8

_CONTINUES = np.uint64(0x8080808080808080)
_PAYLOAD = np.uint64(0x7F7F7F7F7F7F7F7F)
_FIRST_CONTINUES = np.uint64(0x80)
_FIRST_BYTE = np.uint64(0xFF)
_ONE, _TWO, _FOUR = np.uint64(1), np.uint64(2), np.uint64(4)
# Merging 7-bit groups: of bytes into 14 bits, of these into 28, of these into 56.
_EVEN_7, _ODD_7 = np.uint64(0x007F007F007F007F), np.uint64(0x7F007F007F007F00)
_EVEN_14, _ODD_14 = np.uint64(0x00003FFF00003FFF), np.uint64(0x3FFF00003FFF0000)
_EVEN_28, _ODD_28 = np.uint64(0x000000000FFFFFFF), np.uint64(0x0FFFFFFF00000000)


class Windows:
    """A buffer as bytes, and as the 8 bytes from each position on."""

    def __init__(self, work: Buffer) -> None:
        self.work: Buffer = work
        self.size: int = len(work)
        padded: Buffer = work if self.size >= WINDOW else bytes(work) + bytes(WINDOW - self.size)
        self.octets: NDArray[np.uint8] = np.frombuffer(padded, np.uint8)
        self._last: int = len(padded) - WINDOW
        self._words: NDArray[np.uint64] = np.ndarray((self._last + 1,), "<u8", padded, strides=(1,))

    def varints(self, positions: Positions) -> tuple[Numbers, Positions]:
        """The number at each position, and the position after it."""
        if len(positions) == 0:
            return np.empty(0, np.int64), positions
        words = self._at(positions)
        if not (words & _FIRST_CONTINUES).any():
            return _without_zigzag((words & _FIRST_BYTE).view(np.int64)), positions + 1
        stops = ~words & _CONTINUES
        # All bits up to the top of the byte that ends the number.
        mask = stops ^ (stops - _ONE)
        sizes = np.bitwise_count(mask).astype(np.int64) >> 3
        longest = int(sizes.max())
        words &= mask & _PAYLOAD
        words = (words & _EVEN_7) | ((words & _ODD_7) >> _ONE)
        if longest > 2:
            words = (words & _EVEN_14) | ((words & _ODD_14) >> _TWO)
            words = (words & _EVEN_28) | ((words & _ODD_28) >> _FOUR)
        numbers, after = _without_zigzag(words.view(np.int64)), positions + sizes
        if longest == WINDOW:
            self._read_alone(np.flatnonzero(stops == 0), positions, numbers, after)
        return numbers, after

    def _at(self, positions: Positions) -> NDArray[np.uint64]:
        """The words at these positions; what lies behind the buffer is zero."""
        if int(positions.max()) <= self._last:
            return self._words[positions]
        inside = np.minimum(positions, self._last)
        # A shift by 64 and more gives zero in numpy.
        return self._words[inside] >> ((positions - inside) << 3).astype(np.uint64)

    def _read_alone(self, rows: Positions, positions: Positions, numbers: Numbers, after: Positions) -> None:
        for row in rows.tolist():
            numbers[row], after[row] = decode_varlong(self.work, int(positions[row]))


def _without_zigzag(raw: NDArray[np.int64]) -> Numbers:
    """Undo the zig-zag of numbers that are below 2**56 before."""
    return (raw >> 1) ^ -(raw & 1)
