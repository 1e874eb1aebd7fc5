"""The embedded metadata store: one SQLite file that the brokers of one host share.

Safe for many processes and threads. Writes are serialized by `BEGIN IMMEDIATE` and synced when they return
(one fsync a transaction); reads never wait for writers of other processes. Ephemeral nodes belong to a
session (`sessions`); whoever notices that a session is dead removes its nodes: every opening store at once, a
store with watches within a second, and who wants to create a node that a dead session still holds, in the
same transaction.
"""

import logging
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

from barnabas.metadata import sessions
from barnabas.metadata.sessions import Session
from barnabas.metadata.sqlite_schema import clear_errors, open_database
from barnabas.metadata.sqlite_writes import Writer
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
from barnabas.metadata.watches import SqliteWatch, Watches

logger = logging.getLogger(__name__)


class SqliteStore:
    """A MetadataStore on the database file at `path`; the file and its directory are created if needed."""

    def __init__(self, path: Path | str) -> None:
        self.path: Path = Path(path)
        self._lock: threading.RLock = threading.RLock()
        self._closed_because: str = ""
        self._session: Session | None = None
        self._sessions_directory: Path = self.path.with_name(self.path.name + "-sessions")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"cannot create {self.path.parent}: {error.strerror}") from error
        self._connection: sqlite3.Connection = open_database(self.path)
        self._watches: Watches = Watches(self.path, self._lock, self._check_liveness)
        try:
            owners = self._remove_dead_sessions()
            sessions.remove_stale_files(self._sessions_directory, keep=owners)
        except BaseException:
            self._connection.close()
            raise

    def __enter__(self) -> "SqliteStore":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def session_id(self) -> int:
        with self._lock:
            self._check_open()
            if self._session is None:
                self._session = Session(self._sessions_directory)
            return self._session.id

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
        # '0' follows '/': everything that starts with path + '/' and nothing else.
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
        with self._lock, clear_errors(self.path):
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
            with self._writing(operations) as writer:
                for index, operation in enumerate(operations):  # noqa: B007
                    results.append(writer.apply(operation))
        except StoreError as error:
            error.operation_index = index
            raise
        return results

    def _write(self, operations: Sequence[Operation]) -> list[OperationResult]:
        with self._writing(operations) as writer:
            return [writer.apply(operation) for operation in operations]

    @contextmanager
    def _writing(self, operations: Iterable[Operation]) -> Iterator[Writer]:
        needs_session = any(isinstance(operation, Create) and operation.ephemeral for operation in operations)
        owner = self.session_id if needs_session else 0
        with self._lock, clear_errors(self.path):
            self._check_open()
            with self._immediate():
                writer = Writer(self._connection, owner, self._is_alive)
                yield writer
                writer.finish()
            self._after_commit(writer)

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
        for session_id in writer.dead_sessions:
            sessions.forget(self._sessions_directory, session_id)
        # What a dead session lost is news for ourselves as well.
        if writer.has_changes and not writer.dead_sessions:
            self._watches.wrote(writer.transaction)

    # Sessions

    def _is_alive(self, session_id: int) -> bool:
        if self._session is not None and session_id == self._session.id:
            return True
        return sessions.is_alive(self._sessions_directory, session_id)

    def _check_liveness(self) -> None:
        with self._lock:
            if self._closed_because:
                return
            if self._session is not None and self._session.is_lost:
                self._closed_because = "its session file was removed by someone"
                return
        self._remove_dead_sessions()

    def _remove_dead_sessions(self) -> frozenset[int]:
        """Remove what the dead have left; the owners that are alive."""
        with self._reading() as connection:
            rows = connection.execute("SELECT DISTINCT owner FROM nodes WHERE owner != 0")
            owners = frozenset(owner for (owner,) in rows)
            dead = [owner for owner in owners if not self._is_alive(owner)]
        if dead:
            with self._writing(()) as writer:
                for session_id in dead:
                    writer.remove_dead_session(session_id)
        return owners.difference(dead)

    # Watching

    def watch(
        self, path: str, callback: WatchCallback, *, recursive: bool = False, skip_own: bool = False
    ) -> SqliteWatch:
        check_path(path)
        with self._reading() as connection:
            (since,) = connection.execute("SELECT last_transaction FROM state").fetchone()
            return self._watches.add(path, callback, recursive=recursive, skip_own=skip_own, since=since)

    # The end

    def close(self) -> None:
        self._watches.stop()
        with self._lock:
            if self._closed_because == "it was closed":
                return
            try:
                if self._session is not None and not self._closed_because:
                    with self._writing(()) as writer:
                        writer.remove_session(self._session.id)
            except StoreError as error:
                # The others see that our session is over, and remove what we could not.
                logger.warning("The nodes of this session could not be removed: %s", error)
            finally:
                self._closed_because = "it was closed"
                if self._session is not None:
                    self._session.close()
                self._connection.close()

    def _check_open(self) -> None:
        if self._closed_because:
            raise SessionExpired(f"the session on {self.path} is over: {self._closed_because}")
