"""Buffers for answers, used again as soon as nobody looks at them any more.

Fresh memory costs a page fault per 4 KiB, half as much time as receiving into it. Rows that were decoded
without a copy keep their buffer from being used again: a memoryview of it, or an Arrow array upon that, holds
a reference, and the number of references tells. Exact in CPython; where it is not, a buffer is only kept away
from reuse for longer.
"""

import sys

_MOST = 3
"""One is decoded, one is being received, one for a caller that lags behind."""
_GRAIN = 1 << 20
_SMALL = 1 << 16
_OURS = 3
"""References to a free buffer: the list, the loop's variable, and the argument of getrefcount."""


class ReceiveBuffers:
    def __init__(self) -> None:
        self._kept: list[bytearray] = []

    def take(self, size: int) -> memoryview:
        """A view of at least `size` bytes that nobody else has."""
        if size <= _SMALL:
            return memoryview(bytearray(size))
        for buffer in self._kept:
            if len(buffer) >= size and sys.getrefcount(buffer) == _OURS:
                return memoryview(buffer)
        new = bytearray(-(-size // _GRAIN) * _GRAIN)
        if len(self._kept) == _MOST:
            self._kept.pop(0)
        self._kept.append(new)
        return memoryview(new)
