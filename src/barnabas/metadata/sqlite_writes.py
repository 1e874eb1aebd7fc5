"""One write transaction on the embedded store's tables.

`Writer` exists between BEGIN IMMEDIATE and COMMIT, which its caller executes. All its changes carry one
transaction number. A transaction that changes nothing (a Check, the end of a session without nodes) leaves
the file as it was.
"""

import sqlite3
from collections.abc import Callable

from barnabas.metadata.sqlite_schema import FORMAT_1_TIMEOUT_MS
from barnabas.metadata.store import (
    ANY_VERSION,
    BadVersion,
    Check,
    Create,
    Delete,
    NoChildrenForEphemerals,
    NodeExists,
    NoNode,
    NotEmpty,
    Operation,
    OperationResult,
    Set,
    Stat,
    StoreError,
    check_path,
    parent_of,
)

KEPT_REMOVALS = 100_000
"""The minimum number of removals that are kept for watches that are behind."""


class Writer:
    def __init__(
        self, connection: sqlite3.Connection, owner: int, is_alive: Callable[[int, int], bool]
    ) -> None:
        self._connection: sqlite3.Connection = connection
        self._owner: int = owner
        self._is_alive: Callable[[int, int], bool] = is_alive
        self._known_parents: set[str] = set()
        (last,) = connection.execute("SELECT last_transaction FROM state").fetchone() or (None,)
        if last is None:
            raise StoreError("the metadata store is damaged: its last transaction number is missing")
        self.transaction: int = last + 1
        self.has_changes: bool = False
        self.has_removals: bool = False
        self.removed_sessions: list[int] = []

    def apply(self, operation: Operation) -> OperationResult:
        check_path(operation.path)
        match operation:
            case Create():
                return self._create(operation)
            case Set():
                return self._set(operation)
            case Delete():
                self._delete(operation)
                return None
            case Check():
                self._find(operation.path, operation.version)
                return None

    def finish(self) -> None:
        """Write the transaction's number. Called once, before COMMIT."""
        if not self.has_changes:
            return
        self._connection.execute("UPDATE state SET last_transaction = ?", (self.transaction,))
        if self.has_removals:
            self._prune_removals()

    def _prune_removals(self) -> None:
        oldest, newest = self._connection.execute("SELECT min(id), max(id) FROM removals").fetchone()
        if newest - oldest < 2 * KEPT_REMOVALS:
            return
        limit = (newest - KEPT_REMOVALS,)
        self._connection.execute(
            "UPDATE state SET pruned_up_to = (SELECT removed_in FROM removals WHERE id = ?)", limit
        )
        self._connection.execute("DELETE FROM removals WHERE id <= ?", limit)

    def add_session(self, session_id: int, timeout_ms: int) -> None:
        self._connection.execute("INSERT INTO sessions VALUES (?, ?)", (session_id, timeout_ms))

    def all_sessions(self) -> dict[int, int]:
        return all_sessions(self._connection)

    def has_session(self, session_id: int) -> bool:
        return has_session(self._connection, session_id)

    def remove_session(self, session_id: int) -> None:
        """Remove this session's row, which ends the session, and every node of it."""
        self._connection.execute("DELETE FROM sessions WHERE id = ?", (session_id,))
        self.removed_sessions.append(session_id)
        where = "FROM nodes WHERE owner = ?"
        removed = self._connection.execute(
            f"INSERT INTO removals (removed_in, path) SELECT ?, path {where} ORDER BY path",
            (self.transaction, session_id),
        ).rowcount
        if removed:
            self._connection.execute(f"DELETE {where}", (session_id,))
            self.has_changes = self.has_removals = True

    def _find(self, path: str, version: int) -> tuple[int, int, int]:
        """Version, creating transaction and owner of the node.

        Raises if it is missing or has another version.
        """
        row: tuple[int, int, int] | None = self._connection.execute(
            "SELECT version, created_in, owner FROM nodes WHERE path = ?", (path,)
        ).fetchone()
        if row is None:
            raise NoNode(path)
        if version not in (ANY_VERSION, row[0]):
            raise BadVersion(path)
        return row

    def _create(self, operation: Create) -> str:
        path = operation.path
        if path == "/":
            raise NodeExists(path)
        parent = parent_of(path)
        if parent not in self._known_parents:
            if self._find(parent, ANY_VERSION)[2]:
                raise NoChildrenForEphemerals(parent)
            self._known_parents.add(parent)
        if operation.sequential:
            path += self._next_in_sequence(parent)
        owner = self._owner if operation.ephemeral else 0
        row = (path, parent, operation.data, self.transaction, self.transaction, owner)
        statement = "INSERT INTO nodes VALUES (?, ?, ?, 0, ?, ?, ?, 0)"
        try:
            self._connection.execute(statement, row)
        except sqlite3.IntegrityError as error:
            if not self._remove_if_dead(path):
                raise NodeExists(path) from error
            self._connection.execute(statement, row)
        self.has_changes = True
        return path

    def _next_in_sequence(self, parent: str) -> str:
        select = "SELECT next_child FROM nodes WHERE path = ?"
        (number,) = self._connection.execute(select, (parent,)).fetchone()
        self._connection.execute("UPDATE nodes SET next_child = ? WHERE path = ?", (number + 1, parent))
        return f"{number:010d}"

    def _remove_if_dead(self, path: str) -> bool:
        owner = self._find(path, ANY_VERSION)[2]
        if owner == 0 or self._is_alive(owner, self.all_sessions()[owner]):
            return False
        self.remove_session(owner)
        return True

    def _set(self, operation: Set) -> Stat:
        version, created_in, owner = self._find(operation.path, operation.version)
        self._connection.execute(
            "UPDATE nodes SET data = ?, version = ?, modified_in = ? WHERE path = ?",
            (operation.data, version + 1, self.transaction, operation.path),
        )
        self.has_changes = True
        return Stat(version + 1, created_in, self.transaction, owner)

    def _delete(self, operation: Delete) -> None:
        path = operation.path
        if path == "/":
            raise StoreError("the root cannot be deleted")
        self._find(path, operation.version)
        below = "FROM nodes WHERE path > ? AND path < ?"
        bounds = (path + "/", path + "0")
        if operation.recursive:
            # From the bottom up, as a ZooKeeper client would have to do it.
            self._connection.execute(
                f"INSERT INTO removals (removed_in, path) SELECT ?, path {below} ORDER BY path DESC",
                (self.transaction, *bounds),
            )
            self._connection.execute(f"DELETE {below}", bounds)
        elif self._connection.execute(f"SELECT 1 {below} LIMIT 1", bounds).fetchone():
            raise NotEmpty(path)
        self._connection.execute(
            "INSERT INTO removals (removed_in, path) VALUES (?, ?)", (self.transaction, path)
        )
        self._connection.execute("DELETE FROM nodes WHERE path = ?", (path,))
        self._known_parents.clear()
        self.has_changes = self.has_removals = True


def has_session(connection: sqlite3.Connection, session_id: int) -> bool:
    """Returns whether this session is live: whether it still has its row."""
    row = connection.execute("SELECT 1 FROM sessions WHERE id = ?", (session_id,)).fetchone()
    return row is not None


def all_sessions(connection: sqlite3.Connection) -> dict[int, int]:
    """Returns the timeout of every session, in milliseconds.

    A process that wrote format 1 has nodes without a row.
    """
    rows = connection.execute(
        "SELECT id, timeout_ms FROM sessions UNION ALL"
        " SELECT DISTINCT owner, ? FROM nodes"
        " WHERE owner != 0 AND owner NOT IN (SELECT id FROM sessions)",
        (FORMAT_1_TIMEOUT_MS,),
    )
    return dict(rows.fetchall())
