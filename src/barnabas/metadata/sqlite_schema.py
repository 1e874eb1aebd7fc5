"""The embedded store's database file: its tables, how it is opened, and error messages for its failures.

Format (application id "Barn", user version 2), one SQLite file in WAL mode:

    nodes     one row per node: path, parent path, data, version, the transactions that created and last
              changed it, the owning session (0: persistent), the counter for sequential children
    removals  which path was removed in which transaction: watches need it, and `nodes` does not have it
    state     one row: number of the last transaction, and up to which one `removals` was pruned
    sessions  one row per session and its timeout; a session without its row has expired

User version 1 had no `sessions`: `open_database` adds the table, with a row for each owner of a node.

Crash guarantee: every commit is synced (synchronous=FULL) before the call returns, and SQLite's WAL makes a
transaction whole or absent after a crash. A file of another application is never written to.
"""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from barnabas.metadata.store import StoreError

APPLICATION_ID = 0x4261726E
FORMAT = 2
BUSY_TIMEOUT_SECONDS = 10.0
FORMAT_1_TIMEOUT_MS = 9000
"""The session timeout of processes that wrote format 1. They do not write stamps: see `sessions`."""

_SESSIONS = "CREATE TABLE sessions (id INTEGER PRIMARY KEY, timeout_ms INTEGER NOT NULL)"
_TABLES = f"""
CREATE TABLE nodes (
    path TEXT PRIMARY KEY,
    parent TEXT,
    data BLOB NOT NULL,
    version INTEGER NOT NULL,
    created_in INTEGER NOT NULL,
    modified_in INTEGER NOT NULL,
    owner INTEGER NOT NULL,
    next_child INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX nodes_by_parent ON nodes (parent);
CREATE INDEX nodes_by_change ON nodes (modified_in);
CREATE INDEX nodes_by_owner ON nodes (owner) WHERE owner != 0;
CREATE TABLE removals (id INTEGER PRIMARY KEY, removed_in INTEGER NOT NULL, path TEXT NOT NULL);
CREATE INDEX removals_by_change ON removals (removed_in);
CREATE TABLE state (last_transaction INTEGER NOT NULL, pruned_up_to INTEGER NOT NULL);
INSERT INTO state VALUES (0, 0);
{_SESSIONS};
INSERT INTO nodes VALUES ('/', NULL, x'', 0, 0, 0, 0, 0);
PRAGMA application_id = {APPLICATION_ID};
PRAGMA user_version = {FORMAT};
"""


def open_database(path: Path) -> sqlite3.Connection:
    """A connection to the database at `path`. Creates the database if it does not exist."""
    with clear_errors(path):
        connection = connect(path)
        try:
            # In one transaction: the checks must see one state, while another process may be creating the
            # database.
            connection.execute("BEGIN")
            file_format = _check_format(connection, path)
            connection.execute("COMMIT")
            if file_format != FORMAT:
                _bring_to_format(connection, path)
        except BaseException:
            connection.close()
            raise
        return connection


def connect(path: Path) -> sqlite3.Connection:
    """A connection to a database that `open_database` has checked, for any thread, but one at a time."""
    connection = sqlite3.connect(
        path, timeout=BUSY_TIMEOUT_SECONDS, isolation_level=None, check_same_thread=False
    )
    connection.execute("PRAGMA synchronous = FULL")
    return connection


def _check_format(connection: sqlite3.Connection, path: Path) -> int:
    """Returns the format of a Barnabas database, 0 for an empty one. Any other raises StoreError."""
    (application_id,) = connection.execute("PRAGMA application_id").fetchone()
    (file_format,) = connection.execute("PRAGMA user_version").fetchone()
    if application_id == APPLICATION_ID:
        if not 1 <= file_format <= FORMAT:
            raise StoreError(
                f"{path} has metadata format {file_format},"
                f" this version of Barnabas reads formats up to {FORMAT}"
            )
        (page_size,) = connection.execute("PRAGMA page_size").fetchone()
        if path.stat().st_size % page_size:
            raise StoreError(f"metadata store {path} is damaged (its last page is not whole)")
        return int(file_format)
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if application_id or file_format or tables:
        raise StoreError(f"{path} is the database of another application, not a metadata store of Barnabas")
    return 0


def _bring_to_format(connection: sqlite3.Connection, path: Path) -> None:
    _switch_to_wal(connection)
    connection.execute("BEGIN IMMEDIATE")
    try:
        # Another process may have done it before this one got the lock.
        file_format = _check_format(connection, path)
        if file_format == 0:
            for statement in _TABLES.split(";\n"):
                connection.execute(statement)
        elif file_format == 1:
            connection.execute(_SESSIONS)
            connection.execute(
                "INSERT INTO sessions SELECT DISTINCT owner, ? FROM nodes WHERE owner != 0",
                (FORMAT_1_TIMEOUT_MS,),
            )
            connection.execute(f"PRAGMA user_version = {FORMAT}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _switch_to_wal(connection: sqlite3.Connection) -> None:
    """SQLite does not apply its busy timeout here, so wait while another process does the same."""
    deadline = time.monotonic() + BUSY_TIMEOUT_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.002)


@contextmanager
def clear_errors(path: Path) -> Iterator[None]:
    """Turn SQLite's exceptions into a StoreError that says what is wrong with which file."""
    try:
        yield
    except sqlite3.Error as error:
        raise StoreError(_explain(error, path)) from error


_EXPLANATIONS = {
    sqlite3.SQLITE_NOTADB: "is not a database",
    sqlite3.SQLITE_CORRUPT: "is damaged",
    sqlite3.SQLITE_FULL: "cannot grow: the disk is full",
    sqlite3.SQLITE_READONLY: "cannot be written: the file or its disk is read-only",
    sqlite3.SQLITE_CANTOPEN: "cannot be opened: is its directory there, and writable?",
    sqlite3.SQLITE_BUSY: f"was locked by another process for more than {BUSY_TIMEOUT_SECONDS:.0f} s",
    sqlite3.SQLITE_IOERR: "could not be read or written (disk I/O error)",
    sqlite3.SQLITE_PERM: "may not be accessed",
}


def _explain(error: sqlite3.Error, path: Path) -> str:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    explanation = _EXPLANATIONS.get(code, "failed")
    return f"metadata store {path} {explanation} ({error})"
