"""Variable-length integers as records use them: zig-zag, 7 bits a byte, least significant first.

`varint` is 32 bits in at most 5 bytes, `varlong` 64 bits in at most 10. Reading raises `CorruptMessage` for
a number that does not end, does not fit its width, or runs off the buffer.
"""

from barnabas.base.errors import CorruptMessage
from barnabas.records.batch import Buffer

MAX_UINT32 = (1 << 32) - 1
MAX_UINT64 = (1 << 64) - 1


def _encode(value: int) -> bytes:
    rest = (value << 1) ^ (value >> 63)
    out = bytearray()
    while rest > 0x7F:
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    out.append(rest)
    return bytes(out)


_SMALL = tuple(_encode(value) for value in range(1024))


def encode_varint(value: int) -> bytes:
    """The bytes of `value`, which must fit 64 bits with sign; 32-bit fields have the same bytes."""
    if 0 <= value < 1024:
        return _SMALL[value]
    if not -(1 << 63) <= value < 1 << 63:
        raise ValueError(f"{value} does not fit a 64-bit varint")
    return _encode(value)


def size_of_varint(value: int) -> int:
    return len(encode_varint(value))


def decode_unsigned(buffer: Buffer, position: int, widest: int) -> tuple[int, int]:
    """The raw number at `position` before the zig-zag is undone, at most `widest`, and where it ends."""
    value = shift = 0
    end = len(buffer)
    while position < end:
        byte = buffer[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            if value > widest:
                break
            return value, position
        shift += 7
        if shift > 63 or value > widest:
            break
    else:
        raise CorruptMessage("a variable-length number runs off its buffer")
    raise CorruptMessage("a variable-length number is too long")


def decode_varint(buffer: Buffer, position: int = 0) -> tuple[int, int]:
    """A 32-bit number at `position`, and the position after it."""
    raw, position = decode_unsigned(buffer, position, MAX_UINT32)
    return (raw >> 1) ^ -(raw & 1), position


def decode_varlong(buffer: Buffer, position: int = 0) -> tuple[int, int]:
    """A 64-bit number at `position`, and the position after it."""
    raw, position = decode_unsigned(buffer, position, MAX_UINT64)
    return (raw >> 1) ^ -(raw & 1), position
