"""Sends a frame that consists of several buffers, without joining them."""

import socket
import time
from collections.abc import Sequence

from barnabas.wire.outgoing_request import Buffer

_MOST_PARTS = 512
"""Half of the limit of Linux for one call (IOV_MAX)."""


def send_parts(target: socket.socket, parts: Sequence[Buffer], deadline: float) -> None:
    """Sends all parts. Raises TimeoutError if the peer does not read before the deadline, and OSError."""
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
