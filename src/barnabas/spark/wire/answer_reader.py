"""Reading the answers to Fetch and Produce field by field, without a copy of what they carry."""

import struct

from barnabas.base.errors import KafkaError
from barnabas.wire.header import skip_tags
from barnabas.wire.primitives import read_unsigned_varint

MALFORMED = (struct.error, IndexError, ValueError, KafkaError)
"""What reading raises where an answer ends too early or is none at all."""

_SHORT, _INT = struct.Struct(">h"), struct.Struct(">i")


class AnswerReader:
    """A position in an answer. Its methods raise one of MALFORMED."""

    def __init__(self, answer: memoryview, *, is_flexible: bool) -> None:
        self.answer: memoryview = answer
        self.position: int = 0
        self._is_flexible: bool = is_flexible

    def unpack(self, form: struct.Struct) -> tuple[int, ...]:
        values = form.unpack_from(self.answer, self.position)
        self.position += form.size
        return values

    def count(self) -> int:
        """Of an array; a null one is empty."""
        return max(self._length(_INT), 0)

    def raw(self) -> memoryview | None:
        """Bytes as they lie there."""
        return self._bytes(_INT)

    def text(self) -> str | None:
        found = self._bytes(_SHORT)
        return None if found is None else str(found, "utf-8", "replace")

    def tags(self) -> None:
        """Skip tagged fields; older versions have none."""
        if self._is_flexible:
            self.position = skip_tags(self.answer, self.position)

    def _length(self, form: struct.Struct) -> int:
        if not self._is_flexible:
            return self.unpack(form)[0]
        value, self.position = read_unsigned_varint(self.answer, self.position)
        return value - 1

    def _bytes(self, form: struct.Struct) -> memoryview | None:
        size = self._length(form)
        if size < 0:
            return None
        end = self.position + size
        if end > len(self.answer):
            raise ValueError(f"a field ends at {end} in an answer of {len(self.answer)} bytes")
        found = self.answer[self.position : end]
        self.position = end
        return found
