"""Is a range of a file in the page cache? If not, let a thread read it before the loop sends it.

`RWF_NOWAIT` answers without touching the disk. Only the first and last page of a range are checked: a
range is what was appended in a row, so its pages come and go together. If the file system does not support
`RWF_NOWAIT`, the range counts as cached.
"""

import os
from collections.abc import Sequence

from barnabas.base.ranges import FileRange

_CHUNK = 1024 * 1024
_PROBE = [bytearray(1)]
_NOWAIT = getattr(os, "RWF_NOWAIT", None)


def is_cached(wanted: FileRange) -> bool:
    if _NOWAIT is None:
        return True
    try:
        os.preadv(wanted.file.fd, _PROBE, wanted.position, _NOWAIT)
        os.preadv(wanted.file.fd, _PROBE, wanted.position + wanted.size - 1, _NOWAIT)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True


def read_cached(wanted: FileRange) -> bytearray | None:
    """The bytes of a range if they are in the page cache, in one call; None if they are not, or not all."""
    if _NOWAIT is None:
        return None
    buffer = bytearray(wanted.size)
    try:
        count = os.preadv(wanted.file.fd, [buffer], wanted.position, _NOWAIT)
    except OSError:
        return None
    return buffer if count == wanted.size else None


def warm(ranges: Sequence[FileRange]) -> None:
    """Bring ranges into the page cache. Blocks: for threads."""
    buffer = [memoryview(bytearray(_CHUNK))]
    for wanted in ranges:
        position, end = wanted.position, wanted.position + wanted.size
        while position < end:
            count = os.preadv(wanted.file.fd, buffer, position)
            if count == 0:
                return
            position += count
