"""Reads a response field by field, without a copy of the bytes that it carries."""

import struct
from uuid import UUID

from barnabas.base.errors import KafkaError
from barnabas.wire.header import skip_tags
from barnabas.wire.primitives import read_unsigned_varint

MALFORMED = (struct.error, IndexError, ValueError, KafkaError)
"""The errors of reading a response that ends too early or is not a response at all."""

_SHORT, _INT = struct.Struct(">h"), struct.Struct(">i")


class ResponseReader:
    """A position in a response. Its methods raise one of MALFORMED."""

    def __init__(self, response: memoryview, *, is_flexible: bool) -> None:
        self.response: memoryview = response
        self.position: int = 0
        self._is_flexible: bool = is_flexible

    def unpack(self, form: struct.Struct) -> tuple[int, ...]:
        values = form.unpack_from(self.response, self.position)
        self.position += form.size
        return values

    def count(self) -> int:
        """The length of an array; a null array is empty."""
        return max(self._length(_INT), 0)

    def raw(self) -> memoryview | None:
        """A field of bytes, as a view of the response."""
        return self._bytes(_INT)

    def text(self) -> str | None:
        found = self._bytes(_SHORT)
        return None if found is None else str(found, "utf-8", "replace")

    def uuid(self) -> UUID:
        end = self.position + 16
        found = UUID(bytes=bytes(self.response[self.position : end]))
        self.position = end
        return found

    def tagged(self) -> dict[int, memoryview]:
        """The tagged fields of a structure, undecoded; older versions have none."""
        if not self._is_flexible:
            return {}
        if self.response[self.position] == 0:
            self.position += 1
            return {}
        found = {}
        count, self.position = read_unsigned_varint(self.response, self.position)
        for _ in range(count):
            tag, self.position = read_unsigned_varint(self.response, self.position)
            size, start = read_unsigned_varint(self.response, self.position)
            self.position = start + size
            if self.position > len(self.response):
                raise ValueError("tagged fields reach past the end of a response")
            found[tag] = self.response[start : self.position]
        return found

    def tags(self) -> None:
        """Skip tagged fields; older versions have none."""
        if self._is_flexible:
            self.position = skip_tags(self.response, self.position)

    def _length(self, form: struct.Struct) -> int:
        if not self._is_flexible:
            return self.unpack(form)[0]
        value, self.position = read_unsigned_varint(self.response, self.position)
        return value - 1

    def _bytes(self, form: struct.Struct) -> memoryview | None:
        size = self._length(form)
        if size < 0:
            return None
        end = self.position + size
        if end > len(self.response):
            raise ValueError(f"a field ends at {end} in a response of {len(self.response)} bytes")
        found = self.response[self.position : end]
        self.position = end
        return found
