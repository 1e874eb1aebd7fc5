"""Split a stream of bytes into length-prefixed frames. Does no I/O.

All connections share one receive buffer: the bytes of a read are consumed at once. A frame that is incomplete
at its end gets a buffer of its own, and the socket then writes directly into that buffer. While frames are
large, the four bytes of length are read alone, so that no byte of a frame is copied from the shared buffer.
An idle connection owns no buffer.
"""

import mmap
import struct
from typing import TypeAlias

from barnabas.network.request_memory import RequestMemory

_LENGTH = struct.Struct(">i")
LENGTH_SIZE = _LENGTH.size
# From this size on, an extra system call for the length is cheaper than copying the beginning of the frame.
LARGE_FRAME = 128 * 1024
_SPARE_LIMIT = 4 * 1024 * 1024
_SPARES = 4

Buffer: TypeAlias = bytearray | mmap.mmap
_NOTHING = memoryview(b"")


class BadFrame(Exception):
    """The peer does not speak this protocol, or exceeds a limit: close the connection."""


class FrameBuffers:
    """Buffers for incomplete frames. Large buffers are reused by other connections.

    A large buffer is mapped, not allocated: its pages take no memory before bytes arrive in them. A peer that
    announces a large frame and sends little takes address space only (a bytearray would be zeroed at once).
    """

    def __init__(self, memory: RequestMemory | None = None) -> None:
        self.memory: RequestMemory = memory or RequestMemory()
        self._spares: list[mmap.mmap] = []

    def take(self, size: int) -> Buffer:
        """Returns a buffer of at least `size` bytes. Raises BadFrame if the system has no memory for it."""
        if size < LARGE_FRAME:
            return bytearray(size)
        for number, spare in enumerate(self._spares):
            if len(spare) >= size:
                return self._spares.pop(number)
        try:
            return mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        except (OSError, MemoryError) as error:
            raise BadFrame(f"No memory for a frame of {size} bytes: {error}") from error

    def give_back(self, buffer: Buffer) -> None:
        """Return a buffer that is no longer in use."""
        if isinstance(buffer, mmap.mmap) and len(buffer) <= _SPARE_LIMIT and len(self._spares) < _SPARES:
            self._spares.append(buffer)


class FrameReader:
    """`feed` what was received, then take `next_frame` until it is None, then `detach`.

    A frame is a read-only view, valid until the next `feed` or `received`. A caller that needs its bytes for
    longer copies them. Frames not taken before `detach` are kept and can be taken later.
    """

    __slots__ = (
        "_buffers",
        "_end",
        "_filled",
        "_limit",
        "_position",
        "_size",
        "_taken",
        "_taken_size",
        "_torn",
        "_view",
        "expects_large",
    )

    def __init__(self, limit: int, buffers: FrameBuffers | None = None) -> None:
        self._limit: int = limit
        self._buffers: FrameBuffers = buffers or FrameBuffers()
        self._view: memoryview = _NOTHING
        self._position: int = 0
        self._end: int = 0
        self._torn: Buffer | None = None
        self._size: int = 0
        self._filled: int = 0
        self._taken: Buffer | None = None
        """The buffer of the last frame that was taken."""
        self._taken_size: int = 0
        self.expects_large: bool = False

    @property
    def target(self) -> memoryview | None:
        """The buffer for the next read while a frame is incomplete, else None."""
        if self._torn is None or self._filled == self._size:
            return None
        return memoryview(self._torn)[self._filled : self._size]

    @property
    def kept(self) -> int:
        """Received bytes that belong to no frame taken so far."""
        return self._end - self._position + self._filled

    def received(self, count: int) -> None:
        """Record that the socket wrote `count` bytes to `target`."""
        self._filled += count

    def feed(self, chunk: memoryview) -> None:
        if self._position < self._end:
            chunk = memoryview(bytes(self._view[self._position : self._end]) + bytes(chunk))
        self._view, self._position, self._end = chunk.toreadonly(), 0, len(chunk)

    def next_frame(self) -> memoryview | None:
        """Returns the next complete frame, without its length. Raises BadFrame."""
        if self._torn is not None:
            return self._take_completed()
        begin = self._position + LENGTH_SIZE
        if begin > self._end:
            return None
        (size,) = _LENGTH.unpack_from(self._view, self._position)
        if not 0 <= size <= self._limit:
            raise BadFrame(f"A frame of {size} bytes was announced; 0 to {self._limit} are allowed")
        end = begin + size
        if end > self._end:
            self._start_torn(begin, size)
            return None
        self._position = end
        return self._view[begin:end]

    def detach(self) -> None:
        """Release the shared buffer: the connection keeps a copy of the rest."""
        taken, self._taken = self._taken, None
        if taken is not None:
            self._buffers.give_back(taken)
            self._buffers.memory.free(self._taken_size)
        if self._position < self._end:
            rest = bytes(self._view[self._position : self._end])
            self._view, self._position, self._end = memoryview(rest), 0, len(rest)
        else:
            self._view, self._position, self._end = _NOTHING, 0, 0

    def discard(self) -> None:
        """Release the buffers: the connection is closed, and the rest of a frame will not arrive."""
        if self._torn is not None:
            self._torn = None
            self._buffers.memory.free(self._size)

    def _start_torn(self, begin: int, size: int) -> None:
        self._torn = self._buffers.take(size)
        self._buffers.memory.hold(size)
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
        self._torn, self._filled, self._taken, self._taken_size = None, 0, torn, self._size
        return frame
