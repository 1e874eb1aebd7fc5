"""Locks of tables and checkpoints, among the processes of a host (or of an NFS that has locks).

`locked` is one change at a time: a batch of the stream, a backfill and a compaction each hold it, so none of
them reads files that another one is removing, and a backfill sees every row that the stream has loaded.

`hold` is one run at a time: a second driver on the same checkpoint or table is refused while the first lives.
The system frees a lock when its process ends, however it ends.
"""

import fcntl
import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from barnabas.pipelines.common.settings import BadSetting

_held: dict[tuple[Path, str], TextIO] = {}
_guard = threading.Lock()


class InUse(BadSetting):
    """Another process has it; the message says which."""


@contextmanager
def locked(table: Path) -> Iterator[None]:
    """Waits until it is free."""
    table.mkdir(parents=True, exist_ok=True)
    with (table / "_lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def hold(path: Path, what: str, run: str) -> None:
    """Hold the lock file until `release(run)` or the end of the process; what `run` holds already is fine.

    `what` is for people: `checkpoint warehouse/_checkpoints/logs-lines`. Raises InUse.
    """
    with _guard:
        if (path, run) in _held:
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("a+")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            holder = file.read().strip() or "another process"
            file.close()
            raise InUse(
                f"{what} is in use by {holder}: stop that one first, or use another --warehouse"
            ) from None
        file.truncate(0)
        file.write(f"process {os.getpid()} on {socket.gethostname()}")
        file.flush()
        _held[path, run] = file


def release(run: str) -> None:
    """Let go of all that the run holds."""
    with _guard:
        for key in [key for key in _held if key[1] == run]:
            _held.pop(key).close()
