"""The primitives that records are made of, read with every length checked and written.

Strings and arrays have two forms: the classic one (int16 or int32 length, -1 for null) of keys and of old
versions, and the compact one (unsigned varint of length + 1, 0 for null) of flexible versions. No string is
longer than 32767 bytes in either.
"""

from collections.abc import Callable, Iterable, Sequence
from struct import Struct
from typing import TypeVar
from uuid import UUID

from barnabas.base.errors import CorruptMessage, InvalidRequest
from barnabas.wire.primitives import write_unsigned_varint

T = TypeVar("T")

INT8 = Struct(">b")
INT16 = Struct(">h")
INT32 = Struct(">i")
INT64 = Struct(">q")
LONGEST_STRING = 0x7FFF
NO_TAGS = b"\x00"
_UUID_SIZE = 16
_LONGEST_VARINT = 5


class FieldReader:
    """Walks through a buffer. Whatever is not there, or cannot be, raises `CorruptMessage`."""

    __slots__ = ("_buffer", "_position")

    def __init__(self, buffer: bytes, position: int = 0) -> None:
        self._buffer: bytes = buffer
        self._position: int = position

    @property
    def remaining(self) -> int:
        return len(self._buffer) - self._position

    def take(self, size: int) -> bytes:
        start = self._position
        end = start + size
        if size < 0 or end > len(self._buffer):
            raise CorruptMessage(f"a field of {size} bytes at {start} runs off its {len(self._buffer)} bytes")
        self._position = end
        return self._buffer[start:end]

    def int8(self) -> int:
        return int.from_bytes(self.take(1), "big", signed=True)

    def int16(self) -> int:
        return int.from_bytes(self.take(2), "big", signed=True)

    def int32(self) -> int:
        return int.from_bytes(self.take(4), "big", signed=True)

    def int64(self) -> int:
        return int.from_bytes(self.take(8), "big", signed=True)

    def uuid(self) -> UUID:
        return UUID(bytes=self.take(_UUID_SIZE))

    def unsigned_varint(self) -> int:
        value = 0
        for index in range(_LONGEST_VARINT):
            byte = self.take(1)[0]
            value |= (byte & 0x7F) << 7 * index
            if byte < 0x80:
                return value
        raise CorruptMessage("a varint is longer than five bytes")

    def version(self, newest: int) -> int:
        """The version in front of a value, which must be one that is known."""
        version = self.int16()
        if not 0 <= version <= newest:
            raise CorruptMessage(f"version {version} of a value is not known, 0 to {newest} are")
        return version

    def nullable_string(self, *, flexible: bool) -> str | None:
        length = self.unsigned_varint() - 1 if flexible else self.int16()
        if length < 0:
            return None
        if length > LONGEST_STRING:
            raise CorruptMessage(f"a string claims {length} bytes")
        return self.take(length).decode("utf-8", "replace")

    def string(self, *, flexible: bool = False) -> str:
        return _present(self.nullable_string(flexible=flexible))

    def bytes_field(self, *, flexible: bool) -> bytes:
        length = self.unsigned_varint() - 1 if flexible else self.int32()
        if length < 0:
            raise _is_null()
        return self.take(length)

    def array(self, element: Callable[["FieldReader"], T], *, flexible: bool) -> list[T]:
        count = self.unsigned_varint() - 1 if flexible else self.int32()
        if count < 0:
            raise _is_null()
        if count > self.remaining:
            raise CorruptMessage(f"an array claims {count} elements in {self.remaining} bytes")
        return [element(self) for _ in range(count)]

    def int32s(self, count: int) -> list[int]:
        return list(Struct(f">{count}i").unpack(self.take(count * INT32.size)))

    def tags(self) -> dict[int, "FieldReader"]:
        """The tagged fields at the end of a structure, each to be read on its own."""
        return {
            self.unsigned_varint(): FieldReader(self.take(self.unsigned_varint()))
            for _ in range(self.unsigned_varint())
        }


def _present(text: str | None) -> str:
    if text is None:
        raise _is_null()
    return text


def _is_null() -> CorruptMessage:
    return CorruptMessage("a field that cannot be null is")


def compact_text(reader: FieldReader) -> str:
    return reader.string(flexible=True)


def encode_key(record_type: int, *texts: str) -> bytes:
    return b"".join((INT16.pack(record_type), *map(classic_string, texts)))


def string_bytes(text: str) -> bytes:
    raw = text.encode()
    if len(raw) > LONGEST_STRING:
        raise InvalidRequest(f"a string of {len(raw)} bytes is too long, {LONGEST_STRING} are the most")
    return raw


def classic_string(text: str | None) -> bytes:
    if text is None:
        return b"\xff\xff"
    raw = string_bytes(text)
    return INT16.pack(len(raw)) + raw


def compact_string(text: str | None) -> bytes:
    return b"\x00" if text is None else compact_bytes(string_bytes(text))


def classic_bytes(raw: bytes) -> bytes:
    return INT32.pack(len(raw)) + raw


def compact_bytes(raw: bytes) -> bytes:
    return write_unsigned_varint(len(raw) + 1) + raw


def compact_array(elements: Sequence[bytes]) -> bytes:
    return write_unsigned_varint(len(elements) + 1) + b"".join(elements)


def compact_int32s(numbers: Sequence[int]) -> bytes:
    return write_unsigned_varint(len(numbers) + 1) + Struct(f">{len(numbers)}i").pack(*numbers)


def tagged_fields(fields: Iterable[tuple[int, bytes]]) -> bytes:
    """The tagged fields of a structure, in the ascending order of their tags."""
    parts: list[bytes] = []
    for tag, raw in fields:
        parts += (write_unsigned_varint(tag), write_unsigned_varint(len(raw)), raw)
    return write_unsigned_varint(len(parts) // 3) + b"".join(parts)
