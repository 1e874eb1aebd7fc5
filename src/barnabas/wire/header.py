"""The header every request starts with: API key, version, correlation id, client id, tags.

Version 0 of the header (key, version, correlation id alone) belongs to ControlledShutdown v0, which is
not served; every other request has a client id, and flexible versions have a section of tags after it.
"""

import struct
from typing import NamedTuple

from barnabas.base.errors import InvalidRequest
from barnabas.wire.primitives import read_unsigned_varint

_FIXED = struct.Struct(">hhih")
PEEK = struct.Struct(">hhi")
FIXED_SIZE = _FIXED.size


class RequestHeader(NamedTuple):
    api_key: int
    version: int
    correlation_id: int
    end: int
    """Where the client id ends: tags, if the version has them, and then the body."""


def parse_header(frame: memoryview) -> RequestHeader:
    """Read the header of a frame (without its length); raises InvalidRequest when it is torn."""
    if len(frame) < FIXED_SIZE:
        raise InvalidRequest(f"request of {len(frame)} bytes is shorter than a request header")
    api_key, version, correlation_id, size = _FIXED.unpack_from(frame)
    end = FIXED_SIZE + size if size > 0 else FIXED_SIZE
    if end > len(frame):
        raise InvalidRequest("client id reaches past the end of the request")
    return RequestHeader(api_key, version, correlation_id, end)


def client_id_of(frame: memoryview) -> str | None:
    """The client id of a frame whose header was read; the hot requests have no use for it."""
    size = _FIXED.unpack_from(frame)[3]
    if size < 0:
        return None
    try:
        return str(frame[FIXED_SIZE : FIXED_SIZE + size], "utf-8")
    except UnicodeDecodeError as error:
        raise InvalidRequest("client id is not UTF-8") from error


def skip_tags(frame: memoryview, position: int) -> int:
    """The position after a section of tagged fields, whatever they hold."""
    try:
        if frame[position] == 0:
            return position + 1
        count, position = read_unsigned_varint(frame, position)
        for _ in range(count):
            _, position = read_unsigned_varint(frame, position)
            size, position = read_unsigned_varint(frame, position)
            position += size
            if position > len(frame):
                raise IndexError
    except IndexError:
        raise InvalidRequest("tagged fields reach past the end of the request") from None
    return position
