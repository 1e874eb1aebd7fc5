"""Free ports for brokers that keep their port over restarts.

They are below the ports that the kernel gives to connecting sockets. Otherwise a client could get the port
of a broker that is stopped, and the broker could not start again.
"""

import random
import socket
from contextlib import suppress
from pathlib import Path

_FIRST = 10_000
_ATTEMPTS = 1000


def free_port(host: str = "127.0.0.1") -> int:
    """A random port that is not in use. Raises OSError if there is none."""
    for _ in range(_ATTEMPTS):
        port = random.randrange(_FIRST, _first_for_clients())
        with socket.socket() as probe, suppress(OSError):
            probe.bind((host, port))
            return port
    raise OSError(f"no free port on {host}")


def _first_for_clients() -> int:
    try:
        text = Path("/proc/sys/net/ipv4/ip_local_port_range").read_text()
        return max(int(text.split()[0]), _FIRST + _ATTEMPTS)
    except (OSError, ValueError):
        return 32_768
