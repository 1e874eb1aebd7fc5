"""Buffers for answers, used again as soon as no view of them is left.

Fresh memory costs a page fault per 4 KiB, half as much time as receiving into it. Rows that were decoded
without a copy keep their buffer from being used again: a memoryview of it, or a numpy or Arrow array upon
that, is an export in the sense of Python's buffer protocol, and a bytearray refuses to be resized while it
has one. This is a rule of the language. Reference counts are not: they differ between versions of CPython.
"""

_MOST = 3
"""One is decoded, one is being received, one for a caller that lags behind."""
_GRAIN = 1 << 20
_SMALL = 1 << 16


class ReceiveBuffers:
    def __init__(self) -> None:
        self._kept: list[bytearray] = []

    def take(self, size: int) -> memoryview:
        """A view of at least `size` bytes that no other view shares."""
        if size <= _SMALL:
            return memoryview(bytearray(size))
        for buffer in self._kept:
            if len(buffer) >= size and _is_free(buffer):
                return memoryview(buffer)
        new = bytearray(-(-size // _GRAIN) * _GRAIN)
        if len(self._kept) == _MOST:
            self._kept.pop(0)
        self._kept.append(new)
        return memoryview(new)


def _is_free(buffer: bytearray) -> bool:
    """Whether nothing exports the buffer. One byte less and one more move no memory."""
    try:
        buffer.pop()
    except BufferError:
        return False
    buffer.append(0)
    return True
