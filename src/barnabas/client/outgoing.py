"""Sending a frame that lies in several buffers, without joining them."""

import socket
import time
from collections.abc import Sequence
from typing import TypeAlias

Buffer: TypeAlias = bytes | bytearray | memoryview

_MOST_PARTS = 512
"""Half of what Linux takes in one call (IOV_MAX)."""


def send_parts(target: socket.socket, parts: Sequence[Buffer], deadline: float) -> None:
    """All of them. Raises TimeoutError where the peer does not read for so long, and OSError."""
    left = [view for part in parts if len(view := memoryview(part).cast("B"))]
    first = 0
    while first < len(left):
        remaining = deadline - time.monotonic()
        if remaining <= 0:
            raise TimeoutError
        target.settimeout(remaining)
        sent = target.sendmsg(left[first : first + _MOST_PARTS])
        while first < len(left) and sent >= len(left[first]):
            sent -= len(left[first])
            first += 1
        if sent:
            left[first] = left[first][sent:]
