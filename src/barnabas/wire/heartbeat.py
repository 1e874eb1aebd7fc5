"""Heartbeat, versions 0 to 4, by hand: thousands of members may send it. Tested equal to kio."""

import struct
from typing import NamedTuple

from barnabas.base.errors import ErrorCode, InvalidRequest
from barnabas.wire.header import skip_tags
from barnabas.wire.primitives import read_compact_text, read_legacy_text

API_KEY = 12
FIRST_WITH_THROTTLE = 1
FIRST_WITH_INSTANCE_ID = 3
FIRST_FLEXIBLE = 4

_INT32 = struct.Struct(">i")
_PLAIN = struct.Struct(">ih")
_THROTTLED = struct.Struct(">iih")
_FLEXIBLE = struct.Struct(">ixihx")


class HeartbeatRequest(NamedTuple):
    group_id: str
    generation_id: int
    member_id: str
    group_instance_id: str | None


def parse_heartbeat(version: int, frame: memoryview, position: int) -> HeartbeatRequest:
    """The request at `position`. Raises InvalidRequest."""
    data = bytes(frame)
    read_text = read_compact_text if version >= FIRST_FLEXIBLE else read_legacy_text
    try:
        group_id, position = read_text(data, position)
        (generation,) = _INT32.unpack_from(data, position)
        member_id, position = read_text(data, position + 4)
        instance_id: str | None = None
        if version >= FIRST_WITH_INSTANCE_ID:
            instance_id, position = read_text(data, position)
        if version >= FIRST_FLEXIBLE:
            skip_tags(frame, position)
        if group_id is None or member_id is None:
            raise IndexError("a name is missing")
    except (struct.error, IndexError, UnicodeDecodeError) as error:
        raise InvalidRequest(f"malformed Heartbeat request: {error}") from error
    return HeartbeatRequest(group_id, generation, member_id, instance_id)


def encode_heartbeat(version: int, correlation_id: int, error_code: ErrorCode) -> bytes:
    """Header and body of the response, without the length that frames it."""
    if version >= FIRST_FLEXIBLE:
        return _FLEXIBLE.pack(correlation_id, 0, error_code)
    if version >= FIRST_WITH_THROTTLE:
        return _THROTTLED.pack(correlation_id, 0, error_code)
    return _PLAIN.pack(correlation_id, error_code)
