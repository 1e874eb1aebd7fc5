"""The few primitives that are read and written by hand: varints, strings, leader hints."""

import struct
from typing import NamedTuple

from barnabas.base.errors import InvalidRequest

INT16 = struct.Struct(">h")
INT32 = struct.Struct(">i")


class LeaderHint(NamedTuple):
    leader_id: int
    leader_epoch: int


class NodeEndpoint(NamedTuple):
    node_id: int
    host: str
    port: int
    rack: str | None


def read_unsigned_varint(frame: memoryview | bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = frame[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7
        if shift > 28:
            raise InvalidRequest("a varint of the request is longer than five bytes")


def read_compact_text(frame: bytes, position: int) -> tuple[str | None, int]:
    """A nullable string of a flexible version. Raises IndexError or UnicodeDecodeError."""
    size = frame[position]
    position += 1
    if size > 0x7F:
        size, position = read_unsigned_varint(frame, position - 1)
    if size == 0:
        return None, position
    end = position + size - 1
    if end > len(frame):
        raise IndexError("a string reaches past the end of the request")
    return frame[position:end].decode(), end


def read_legacy_text(frame: bytes, position: int) -> tuple[str | None, int]:
    """A nullable string of a version that is not flexible. Raises struct.error or the same."""
    (size,) = INT16.unpack_from(frame, position)
    position += 2
    if size < 0:
        return None, position
    end = position + size
    if end > len(frame):
        raise IndexError("a string reaches past the end of the request")
    return frame[position:end].decode(), end


_ONE_BYTE = tuple(bytes((value,)) for value in range(0x80))


def write_unsigned_varint(value: int) -> bytes:
    if value < 0x80:
        return _ONE_BYTE[value]
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def endpoint_tags(endpoints: tuple[NodeEndpoint, ...]) -> bytes:
    if not endpoints:
        return b"\x00"
    parts = [write_unsigned_varint(len(endpoints) + 1)]
    for node_id, host, port, rack in endpoints:
        parts.append(INT32.pack(node_id) + compact_string(host) + INT32.pack(port))
        parts.append(compact_string(rack) + b"\x00")
    value = b"".join(parts)
    return b"\x01\x00" + write_unsigned_varint(len(value)) + value


def compact_string(text: str | None) -> bytes:
    if text is None:
        return b"\x00"
    raw = text.encode()
    return write_unsigned_varint(len(raw) + 1) + raw


def legacy_string(text: str | None) -> bytes:
    if text is None:
        return b"\xff\xff"
    raw = text.encode()
    return INT16.pack(len(raw)) + raw


def leader_tag(tag: int, leader: LeaderHint) -> bytes:
    """KIP-951: the current leader as a tagged struct of nine bytes (id, epoch, no tags of its own)."""
    return struct.pack(">bbiib", tag, 9, leader.leader_id, leader.leader_epoch, 0)
