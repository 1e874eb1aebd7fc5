"""Where a fetch goes on: the offset after the last whole batch of the records received."""

import struct

from barnabas.base.errors import CorruptMessage
from barnabas.records.batch import HEADER_SIZE, LOG_OVERHEAD

_FRONT = struct.Struct(">qi")
_LAST_DELTA = struct.Struct(">i")
_LAST_DELTA_OFFSET = 23
_MAGIC_OFFSET = 16


def offset_after(records: memoryview, offset: int) -> tuple[int, int]:
    """(the next offset to fetch, how many bytes are whole batches).

    `offset` itself if there is no whole batch. Formats older than v2, where an offset is the batch's last,
    are stepped over too: it is for the decoder to refuse them.
    """
    position, size = 0, len(records)
    while position + HEADER_SIZE <= size:
        base_offset, length = _FRONT.unpack_from(records, position)
        end = position + LOG_OVERHEAD + length
        if length <= 0:
            raise CorruptMessage(f"a batch at offset {base_offset} states a length of {length}")
        if end > size:
            break
        if records[position + _MAGIC_OFFSET] >= 2:
            base_offset += _LAST_DELTA.unpack_from(records, position + _LAST_DELTA_OFFSET)[0]
        offset = max(offset, base_offset + 1)
        position = end
    return offset, position
