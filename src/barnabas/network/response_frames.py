"""Splits the bytes that another broker sends into responses. Does no I/O.

Small responses are received together into a staging buffer and copied from it. A large response is received
into a buffer of its own, which its consumer keeps as long as it refers to it. After a large response only the
length of the next one is read into the staging buffer, so that the records of a fetch are not copied.
"""

import struct

from barnabas.base.receive_buffers import ReceiveBuffers
from barnabas.network.framing import LARGE_FRAME, LENGTH_SIZE, BadFrame

_LENGTH = struct.Struct(">i")
_STAGING_SIZE = 64 * 1024
_SHORTEST = 4
"""A response has at least its correlation id."""


class ResponseFrames:
    def __init__(self, largest: int) -> None:
        self.largest: int = largest
        self._buffers: ReceiveBuffers = ReceiveBuffers()
        self._staging: memoryview = memoryview(bytearray(_STAGING_SIZE))
        self._staged: int = 0
        self._body: memoryview | None = None
        self._filled: int = 0
        self._expects_large: bool = False

    def get_buffer(self) -> memoryview:
        """Where the next bytes are to be received."""
        if self._body is not None:
            return self._body[self._filled :]
        end = LENGTH_SIZE if self._expects_large else _STAGING_SIZE
        return self._staging[self._staged : end]

    def received(self, count: int) -> list[memoryview]:
        """`count` bytes are in the buffer. Returns the responses that are whole now. Raises BadFrame."""
        if self._body is not None:
            self._filled += count
            if self._filled < len(self._body):
                return []
            whole, self._body = self._body, None
            return [whole]
        self._staged += count
        return self._split()

    def _split(self) -> list[memoryview]:
        found, position, staged = [], 0, self._staged
        while position + LENGTH_SIZE <= staged:
            (size,) = _LENGTH.unpack_from(self._staging, position)
            if not _SHORTEST <= size <= self.largest:
                raise BadFrame(
                    f"A response of {size} bytes was announced; at most {self.largest} are allowed"
                )
            position += LENGTH_SIZE
            self._expects_large = size >= LARGE_FRAME
            end = position + size
            if end > staged:
                self._start(size, self._staging[position:staged])
                position = staged
            else:
                found.append(memoryview(bytes(self._staging[position:end])))
                position = end
        rest = staged - position
        if position and rest:
            self._staging[:rest] = bytes(self._staging[position:staged])
        self._staged = rest
        return found

    def _start(self, size: int, beginning: memoryview) -> None:
        self._body = self._buffers.take(size)[:size]
        self._filled = len(beginning)
        self._body[: self._filled] = beginning
