"""Which brokers of this user are running, so that `kafka-server-stop` finds them.

A running broker holds an exclusive lock on `<run directory>/broker-<pid>`, a file of one line,
`<pid> <node id>`. The lock, not the file, marks it as running: the kernel releases the lock when the process
ends. So a file left by `kill -9` is recognised, and its pid, which another process may have by then, gets no
signal. The file is renamed to its name after it is locked and written.
"""

import fcntl
import logging
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, NamedTuple

_log = logging.getLogger("barnabas.cli")


class RunningBroker(NamedTuple):
    pid: int
    node_id: int


def run_directory() -> Path:
    """A private directory of the user. Raises PermissionError if another user owns it."""
    directory = Path(tempfile.gettempdir(), f"barnabas-{os.getuid()}")
    directory.mkdir(mode=0o700, exist_ok=True)
    if directory.is_symlink() or directory.stat().st_uid != os.getuid():
        raise PermissionError(f"{directory} belongs to another user")
    return directory


@contextmanager
def registered(node_id: int) -> Iterator[None]:
    """Registers this broker for `kafka-server-stop` while the block runs."""
    try:
        path = run_directory() / f"broker-{os.getpid()}"
        file = _create_locked(path, f"{os.getpid()} {node_id}\n")
    except OSError as error:
        _log.warning("kafka-server-stop will not find this broker: %s", error)
        yield
        return
    with file:
        try:
            yield
        finally:
            path.unlink(missing_ok=True)


def running_brokers() -> list[RunningBroker]:
    found = []
    for path in sorted(run_directory().glob("broker-*")):
        with suppress(FileNotFoundError):
            broker = _read(path)
            if broker is not None:
                found.append(broker)
    return found


def _create_locked(path: Path, text: str) -> IO[str]:
    unnamed = path.with_name(f"starting-{os.getpid()}")
    file = unnamed.open("w")
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.write(text)
        file.flush()
        unnamed.rename(path)
    except BaseException:
        file.close()
        raise
    return file


def _read(path: Path) -> RunningBroker | None:
    with path.open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            pid, node_id = file.read().split()
            return RunningBroker(int(pid), int(node_id))
    path.unlink(missing_ok=True)
    return None
