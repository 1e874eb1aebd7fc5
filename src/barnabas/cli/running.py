"""Which brokers of this user are running, so that `kafka-server-stop` finds them.

A running broker holds an exclusive lock on `<run directory>/broker-<pid>`, a file of one line,
`<pid> <node id>`. The lock, not the file, says that it runs: the kernel drops it when the process dies in
whatever way, so a file left by `kill -9` is recognised, and its pid, which may belong to someone else by
then, is never signalled. The file gets its name only when it is locked and written.
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
    """Private to the user: a directory of someone else under that name is refused."""
    directory = Path(tempfile.gettempdir(), f"barnabas-{os.getuid()}")
    directory.mkdir(mode=0o700, exist_ok=True)
    if directory.is_symlink() or directory.stat().st_uid != os.getuid():
        raise PermissionError(f"{directory} belongs to another user")
    return directory


@contextmanager
def registered(node_id: int) -> Iterator[None]:
    """Be found by `kafka-server-stop` for as long as the block runs."""
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
