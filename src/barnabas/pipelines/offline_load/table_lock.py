"""One change at a time to a table, among the processes of a host (or of an NFS that has locks).

A batch of the stream, a backfill and a compaction each hold it: none of them reads files that another one is
removing, and a backfill sees every row that the stream has loaded.
"""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def locked(table: Path) -> Iterator[None]:
    """Waits until it is free. The system frees it when the process ends, however it ends."""
    table.mkdir(parents=True, exist_ok=True)
    with (table / "_lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
