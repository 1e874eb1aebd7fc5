"""The disk as an argument: every file of a log is reached through a `FileSystem`.

`LogFile` owns one descriptor. It closes when its last owner lets go of it, so a range that waits to be sent,
or a flush that runs in a thread, keeps the descriptor alive after the log has dropped or unlinked the file.

Where a descriptor is needed and none is left, `on_shortage` closes idle files and the operation is repeated.

Crash promise: a write is durable after `sync` of its file, a name after `sync_dir` of its directory;
`write_atomically` leaves either the old file or the new one, whole.
Tests use another file system, which fails a write or loses data that was not synced.
"""

import ctypes
import errno
import fcntl
import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ParamSpec, TypeAlias, TypeVar

from barnabas.base.descriptors import is_shortage

P = ParamSpec("P")
T = TypeVar("T")

Buffer: TypeAlias = bytes | bytearray | memoryview
StrPath: TypeAlias = str | os.PathLike[str]

_MAX_BUFFERS = 1024
"""IOV_MAX of Linux and macOS."""


_syncfs: Callable[[int], int] | None = getattr(ctypes.CDLL(None, use_errno=True), "syncfs", None)
"""Of Linux only."""


class LogFile:
    """One open file, read and written at given positions; the file offset is never used."""

    __slots__ = ("__weakref__", "fd", "path")

    def __init__(self, fd: int, path: StrPath) -> None:
        self.fd: int = fd
        self.path: StrPath = path

    def write_at(self, position: int, buffers: Sequence[Buffer], size: int | None = None) -> int:
        """Write all buffers at `position`, in one call unless the kernel stops short; returns their size.

        A caller that knows the size may pass it, which saves counting.
        """
        if size is None:
            size = sum(map(len, buffers))
        written = os.pwritev(self.fd, buffers, position) if len(buffers) <= _MAX_BUFFERS else 0
        if written != size:
            self._write_rest(position, buffers, written)
        return size

    def _write_rest(self, position: int, buffers: Sequence[Buffer], written: int) -> None:
        start = 0
        for buffer in buffers:
            view = memoryview(buffer)
            skip = min(max(written - start, 0), len(view))
            rest = view[skip:]
            at = position + start + skip
            while rest:
                count = os.pwrite(self.fd, rest, at)
                if count == 0:
                    raise OSError(errno.EIO, "wrote nothing", os.fspath(self.path))
                rest, at = rest[count:], at + count
            start += len(view)

    def read_at(self, position: int, size: int) -> bytes:
        """At most `size` bytes at `position`; fewer only at the end of the file."""
        data = os.pread(self.fd, size, position)
        if len(data) == size or not data:
            return data
        parts = [data]
        missing = size - len(data)
        while missing and (data := os.pread(self.fd, missing, position + size - missing)):
            parts.append(data)
            missing -= len(data)
        return b"".join(parts)

    def truncate(self, size: int) -> None:
        os.ftruncate(self.fd, size)

    def sync(self) -> None:
        os.fsync(self.fd)

    def size(self) -> int:
        return os.fstat(self.fd).st_size

    def close(self) -> None:
        fd, self.fd = self.fd, -1
        if fd >= 0:
            os.close(fd)

    def __del__(self) -> None:
        self.close()


class DirectoryLock:
    """Keeps other brokers out of a directory while this object lives."""

    def __init__(self, fd: int) -> None:
        self._fd: int = fd

    def release(self) -> None:
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    def __del__(self) -> None:
        self.release()


@dataclass(frozen=True, slots=True)
class DiskUsage:
    total_bytes: int
    usable_bytes: int


class FileSystem:
    """The operating system's files."""

    on_shortage: Callable[[], int] | None = None
    """Closes idle files and returns how many; called from any thread when no descriptor is left."""

    defers_syncs: bool = False
    """Files and names are not synced one by one, as `sync_everything` follows."""

    def _with_room(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call what needs a descriptor; a second time if there was none and some could be freed."""
        try:
            return function(*args, **kwargs)
        except OSError as error:
            if self.on_shortage is None or not is_shortage(error) or not self.on_shortage():
                raise
        return function(*args, **kwargs)

    def open(self, path: StrPath, *, create: bool = False, read_only: bool = False) -> LogFile:
        access = os.O_RDONLY if read_only else os.O_RDWR
        flags = access | os.O_CLOEXEC | (os.O_CREAT if create else 0)
        return LogFile(self._with_room(os.open, path, flags, 0o644), path)

    def read_bytes(self, path: StrPath) -> bytes:
        with self._with_room(open, path, "rb") as file:
            return file.read()

    def write_bytes(self, path: StrPath, data: Buffer, *, sync: bool = False) -> None:
        """Overwrite the file itself: a crash may leave part of the content."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
        fd = self._with_room(os.open, path, flags, 0o644)
        try:
            rest = memoryview(data)
            while rest:
                rest = rest[os.write(fd, rest) :]
            if sync and not self.defers_syncs:
                os.fsync(fd)
        finally:
            os.close(fd)

    def write_atomically(self, path: StrPath, data: Buffer, sync: bool = True) -> None:
        """Replace the file by a complete new one, through `<path>.tmp` as Kafka does."""
        name = os.fspath(path)
        temporary = name + ".tmp"
        self.write_bytes(temporary, data, sync=sync)
        self.rename(temporary, name)
        if sync:
            self.sync_dir(os.path.dirname(name) or ".")

    @property
    def can_sync_everything(self) -> bool:
        return _syncfs is not None

    def sync_everything(self, path: StrPath) -> None:
        """Make the whole file system durable that `path` is on (syncfs of Linux)."""
        assert _syncfs is not None
        fd = self._with_room(os.open, path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            if _syncfs(fd) != 0:
                error = ctypes.get_errno()
                raise OSError(error, os.strerror(error), os.fspath(path))
        finally:
            os.close(fd)

    def sync_file(self, path: StrPath) -> None:
        if self.defers_syncs:
            return
        fd = self._with_room(os.open, path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)

    def sync_dir(self, path: StrPath) -> None:
        self.sync_file(path)

    def rename(self, source: StrPath, target: StrPath) -> None:
        os.replace(source, target)

    def unlink(self, path: StrPath, *, missing_ok: bool = True) -> None:
        try:
            os.unlink(path)
        except FileNotFoundError:
            if not missing_ok:
                raise

    def makedirs(self, path: StrPath) -> None:
        os.makedirs(path, exist_ok=True)

    def mkdir(self, path: StrPath) -> None:
        os.mkdir(path)

    def rmdir(self, path: StrPath) -> None:
        """Remove an empty directory; one that does not exist is fine."""
        try:
            os.rmdir(path)
        except FileNotFoundError:
            return

    def listdir(self, path: StrPath) -> list[str]:
        return self._with_room(os.listdir, path)

    def list_directories(self, path: StrPath) -> list[str]:
        """Names of the sub-directories of `path`, without a call per entry."""
        with self._with_room(os.scandir, path) as entries:
            return [entry.name for entry in entries if entry.is_dir()]

    def exists(self, path: StrPath) -> bool:
        return os.path.exists(path)

    def size(self, path: StrPath) -> int:
        return os.stat(path).st_size

    def modified_ms(self, path: StrPath) -> int:
        return os.stat(path).st_mtime_ns // 1_000_000

    def set_modified_ms(self, path: StrPath, modified_ms: int) -> None:
        os.utime(path, ns=(modified_ms * 1_000_000, modified_ms * 1_000_000))

    def rmtree(self, path: StrPath) -> None:
        """Remove a directory and all it holds. Files that are removed already are ignored."""
        self._with_room(shutil.rmtree, path, ignore_errors=False, onerror=_ignore_missing)

    def disk_usage(self, path: StrPath) -> DiskUsage:
        stat = os.statvfs(path)
        return DiskUsage(stat.f_blocks * stat.f_frsize, stat.f_bavail * stat.f_frsize)

    def device(self, path: StrPath) -> int:
        """The device that a directory is on; of one that does not exist yet, that of its parent."""
        name = os.path.abspath(path)
        while True:
            try:
                return os.stat(name).st_dev
            except FileNotFoundError:
                name = os.path.dirname(name)

    def lock(self, path: StrPath) -> DirectoryLock | None:
        """Lock the file at `path`, creating it; None when another broker holds it.

        The POSIX lock is the one the Java broker takes; it does not keep out a second broker inside this
        process, the BSD lock does.
        """
        fd = self._with_room(os.open, path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(fd)
            if error.errno in (errno.EACCES, errno.EAGAIN):
                return None
            raise
        return DirectoryLock(fd)


def _ignore_missing(_function: object, _path: str, excinfo: tuple[object, BaseException, object]) -> None:
    if not isinstance(excinfo[1], FileNotFoundError):
        raise excinfo[1]
