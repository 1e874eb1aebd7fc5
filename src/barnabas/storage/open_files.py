"""Bounds how many log files are open, over all logs of a broker.

A segment opens its file when it is written or read and keeps it; an empty log holds none. When there are more
than the limit, or when descriptors are short, files that were not used lately are closed. A response that
is being sent or a flush that runs holds its own reference, which keeps the file open.

`make_room` may be called from any thread, everything else on the thread that owns the logs or during
recovery.
"""

import threading
from collections import OrderedDict
from typing import Protocol

from barnabas.base.descriptors import DescriptorLimits

_AT_ONCE = 64
"""How many files are closed when descriptors are short: the next openings find room."""


class FileHolder(Protocol):
    """A segment."""

    was_used: bool

    def release_file(self) -> None: ...


class OpenFiles:
    """A clock: the oldest file is closed, unless it was used since it was last looked at."""

    def __init__(self, limits: DescriptorLimits | None = None) -> None:
        limits = limits or DescriptorLimits.of_process()
        self.bound: int = limits.for_log_files
        """A descriptor with this number or a higher one is part of the reserve."""
        self._limit: int = limits.open_log_files
        self._holders: OrderedDict[FileHolder, None] = OrderedDict()
        self._lock: threading.RLock = threading.RLock()

    def __len__(self) -> int:
        return len(self._holders)

    def opened(self, holder: FileHolder, descriptor: int) -> None:
        """`holder` opened its file and got this descriptor; others make room if need be."""
        with self._lock:
            self._holders[holder] = None
            surplus = len(self._holders) - self._limit
            if descriptor >= self.bound:
                surplus = max(surplus, min(_AT_ONCE, len(self._holders) - 1))
            self._release(surplus, spared=holder)

    def forget(self, holder: FileHolder) -> None:
        """`holder` closed its file itself."""
        with self._lock:
            self._holders.pop(holder, None)

    def make_room(self, keep: int = 0) -> int:
        """Close files that are not in use, but leave `keep` open; returns how many were closed."""
        with self._lock:
            return self._release(min(_AT_ONCE, len(self._holders) - keep))

    def _release(self, count: int, spared: FileHolder | None = None) -> int:
        released = 0
        # Two rounds at most: the first takes from every file the mark that it was used.
        for _ in range(2 * len(self._holders)):
            if released >= count:
                break
            holder, _unused = self._holders.popitem(last=False)
            if holder is spared or holder.was_used:
                holder.was_used = False
                self._holders[holder] = None
            else:
                holder.release_file()
                released += 1
        return released
