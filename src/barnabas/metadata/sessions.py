"""Who is alive: a session is a file that its process keeps locked.

`<database>-sessions/<16 hex digits>` is locked with flock(2) for the life of the session. The kernel lets go
of the lock when the process ends, however it ends, so a session is dead when its file is gone or unlocked.
flock belongs to the open file, not to the process, so two stores of one process are two sessions; a forked
child lets go of its copy at once, and an executed one never gets it (close-on-exec).

Invariant: an id is in the database only after its file was locked, and a file is removed only by its owner or
by who found it unlocked. Nothing here needs to survive a crash.
"""

import contextlib
import fcntl
import os
import weakref
from pathlib import Path

from barnabas.metadata.store import StoreError


class Session:
    """Our own place among the living, until `close()`."""

    def __init__(self, directory: Path) -> None:
        self.directory: Path = directory
        self.id: int = 0
        self._fd: int = -1
        try:
            directory.mkdir(parents=True, exist_ok=True)
            while self._fd < 0:
                self._try_to_lock_new_file()
        except OSError as error:
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
        # Between open and lock, somebody who cleans up may have taken the file for a dead one's.
        if is_linked:
            self.id, self._fd = session_id, fd
        else:
            os.close(fd)

    @property
    def is_lost(self) -> bool:
        """True when the file was removed by someone: everybody else holds us for dead."""
        return self._fd < 0 or os.fstat(self._fd).st_nlink == 0

    def close(self) -> None:
        if self._fd >= 0:
            with contextlib.suppress(OSError):
                session_path(self.directory, self.id).unlink()
            self.abandon()

    def abandon(self) -> None:
        """Let go of our copy of the lock without ending the session: what a forked child does."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)


def session_path(directory: Path, session_id: int) -> Path:
    return directory / f"{session_id:016x}"


def is_alive(directory: Path, session_id: int) -> bool:
    try:
        return not _is_unlocked(session_path(directory, session_id))
    except FileNotFoundError:
        return False
    except OSError as error:
        raise StoreError(f"cannot tell if session {session_id:016x} is alive: {error.strerror}") from error


def forget(directory: Path, session_id: int) -> None:
    """Remove the file of a session that was found dead."""
    with contextlib.suppress(OSError):
        session_path(directory, session_id).unlink()


def remove_stale_files(directory: Path, keep: frozenset[int]) -> None:
    """Remove files of the dead that own nothing any more, so that they do not pile up."""
    try:
        paths = list(directory.iterdir())
    except OSError:
        return
    for path in paths:
        with contextlib.suppress(OSError, ValueError):
            if int(path.name, 16) not in keep:
                _is_unlocked(path, unlink=True)


def _is_unlocked(path: Path, *, unlink: bool = False) -> bool:
    """Ask with a shared lock, so that two who ask do not take each other for the owner."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        if unlink:
            path.unlink()  # while we hold it: nobody can lock the file in between
        return True
    except BlockingIOError:
        return False
    finally:
        os.close(fd)


_open_sessions: weakref.WeakSet[Session] = weakref.WeakSet()


def _abandon_all() -> None:
    for session in list(_open_sessions):
        session.abandon()


os.register_at_fork(after_in_child=_abandon_all)
