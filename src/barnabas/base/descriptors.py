"""File descriptors are shared by connections, log files and the broker's own needs.

The kernel gives every new descriptor the lowest free number. A new descriptor with number N therefore shows
that at least N are open in the process. The bounds below are compared with that number, so nothing has to be
counted. Running out (EMFILE, ENFILE) is a shortage, not a failing disk.
"""

import errno
import resource
from dataclasses import dataclass

UNLIMITED = 1 << 20
"""Assumed where the operating system has no limit."""
_SHORTAGE = frozenset({errno.EMFILE, errno.ENFILE})


def is_shortage(error: BaseException) -> bool:
    """Whether an operation failed because the process or the system has no descriptor left."""
    return isinstance(error, OSError) and error.errno in _SHORTAGE


@dataclass(frozen=True, slots=True)
class DescriptorLimits:
    """The shares of log files, connections and the reserve; the numbers are exclusive upper bounds."""

    limit: int = UNLIMITED

    @classmethod
    def of_process(cls) -> "DescriptorLimits":
        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        return cls(UNLIMITED if soft == resource.RLIM_INFINITY else soft)

    @property
    def reserve(self) -> int:
        """Kept for rolls, checkpoints, recovery and the metadata store."""
        return min(max(self.limit // 8, 8), 256)

    @property
    def for_log_files(self) -> int:
        """Log files that are opened beyond this number displace others."""
        return self.limit - self.reserve

    @property
    def for_connections(self) -> int:
        """Connections are accepted below this number; above it log files can still be opened."""
        return self.limit - 2 * self.reserve

    @property
    def open_log_files(self) -> int:
        """How many log files stay open between two uses."""
        return max((self.limit - self.reserve) // 2, 8)
