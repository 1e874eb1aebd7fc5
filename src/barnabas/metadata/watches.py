"""Watches on the embedded store: one daemon thread that reads changes from the database.

The thread waits for the doorbell: other stores ring it after a commit, this store wakes it after a write.
Once a second it looks by itself, as a ring is only a hint; ten times a second where there is no doorbell.
`PRAGMA data_version` costs a few microseconds and changes when any other connection, of this process or
another, has committed. Only then are the new rows read, by transaction number. All sessions are checked for
liveness once a second, and when the connection to a peer ends. The thread exists only while there are watches
or a session. Callbacks run without a lock. A failing callback or database is logged and does not end the
thread.
"""

import logging
import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, Protocol

from barnabas.metadata.doorbell import Doorbell
from barnabas.metadata.sqlite_schema import clear_errors, connect
from barnabas.metadata.store import Change, StoreError, WatchCallback, WatchEvent, parent_of

logger = logging.getLogger(__name__)

LOOK_SECONDS = 1.0
"""The time between two looks at the database and at the sessions, if the doorbell does not ring."""
LOOK_SECONDS_WITHOUT_DOORBELL = 0.1
_LOOKS_AFTER_LOST_PEER = (0.002, 0.01, 0.03, 0.1, 0.3)
"""An ending process may release its lock a moment after its connection: seconds until the next checks."""
_REMEMBERED_OWN_TRANSACTIONS = 10_000


class ChangeRow(NamedTuple):
    """One node changed by one transaction, as read from the database."""

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


class WatchedStore(Protocol):
    """What the thread needs of its store."""

    path: Path
    lock: threading.RLock

    def tick(self) -> None:
        """The thread is running."""

    def check_session(self, connection: sqlite3.Connection) -> None:
        """Notice the end of this store's session in the database."""

    def report_expiry(self) -> None:
        """Call back those who wait for the end of this store's session."""

    def check_liveness(self) -> None:
        """Remove dead sessions."""


class _ChangeReader:
    """The thread's own connection to the database."""

    def __init__(self, database: Path) -> None:
        self._database: Path = database
        self._connection: sqlite3.Connection | None = None
        self._data_version: int = -1

    @contextmanager
    def changed(self) -> Iterator[sqlite3.Connection | None]:
        """The connection if there were commits since the last look that did not fail, otherwise None."""
        with clear_errors(self._database):
            if self._connection is None:
                self._connection = connect(self._database)
            (current,) = self._connection.execute("PRAGMA data_version").fetchone()
            yield self._connection if current != self._data_version else None
            self._data_version = current

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()

    def read(self, seen: int) -> tuple[list[ChangeRow], int]:
        """Returns the changes after transaction `seen`, and the last transaction."""
        connection = self._connection
        assert connection is not None
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
        # Stable: within one transaction a removal comes before the node that replaced it.
        rows.sort(key=lambda row: row.transaction)
        return rows, last


class Watches:
    """All watches of one store, and their thread."""

    def __init__(self, hooks: "WatchedStore", doorbell: Doorbell, look_seconds: float = LOOK_SECONDS) -> None:
        self._store: WatchedStore = hooks
        self._doorbell: Doorbell = doorbell
        self._look_seconds: float = look_seconds
        self._lock: threading.Lock = threading.Lock()
        self._watches: list[SqliteWatch] = []
        self._own: dict[int, None] = {}
        self._seen: int = 0
        self._has_session: bool = False
        self._lost: list[SqliteWatch] = []
        self._thread: threading.Thread | None = None
        self._stopping: threading.Event = threading.Event()

    def add(
        self, path: str, callback: WatchCallback, *, recursive: bool, skip_own: bool, since: int
    ) -> SqliteWatch:
        """`since` is the last transaction that the caller can have seen: everything after it is reported."""
        watch = SqliteWatch(self, path, callback, recursive, skip_own, since)
        with self._lock:
            if not self._watches:
                self._seen = since
            self._watches = [*self._watches, watch]
            self._start()
        return watch

    def follow_session(self) -> None:
        """Keep the thread running without watches: it notices the end of this store's session."""
        with self._lock:
            self._has_session = True
            self._start()

    def _start(self) -> None:
        if self._thread is None:
            self._stopping = threading.Event()
            self._thread = threading.Thread(
                target=self._run, args=(self._stopping,), name="metadata-watches", daemon=True
            )
            self._thread.start()

    def remove(self, watch: SqliteWatch) -> None:
        with self._lock:
            self._watches = [other for other in self._watches if other is not watch]
            is_idle = not self._watches and not self._has_session
        if is_idle:
            self.stop()

    def report_loss(self) -> None:
        """Every watch gets one LOST event."""
        with self._lock:
            self._lost = self._watches
        self._doorbell.wake()

    def wrote(self, transaction: int) -> None:
        """A transaction of this store was committed."""
        with self._lock:
            if not self._watches:
                return
            self._own[transaction] = None
            if len(self._own) > _REMEMBERED_OWN_TRANSACTIONS:
                del self._own[next(iter(self._own))]
        self._doorbell.wake()

    def stop(self) -> None:
        with self._lock:
            thread, self._thread = self._thread, None
            self._stopping.set()
            self._has_session = False
            self._watches = []
            self._lost = []
            self._own.clear()
        self._doorbell.wake()
        if thread is not None and thread is not threading.current_thread():
            thread.join()

    def _run(self, stopping: threading.Event) -> None:
        reader = _ChangeReader(self._store.path)
        liveness_checks: list[float] = []
        next_check = time.monotonic() + self._look_seconds
        is_failing = False
        self._open_doorbell()
        while not stopping.is_set():
            try:
                self._look(reader)
                if time.monotonic() >= next_check:
                    self._open_doorbell()
                    self._store.check_liveness()
                is_failing = False
            except StoreError as error:
                if not is_failing and not stopping.is_set():
                    logger.warning("Cannot read changes of the metadata store; retrying: %s", error)
                is_failing = True
            if time.monotonic() >= next_check:
                pause = liveness_checks.pop(0) if liveness_checks else self._look_seconds
                next_check = time.monotonic() + pause
            if self._doorbell.wait(self._seconds_until(next_check)):
                liveness_checks, next_check = list(_LOOKS_AFTER_LOST_PEER), 0.0
        reader.close()
        self._doorbell.wake()  # A thread that was started meanwhile may have missed a call.

    def _seconds_until(self, next_check: float) -> float:
        longest = self._look_seconds if self._doorbell.is_open else LOOK_SECONDS_WITHOUT_DOORBELL
        return min(max(next_check - time.monotonic(), 0.0), longest)

    def _open_doorbell(self) -> None:
        if not self._doorbell.is_open:
            try:
                self._doorbell.open()
            except OSError as error:
                logger.debug("Cannot be notified of changes of the metadata store; polling: %s", error)

    def _look(self, reader: "_ChangeReader") -> None:
        self._store.tick()
        rows: list[ChangeRow] = []
        with reader.changed() as connection:
            if connection is not None:
                self._store.check_session(connection)
                if self._has_watches():
                    rows, self._seen = reader.read(self._seen)
        self._store.report_expiry()
        self._dispatch(rows)

    def _has_watches(self) -> bool:
        # With the store's lock held, no watch is between reading the last transaction and `add`.
        with self._store.lock, self._lock:
            return bool(self._watches)

    def _dispatch(self, rows: Sequence[ChangeRow]) -> None:
        if not rows and not self._lost:
            return
        # With the store's lock held, every committed transaction of this store is known as its own.
        with self._store.lock, self._lock:
            watches = self._watches
            own = set(self._own)
            lost, self._lost = self._lost, []
        if rows and rows[0].change is Change.LOST:
            rows, lost = [], watches
        for watch in watches:
            events = [WatchEvent(Change.LOST, watch.path)] if watch in lost else []
            events += watch.select(rows, own)
            if events and watch in self._watches:
                try:
                    watch.callback(events)
                except Exception:
                    logger.exception("Unexpected error in a watch on %s", watch.path)
        with self._lock:
            for row in rows:
                self._own.pop(row.transaction, None)
