"""A thread that drives a producer while the thread that owns it waits for rows.

Kafka's producer has such a thread for everything. Here the owner sends and receives by itself as long as rows
come, which is faster in Python, and this thread takes over at intervals: a slow upstream (a user function, an
expensive read) must not leave responses unread until their requests time out.
"""

import threading
from collections.abc import Callable

_INTERVAL = 0.1


class NetworkThread:
    """Calls `drive` at intervals, from its start until it is closed. `drive` must not raise."""

    def __init__(self, drive: Callable[[], None], interval: float = _INTERVAL) -> None:
        self._drive: Callable[[], None] = drive
        self._interval: float = interval
        self._closed: threading.Event = threading.Event()
        self._thread: threading.Thread | None = None

    def maybe_start(self) -> None:
        if self._thread is None and not self._closed.is_set():
            self._thread = threading.Thread(target=self._run, name="barnabas-producer", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """`drive` is not running any more when this returns. The thread must not hold a lock of `drive`."""
        self._closed.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def _run(self) -> None:
        while not self._closed.wait(self._interval):
            self._drive()
