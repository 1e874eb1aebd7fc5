"""Cutting a stream of bytes into length-prefixed frames. No socket here.

One receive buffer is shared by all connections: what a read brought is consumed at once. A frame that is
torn at its end gets a buffer of exactly its own size, and the socket then writes straight into that. While
frames are large the four bytes of length are read alone, so that no byte of a frame lands in the shared
buffer first. An idle connection owns no buffer at all.
"""

import struct

_LENGTH = struct.Struct(">i")
LENGTH_SIZE = _LENGTH.size
# From here on an extra system call for the length is cheaper than copying the frame's beginning.
LARGE_FRAME = 128 * 1024
_SPARE_LIMIT = 4 * 1024 * 1024
_NOTHING = memoryview(b"")


class BadFrame(Exception):
    """The peer does not speak this protocol, or asks for more than is allowed: close the connection."""


class FrameReader:
    """`feed` what was received, then take `next_frame` until it is None, then `detach`.

    A frame is a read-only view, valid until the next `feed` or `received`: whoever needs its bytes for
    longer copies them. Frames not taken before `detach` are kept and can be taken later.
    """

    __slots__ = (
        "_end",
        "_filled",
        "_limit",
        "_position",
        "_size",
        "_spare",
        "_torn",
        "_view",
        "expects_large",
    )

    def __init__(self, limit: int) -> None:
        self._limit: int = limit
        self._view: memoryview = _NOTHING
        self._position: int = 0
        self._end: int = 0
        self._torn: bytearray | None = None
        self._size: int = 0
        self._filled: int = 0
        self._spare: bytearray | None = None
        self.expects_large: bool = False

    @property
    def target(self) -> memoryview | None:
        """Where the socket should write next while a torn frame is being completed, else None."""
        if self._torn is None or self._filled == self._size:
            return None
        return memoryview(self._torn)[self._filled : self._size]

    @property
    def kept(self) -> int:
        """Bytes received that no taken frame covers."""
        return self._end - self._position + self._filled

    def received(self, count: int) -> None:
        """The socket wrote `count` bytes to `target`."""
        self._filled += count

    def feed(self, chunk: memoryview) -> None:
        if self._position < self._end:
            chunk = memoryview(bytes(self._view[self._position : self._end]) + bytes(chunk))
        self._view, self._position, self._end = chunk.toreadonly(), 0, len(chunk)

    def next_frame(self) -> memoryview | None:
        """The next complete frame, without its length; raises BadFrame."""
        if self._torn is not None:
            return self._take_completed()
        begin = self._position + LENGTH_SIZE
        if begin > self._end:
            return None
        (size,) = _LENGTH.unpack_from(self._view, self._position)
        if not 0 <= size <= self._limit:
            raise BadFrame(f"a frame of {size} bytes was announced, allowed are 0 to {self._limit}")
        end = begin + size
        if end > self._end:
            self._start_torn(begin, size)
            return None
        self._position = end
        return self._view[begin:end]

    def detach(self) -> None:
        """Let go of the shared buffer: what is left of it becomes the connection's own."""
        if self._position < self._end:
            rest = bytes(self._view[self._position : self._end])
            self._view, self._position, self._end = memoryview(rest), 0, len(rest)
        else:
            self._view, self._position, self._end = _NOTHING, 0, 0

    def _start_torn(self, begin: int, size: int) -> None:
        # Zeroed pages cost nothing before they are written: a peer that announces much and sends
        # little takes address space, not memory.
        spare, self._spare = self._spare, None
        self._torn = spare if spare is not None and len(spare) >= size else bytearray(size)
        self._size, self._filled = size, self._end - begin
        self._torn[: self._filled] = self._view[begin : self._end]
        self._position = self._end
        self.expects_large = size >= LARGE_FRAME

    def _take_completed(self) -> memoryview | None:
        if self._filled < self._size:
            return None
        torn = self._torn
        assert torn is not None
        frame = memoryview(torn)[: self._size].toreadonly()
        self._torn, self._filled = None, 0
        # Fresh pages for every megabyte cost more than the copy they avoid: keep one buffer while
        # large frames keep coming.
        self._spare = torn if self.expects_large and len(torn) <= _SPARE_LIMIT else None
        return frame
