"""The frame around a payload: a zero byte, the id of its schema in four bytes, and for Protobuf which
message.

A `.proto` text may define several messages. The frame names one by its index in the file, then in the message
around it, as zigzag varints behind their count; a count of zero stands for the first message.
"""

from barnabas.spark.registry.errors import BadRecord

_MAGIC = 0
_HEADER = 5


def schema_id(frame: bytes) -> int:
    """Raises BadRecord."""
    if len(frame) < _HEADER:
        raise BadRecord(f"{len(frame)} bytes are too few for a schema id: no record of a schema registry")
    if frame[0] != _MAGIC:
        raise BadRecord(f"the first byte is {frame[0]}, not 0: no record of a schema registry")
    return int.from_bytes(frame[1:_HEADER], "big")


def payload(frame: bytes) -> bytes:
    return frame[_HEADER:]


def message_index(content: bytes) -> tuple[tuple[int, ...], bytes]:
    """(the path to the message, the message). Raises BadRecord."""
    count, position = _varint(content, 0)
    if count == 0:
        return (0,), content[position:]
    if not 0 < count <= len(content):
        raise BadRecord(f"a path of {count} message indexes in {len(content)} bytes")
    path = []
    for _ in range(count):
        index, position = _varint(content, position)
        path.append(index)
    return tuple(path), content[position:]


def _varint(content: bytes, position: int) -> tuple[int, int]:
    """(the number, the position behind it); zigzag."""
    value = shift = 0
    while True:
        if position >= len(content) or shift > 28:
            raise BadRecord("the message index is cut off or no number")
        octet = content[position]
        position += 1
        value |= (octet & 0x7F) << shift
        if octet < 0x80:
            return (value >> 1) ^ -(value & 1), position
        shift += 7
