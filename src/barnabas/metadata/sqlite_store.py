"""The embedded metadata store: one SQLite file, shared by the brokers of one host.

Safe for many processes and threads. Writes are serialized by `BEGIN IMMEDIATE` and synced when they return
(one fsync per transaction). Reads never wait for writers of other processes. Ephemeral nodes belong to a
session (`sessions`). It begins with the first ephemeral node, and is live while its row is in the database.
A dead session is removed, its row and its nodes in one transaction, by every store when it opens, by a store
with watches or a session within a second, and by the creation of a node that it still holds. Every write of a
session checks the session's own row within its transaction, so an expired session cannot write.
"""

import logging
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

from barnabas.metadata import sessions
from barnabas.metadata.doorbell import Doorbell
from barnabas.metadata.session_lease import RENEWALS_PER_TIMEOUT, PauseDetector, SessionLease
from barnabas.metadata.sessions import StoreSession
from barnabas.metadata.sqlite_schema import clear_errors, open_database
from barnabas.metadata.sqlite_writes import Writer, all_sessions, has_session
from barnabas.metadata.store import (
    ANY_VERSION,
    Create,
    Delete,
    NoNode,
    Operation,
    OperationResult,
    SessionExpired,
    Set,
    Stat,
    StoreError,
    WatchCallback,
    check_path,
)
from barnabas.metadata.watches import LOOK_SECONDS, SqliteWatch, Watches

logger = logging.getLogger(__name__)

SESSION_TIMEOUT_MS = 9000
SHORTEST_SESSION_TIMEOUT_MS = 100
"""A shorter timeout is raised to this one, as a ZooKeeper server would do."""


class SqliteStore:
    """A MetadataStore on the database file at `path`. Creates the file and its directory if needed."""

    def __init__(
        self,
        path: Path | str,
        session_timeout_ms: int = SESSION_TIMEOUT_MS,
        now_ns: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self.path: Path = Path(path)
        self._session_timeout_ms: int = max(session_timeout_ms, SHORTEST_SESSION_TIMEOUT_MS)
        self._now_ns: Callable[[], int] = now_ns
        self.lock: threading.RLock = threading.RLock()
        self._is_closed: bool = False
        self._session: StoreSession | None = None
        self._is_expired: bool = False
        self._expiry_callbacks: list[Callable[[], None]] = []
        self._pending_callbacks: list[Callable[[], None]] = []
        self._sessions_directory: Path = self.path.with_name(self.path.name + "-sessions")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"cannot create {self.path.parent}: {error.strerror}") from error
        self._connection: sqlite3.Connection = open_database(self.path)
        self._pauses: PauseDetector = PauseDetector(now_ns, self._session_timeout_ms // 2)
        self._lease: SessionLease | None = None
        self._doorbell: Doorbell = Doorbell(self._sessions_directory)
        look_seconds = min(LOOK_SECONDS, self._session_timeout_ms / 1000 / RENEWALS_PER_TIMEOUT)
        self._watches: Watches = Watches(self, self._doorbell, look_seconds)
        try:
            owners = self._remove_dead_sessions()
            sessions.remove_stale_files(self._sessions_directory, keep=owners)
        except BaseException:
            self._doorbell.close()
            self._connection.close()
            raise

    def __enter__(self) -> "SqliteStore":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # Reading

    def get(self, path: str) -> tuple[bytes, Stat]:
        row = self._row(path)
        if row is None:
            raise NoNode(path)
        data, version, created_in, modified_in, owner = row
        return data, Stat(version, created_in, modified_in, owner)

    def exists(self, path: str) -> Stat | None:
        row = self._row(path)
        return None if row is None else Stat(*row[1:])

    def children(self, path: str) -> list[str]:
        check_path(path)
        with self._reading() as connection:
            select = "SELECT path FROM nodes WHERE parent = ? ORDER BY path"
            rows = connection.execute(select, (path,)).fetchall()
        if not rows and self._row(path) is None:
            raise NoNode(path)
        return [child.rpartition("/")[2] for (child,) in rows]

    def subtree(self, path: str) -> dict[str, tuple[bytes, int]]:
        check_path(path)
        # '0' follows '/': selects everything that starts with path + '/'.
        first, last = ("/", "0") if path == "/" else (path + "/", path + "0")
        with self._reading() as connection:
            rows = connection.execute(
                "SELECT path, data, version FROM nodes WHERE path = ?1 UNION ALL"
                " SELECT path, data, version FROM nodes WHERE path > ?2 AND path < ?3"
                " AND path != ?1 ORDER BY path",
                (path, first, last),
            ).fetchall()
        return {node: (data, version) for node, data, version in rows}

    def _row(self, path: str) -> tuple[bytes, int, int, int, int] | None:
        check_path(path)
        with self._reading() as connection:
            row: tuple[bytes, int, int, int, int] | None = connection.execute(
                "SELECT data, version, created_in, modified_in, owner FROM nodes WHERE path = ?", (path,)
            ).fetchone()
        return row

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        with self.lock, clear_errors(self.path):
            self._check_open()
            yield self._connection

    # Writing

    def create(
        self, path: str, data: bytes = b"", *, ephemeral: bool = False, sequential: bool = False
    ) -> str:
        (created,) = self._write([Create(path, data, ephemeral, sequential)])
        assert isinstance(created, str)
        return created

    def set(self, path: str, data: bytes, version: int = ANY_VERSION) -> Stat:
        (stat,) = self._write([Set(path, data, version)])
        assert isinstance(stat, Stat)
        return stat

    def delete(self, path: str, version: int = ANY_VERSION, *, recursive: bool = False) -> None:
        self._write([Delete(path, version, recursive)])

    def transaction(self, operations: Sequence[Operation]) -> list[OperationResult]:
        results: list[OperationResult] = []
        index = 0
        try:
            with self._writing(_needs_session(operations)) as writer:
                for index, operation in enumerate(operations):  # noqa: B007
                    results.append(writer.apply(operation))
        except StoreError as error:
            error.operation_index = index
            raise
        return results

    def _write(self, operations: Sequence[Operation]) -> list[OperationResult]:
        with self._writing(_needs_session(operations)) as writer:
            return [writer.apply(operation) for operation in operations]

    @contextmanager
    def _writing(self, needs_session: bool) -> Iterator[Writer]:
        """A write of this store's session, if it has one. Begins one if needed."""
        with self.lock:
            self._check_open()
            if self._is_expired:
                raise self._expired()
            session = self._session
            if session is None and needs_session:
                session = StoreSession(self._sessions_directory, self._now_ns())
            try:
                with self._transaction(session.id if session else 0) as writer:
                    if session is not None and not self._has_row(writer, session):
                        raise self._expired()
                    yield writer
            except BaseException:
                if session is not None and session is not self._session:
                    session.close()
                raise
            if session is not None and session is not self._session:
                self._session = session
                self._lease = SessionLease(session, self._session_timeout_ms, self._now_ns)
                self._watches.follow_session()

    def _has_row(self, writer: Writer, session: StoreSession) -> bool:
        if session is not self._session:
            writer.add_session(session.id, self._session_timeout_ms)
        elif not writer.has_session(session.id):
            self._expire_own(session.id)
            return False
        return True

    @contextmanager
    def _transaction(self, owner: int) -> Iterator[Writer]:
        with self.lock, clear_errors(self.path):
            self._check_open()
            with self._immediate():
                writer = Writer(self._connection, owner, self._is_alive)
                yield writer
                writer.finish()
            self._after_commit(writer)
            if writer.has_changes or writer.removed_sessions:
                self._doorbell.ring()

    @contextmanager
    def _immediate(self) -> Iterator[None]:
        connection = self._connection
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise

    def _after_commit(self, writer: Writer) -> None:
        for session_id in writer.removed_sessions:
            sessions.forget(self._sessions_directory, session_id)
        # The removal of an expired session's nodes is a change for this store as well.
        if writer.has_changes and not writer.removed_sessions:
            self._watches.wrote(writer.transaction)

    # Sessions

    @property
    def session_id(self) -> int:
        with self.lock:
            self._check_open()
            if self._session is None:
                with self._writing(needs_session=True):
                    pass
            assert self._session is not None
            return self._session.id

    def on_expired(self, callback: Callable[[], None]) -> None:
        with self.lock:
            self._check_open()
            self._expiry_callbacks.append(callback)
            if self._is_expired:
                self._pending_callbacks.append(callback)
        self._doorbell.wake()

    def renew(self) -> int:
        with self.lock:
            with self._reading() as connection:
                self.check_session(connection)
            if self._is_expired:
                expired, self._session, self._is_expired = self._session, None, False
                try:
                    session_id = self.session_id
                except BaseException:
                    self._session, self._is_expired = expired, True
                    raise
                self._watches.report_loss()
                return session_id
            return self.session_id

    def expire(self, session_id: int) -> None:
        """End this session, as if its process had stopped for longer than the session timeout."""
        with self._transaction(owner=0) as writer:
            writer.remove_session(session_id)

    def _is_alive(self, session_id: int, timeout_ms: int) -> bool:
        # A store never judges its own session: that of a slow broker that is alone goes on.
        if self._session is not None and session_id == self._session.id:
            return True
        stale_before = self._pauses.stale_before(timeout_ms)
        return sessions.is_alive(self._sessions_directory, session_id, stale_before)

    def tick(self) -> None:
        self._pauses.tick()

    def check_session(self, connection: sqlite3.Connection) -> None:
        """Notice that another process has removed this store's session."""
        with self.lock:
            session = self._session
            if session is None or self._is_expired or self._is_closed:
                return
        if not has_session(connection, session.id):
            self._expire_own(session.id)

    def _expire_own(self, session_id: int) -> None:
        with self.lock:
            if self._session is None or self._session.id != session_id or self._is_expired:
                return
            self._is_expired = True
            self._pending_callbacks += self._expiry_callbacks
            self._end_lease()
        logger.warning(
            "Session %016x on %s has expired: its ephemeral nodes are removed", session_id, self.path
        )
        self._doorbell.wake()

    def report_expiry(self) -> None:
        with self.lock:
            callbacks, self._pending_callbacks = self._pending_callbacks, []
        for callback in callbacks:
            try:
                callback()
            except Exception:
                logger.exception("Unexpected error in a callback for an expired session")

    def check_liveness(self) -> None:
        with self.lock:
            if not self._is_closed:
                self._remove_dead_sessions()

    def _remove_dead_sessions(self) -> frozenset[int]:
        """Remove expired sessions and their nodes. Returns the live ones."""
        with self._reading() as connection:
            known = all_sessions(connection)
        dead = self._dead(known)
        if dead:
            with self._transaction(owner=0) as writer:
                # Others may have removed them meanwhile, or a stopped process may have continued.
                dead = self._dead(writer.all_sessions())
                for session_id in dead:
                    logger.info("Removing dead session %016x from %s", session_id, self.path)
                    writer.remove_session(session_id)
        return frozenset(known).difference(dead)

    def _dead(self, known: dict[int, int]) -> list[int]:
        return [
            session_id
            for session_id, timeout_ms in known.items()
            if not self._is_alive(session_id, timeout_ms)
        ]

    # Watching

    def watch(
        self, path: str, callback: WatchCallback, *, recursive: bool = False, skip_own: bool = False
    ) -> SqliteWatch:
        check_path(path)
        with self._reading() as connection:
            (since,) = connection.execute("SELECT last_transaction FROM state").fetchone()
            return self._watches.add(path, callback, recursive=recursive, skip_own=skip_own, since=since)

    # Closing

    def close(self) -> None:
        self._watches.stop()
        with self.lock:
            if self._is_closed:
                return
            try:
                if self._session is not None and not self._is_expired:
                    with self._transaction(owner=0) as writer:
                        writer.remove_session(self._session.id)
            except StoreError as error:
                # Other stores see that this session has ended, and remove its nodes.
                logger.warning("Ephemeral nodes could not be removed; other brokers remove them: %s", error)
            finally:
                self._is_closed = True
                self._end_lease()
                self._doorbell.close()
                self._connection.close()

    def _end_lease(self) -> None:
        if self._lease is not None:
            self._lease.stop()
        if self._session is not None:
            self._session.close()

    def _check_open(self) -> None:
        if self._is_closed:
            raise SessionExpired(f"the session on {self.path} has ended: the store was closed")

    def _expired(self) -> SessionExpired:
        return SessionExpired(f"the session on {self.path} has expired: another process removed it")


def _needs_session(operations: Sequence[Operation]) -> bool:
    return any(isinstance(operation, Create) and operation.ephemeral for operation in operations)
