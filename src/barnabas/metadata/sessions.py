"""Sessions of the embedded store: a row in the database, and a file that the session's process keeps locked.

The row decides: a session is live while it has its row, and every write of a session checks the row within
its transaction. The file shows other processes when they may remove the row. It is named
`<database>-sessions/<16 hex digits>`, is locked with flock(2) for the lifetime of the session, and holds a
stamp: the time of CLOCK_MONOTONIC in nanoseconds (8 bytes, little endian), which the process renews. A
session is dead if

- its file is missing or unlocked: the process has ended, for any reason; the kernel releases the lock, or
- its stamp is older than the session timeout: the process is stopped or hangs.

A stamp is written to the page cache only. It costs no sync and need not survive a crash, as no lock does. For
the same reason the stamp of a locked file is always of this boot. CLOCK_MONOTONIC is the same for all
processes of a host and does not count the time that the host is suspended. A file without a stamp is that of
an earlier version of Barnabas; its lock alone decides. A session that renews its stamp in the moment of its
removal is expired: its row is missing.

flock belongs to the open file, not to the process, so two stores of one process are two sessions. A forked
child closes its copy at once, and an executed program never gets it (close-on-exec).

Invariant: a row is inserted only after the file was locked and stamped. A file is removed only by its owner,
or by a process that found it unlocked or has removed the row. Nothing here needs to survive a crash.
"""

import contextlib
import fcntl
import os
import struct
import threading
import weakref
from pathlib import Path

from barnabas.metadata.store import StoreError

_STAMP = struct.Struct("<q")


class StoreSession:
    """The session of this store, until `close()`."""

    def __init__(self, directory: Path, now_ns: int) -> None:
        self.directory: Path = directory
        self.id: int = 0
        self._fd: int = -1
        # A stamp must never be written to a descriptor that was closed and belongs to another file by now.
        self._fd_lock: threading.Lock = threading.Lock()
        try:
            directory.mkdir(parents=True, exist_ok=True)
            while self._fd < 0:
                self._try_to_lock_new_file()
            self.stamp(now_ns)
        except OSError as error:
            self.close()
            raise StoreError(f"cannot open a session in {directory}: {error.strerror}") from error
        _open_sessions.add(self)

    def _try_to_lock_new_file(self) -> None:
        session_id = int.from_bytes(os.urandom(8), "big") % 2**62 + 1
        path = session_path(self.directory, session_id)
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            is_linked = os.fstat(fd).st_nlink > 0
        except OSError:
            is_linked = False
        # Between open and lock, another process may have removed the file as that of an expired session.
        if is_linked:
            self.id, self._fd = session_id, fd
        else:
            os.close(fd)

    def stamp(self, now_ns: int) -> None:
        """Renew the session for one timeout. Raises OSError if the file cannot be written."""
        with self._fd_lock:
            if self._fd >= 0:
                os.pwrite(self._fd, _STAMP.pack(now_ns), 0)

    def close(self) -> None:
        with self._fd_lock:
            if self._fd >= 0:
                with contextlib.suppress(OSError):
                    session_path(self.directory, self.id).unlink()
                self._close_fd()

    def abandon(self) -> None:
        """Close this process's copy of the lock without ending the session: a forked child does this."""
        self._fd_lock = threading.Lock()
        self._close_fd()

    def _close_fd(self) -> None:
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)


def session_path(directory: Path, session_id: int) -> Path:
    return directory / f"{session_id:016x}"


def is_alive(directory: Path, session_id: int, stamped_since_ns: int) -> bool:
    """Returns whether the session's process runs, and has renewed its stamp since this time."""
    try:
        return _stamp(session_path(directory, session_id)) >= stamped_since_ns
    except FileNotFoundError:
        return False
    except OSError as error:
        raise StoreError(f"cannot check if session {session_id:016x} is alive: {error.strerror}") from error


def forget(directory: Path, session_id: int) -> None:
    """Remove the file of an expired session."""
    with contextlib.suppress(OSError):
        session_path(directory, session_id).unlink()


def remove_stale_files(directory: Path, keep: frozenset[int]) -> None:
    """Remove the files of expired sessions without nodes, so that they do not accumulate."""
    try:
        paths = list(directory.iterdir())
    except OSError:
        return
    for path in paths:
        with contextlib.suppress(OSError, ValueError):
            if int(path.name, 16) not in keep:
                _stamp(path, unlink=True)


_UNLOCKED = -(2**63)
_NEVER_STALE = 2**63


def _stamp(path: Path, *, unlink: bool = False) -> int:
    """Returns the session's stamp, or `_UNLOCKED`. Removes an unlocked file on request.

    Tests with a shared lock, so that two processes that test do not take each other for the owner.
    """
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        if unlink:
            path.unlink()  # With the lock held: no other process can lock the file in between.
        return _UNLOCKED
    except BlockingIOError:
        stamp = os.pread(fd, _STAMP.size, 0)
        return int(_STAMP.unpack(stamp)[0]) if len(stamp) == _STAMP.size else _NEVER_STALE
    finally:
        os.close(fd)


_open_sessions: weakref.WeakSet[StoreSession] = weakref.WeakSet()


def _abandon_all() -> None:
    for session in list(_open_sessions):
        session.abandon()


os.register_at_fork(after_in_child=_abandon_all)
