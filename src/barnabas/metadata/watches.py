"""Watches on the embedded store: one daemon thread that asks the database what is new.

`PRAGMA data_version` costs a few microseconds and changes when any other connection, of this process or
another, has committed; the thread asks every 100 ms, and at once after a write of this store. Only when it
changed are the new rows read, by transaction number. Once a second the owners of ephemeral nodes are checked
for life. The thread exists only while there are watches; callbacks run without any lock held, and a failing
callback or database is logged and does not end it.
"""

import logging
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from barnabas.metadata.sqlite_schema import clear_errors, connect
from barnabas.metadata.store import Change, StoreError, WatchCallback, WatchEvent, parent_of

logger = logging.getLogger(__name__)

POLL_SECONDS = 0.1
LIVENESS_SECONDS = 1.0
_REMEMBERED_OWN_TRANSACTIONS = 10_000


class ChangeRow(NamedTuple):
    """One node changed by one transaction, as the database tells it."""

    transaction: int
    change: Change
    path: str


class SqliteWatch:
    """One registered callback; `cancel()` ends it."""

    def __init__(
        self,
        watches: "Watches",
        path: str,
        callback: WatchCallback,
        recursive: bool,
        skip_own: bool,
        since: int,
    ) -> None:
        self._watches: Watches = watches
        self.path: str = path
        self.callback: WatchCallback = callback
        self.recursive: bool = recursive
        self.skip_own: bool = skip_own
        self.since: int = since
        self._prefix: str = path if path == "/" else path + "/"

    def cancel(self) -> None:
        self._watches.remove(self)

    def select(self, rows: Sequence[ChangeRow], own: set[int]) -> list[WatchEvent]:
        events: list[WatchEvent] = []
        children_changed = False
        for row in rows:
            if row.transaction <= self.since or (self.skip_own and row.transaction in own):
                continue
            if row.path == self.path or (self.recursive and row.path.startswith(self._prefix)):
                events.append(WatchEvent(row.change, row.path))
            elif not self.recursive and row.change is not Change.CHANGED and parent_of(row.path) == self.path:
                children_changed = True
        if children_changed:
            events.append(WatchEvent(Change.CHILDREN, self.path))
        return events


class Watches:
    """All watches of one store, and their thread."""

    def __init__(
        self, database: Path, store_lock: threading.RLock, check_liveness: Callable[[], None]
    ) -> None:
        self._database: Path = database
        self._store_lock: threading.RLock = store_lock
        self._check_liveness: Callable[[], None] = check_liveness
        self._lock: threading.Lock = threading.Lock()
        self._watches: list[SqliteWatch] = []
        self._own: dict[int, None] = {}
        self._seen: int = 0
        self._wake: threading.Event = threading.Event()
        self._thread: threading.Thread | None = None
        self._stopping: threading.Event = threading.Event()

    def add(
        self, path: str, callback: WatchCallback, *, recursive: bool, skip_own: bool, since: int
    ) -> SqliteWatch:
        """`since` is the last transaction the caller can have seen: everything after it is reported."""
        watch = SqliteWatch(self, path, callback, recursive, skip_own, since)
        with self._lock:
            if not self._watches:
                self._seen = since
            self._watches = [*self._watches, watch]
            if self._thread is None:
                self._stopping = threading.Event()
                self._thread = threading.Thread(
                    target=self._run, args=(self._stopping,), name="metadata-watches", daemon=True
                )
                self._thread.start()
        return watch

    def remove(self, watch: SqliteWatch) -> None:
        with self._lock:
            self._watches = [other for other in self._watches if other is not watch]
            is_idle = not self._watches
        if is_idle:
            self.stop()

    def wrote(self, transaction: int) -> None:
        """A transaction of our own was committed."""
        with self._lock:
            if not self._watches:
                return
            self._own[transaction] = None
            if len(self._own) > _REMEMBERED_OWN_TRANSACTIONS:
                del self._own[next(iter(self._own))]
        self._wake.set()

    def stop(self) -> None:
        with self._lock:
            thread, self._thread = self._thread, None
            self._stopping.set()
            self._watches = []
            self._own.clear()
        self._wake.set()
        if thread is not None and thread is not threading.current_thread():
            thread.join()

    def _run(self, stopping: threading.Event) -> None:
        connection: sqlite3.Connection | None = None
        data_version = -1
        next_liveness = time.monotonic() + LIVENESS_SECONDS
        is_failing = False
        while not stopping.is_set():
            try:
                with clear_errors(self._database):
                    connection = connection or connect(self._database)
                    (current,) = connection.execute("PRAGMA data_version").fetchone()
                    rows = self._read(connection) if current != data_version else []
                data_version = current
                if rows:
                    self._dispatch(rows)
                if time.monotonic() >= next_liveness:
                    next_liveness = time.monotonic() + LIVENESS_SECONDS
                    self._check_liveness()
                is_failing = False
            except StoreError as error:
                if not is_failing and not stopping.is_set():
                    logger.warning("Changes of the metadata cannot be seen at the moment: %s", error)
                is_failing = True
            self._wake.wait(POLL_SECONDS)
            self._wake.clear()
        if connection is not None:
            connection.close()

    def _read(self, connection: sqlite3.Connection) -> list[ChangeRow]:
        seen = self._seen
        connection.execute("BEGIN")
        try:
            last, pruned = connection.execute("SELECT last_transaction, pruned_up_to FROM state").fetchone()
            rows = [
                ChangeRow(removed_in, Change.DELETED, path)
                for removed_in, path in connection.execute(
                    "SELECT removed_in, path FROM removals WHERE removed_in > ? ORDER BY id", (seen,)
                )
            ]
            rows += [
                ChangeRow(modified, Change.CREATED if created > seen else Change.CHANGED, path)
                for path, created, modified in connection.execute(
                    "SELECT path, created_in, modified_in FROM nodes WHERE modified_in > ?"
                    " ORDER BY modified_in, path",
                    (seen,),
                )
            ]
        finally:
            connection.execute("ROLLBACK")
        if pruned > seen:
            rows = [ChangeRow(last, Change.LOST, "/")]
        # Stable: within one transaction a removal comes before the node that took its place.
        rows.sort(key=lambda row: row.transaction)
        self._seen = last
        return rows

    def _dispatch(self, rows: Sequence[ChangeRow]) -> None:
        # Under the store's lock no transaction of ours is committed and not yet known as our own.
        with self._store_lock, self._lock:
            watches = self._watches
            own = set(self._own)
        is_lost = rows[0].change is Change.LOST
        for watch in watches:
            events = [WatchEvent(Change.LOST, watch.path)] if is_lost else watch.select(rows, own)
            if events and watch in self._watches:
                try:
                    watch.callback(events)
                except Exception:
                    logger.exception("A watch on %s failed", watch.path)
        with self._lock:
            for row in rows:
                self._own.pop(row.transaction, None)
