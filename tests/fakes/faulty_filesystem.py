"""A file system in memory that can fail a write and lose its power.

Durability is as strict as POSIX lets it be: bytes survive if their file was synced, names if their
directory was. What was not synced may survive too, wholly, in part or out of order; `cut_power` with a
random generator chooses, without one nothing unsynced survives.
"""

import errno
import os
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from barnabas.base.filesystem import Buffer, DirectoryLock, DiskUsage, FileSystem, LogFile, StrPath


class MemoryNode:
    """A file's content, as programs see it and as the disk has it."""

    def __init__(self) -> None:
        self.data: bytearray = bytearray()
        self.durable: bytes = b""
        self.pending: list[tuple[int, bytes] | int] = []
        """Writes (position, bytes) and truncations (size) since the last sync."""
        self.modified_ms: int = 0

    def write(self, position: int, data: bytes) -> None:
        self.pending.append((position, data))
        _apply(self.data, (position, data))

    def truncate(self, size: int) -> None:
        self.pending.append(size)
        _apply(self.data, size)

    def sync(self) -> None:
        self.durable = bytes(self.data)
        self.pending.clear()

    def lose_power(self, rng: random.Random | None) -> None:
        content = bytearray(self.durable)
        if rng is not None:
            for change in self.pending:
                if rng.random() < 0.6:
                    _apply(content, _torn(change, rng))
        self.data = content
        self.sync()


def _apply(content: bytearray, change: tuple[int, bytes] | int) -> None:
    if isinstance(change, int):
        del content[change:]
        content.extend(bytes(change - len(content)))
        return
    position, data = change
    content.extend(bytes(max(0, position - len(content))))
    content[position : position + len(data)] = data


def _torn(change: tuple[int, bytes] | int, rng: random.Random) -> tuple[int, bytes] | int:
    if isinstance(change, int) or rng.random() < 0.5:
        return change
    position, data = change
    return position, data[: rng.randrange(len(data) + 1)]


@dataclass
class MemoryDirectory:
    entries: "dict[str, MemoryNode | MemoryDirectory]" = field(default_factory=dict)
    durable: "dict[str, MemoryNode | MemoryDirectory]" = field(default_factory=dict)
    history: "list[dict[str, MemoryNode | MemoryDirectory]]" = field(default_factory=list)
    """The entries before each change since the last sync."""

    def changing(self) -> "dict[str, MemoryNode | MemoryDirectory]":
        self.history.append(dict(self.entries))
        return self.entries

    def sync(self) -> None:
        self.durable = dict(self.entries)
        self.history.clear()

    def lose_power(self, rng: random.Random | None) -> None:
        if rng is None:
            self.entries = dict(self.durable)
        else:
            self.entries = dict(rng.choice([self.durable, *self.history, self.entries]))
        self.sync()
        for node in self.entries.values():
            node.lose_power(rng)


class MemoryFile(LogFile):
    __slots__ = ("fs", "node")

    def __init__(self, fs: "FaultyFileSystem", node: MemoryNode, path: StrPath) -> None:
        super().__init__(-1, path)
        self.fs: FaultyFileSystem = fs
        self.node: MemoryNode = node

    def write_at(self, position: int, buffers: Sequence[Buffer], size: int | None = None) -> int:
        data = b"".join(buffers)
        allowed = self.fs.before_write(len(data))
        self.node.write(position, data[:allowed])
        if allowed < len(data):
            raise self.fs.failure(self.path)
        return len(data)

    def read_at(self, position: int, size: int) -> bytes:
        self.fs.before_read(self.path)
        return bytes(self.node.data[position : position + size])

    def truncate(self, size: int) -> None:
        self.node.truncate(size)

    def sync(self) -> None:
        self.fs.before_sync(self.path)
        self.node.sync()

    def size(self) -> int:
        return len(self.node.data)


class _MemoryLock(DirectoryLock):
    def __init__(self, held: set[str], path: str) -> None:
        super().__init__(-1)
        self._held: set[str] = held
        self._path: str = path

    def release(self) -> None:
        self._held.discard(self._path)


class FaultyFileSystem(FileSystem):
    def __init__(self) -> None:
        self._root: MemoryDirectory = MemoryDirectory()
        self._locks: set[str] = set()
        self._failing_write: int = -1
        self._failing_sync: int = -1
        self._partial_bytes: int = 0
        self._errno: int = errno.ENOSPC
        self.reads_fail: bool = False
        self.writes: int = 0
        self.syncs: int = 0
        self.reads: int = 0

    # ---- faults

    def fail_write(self, number: int, *, error: int = errno.ENOSPC, partial_bytes: int = 0) -> None:
        """Let the next write but `number` fail, after `partial_bytes` of it, and all that follow."""
        self._failing_write, self._errno, self._partial_bytes = self.writes + number, error, partial_bytes

    def fail_sync(self, number: int, *, error: int = errno.EIO) -> None:
        self._failing_sync, self._errno = self.syncs + number, error

    def heal(self) -> None:
        self._failing_write = self._failing_sync = -1
        self.reads_fail = False

    def before_write(self, size: int) -> int:
        """How many bytes of a write go through."""
        number, self.writes = self.writes, self.writes + 1
        if self._failing_write < 0 or number < self._failing_write:
            return size
        return min(self._partial_bytes, max(size - 1, 0)) if number == self._failing_write else 0

    def before_sync(self, path: StrPath) -> None:
        number, self.syncs = self.syncs, self.syncs + 1
        if 0 <= self._failing_sync <= number:
            raise self.failure(path)

    def before_read(self, path: StrPath) -> None:
        self.reads += 1
        if self.reads_fail:
            raise OSError(errno.EIO, os.strerror(errno.EIO), os.fspath(path))

    def failure(self, path: StrPath) -> OSError:
        return OSError(self._errno, os.strerror(self._errno), os.fspath(path))

    def cut_power(self, rng: random.Random | None = None) -> None:
        """Everything that was not synced is lost, or what `rng` chooses of it; locks are free again."""
        self._locks.clear()
        self.heal()
        self._root.lose_power(rng)

    # ---- the interface

    def open(self, path: StrPath, *, create: bool = False, read_only: bool = False) -> LogFile:
        parent, name = self._parent(path)
        node = parent.entries.get(name)
        if node is None:
            if not create:
                raise FileNotFoundError(errno.ENOENT, "no such file", os.fspath(path))
            if self.before_write(1) == 0:
                raise self.failure(path)
            node = parent.changing()[name] = MemoryNode()
        if isinstance(node, MemoryDirectory):
            raise IsADirectoryError(errno.EISDIR, "is a directory", os.fspath(path))
        return MemoryFile(self, node, path)

    def read_bytes(self, path: StrPath) -> bytes:
        self.before_read(path)
        return bytes(self._file(path).data)

    def write_bytes(self, path: StrPath, data: Buffer, *, sync: bool = False) -> None:
        file = self.open(path, create=True)
        file.truncate(0)
        file.write_at(0, [data])
        if sync:
            file.sync()

    @property
    def can_sync_everything(self) -> bool:
        return False

    def sync_file(self, path: StrPath) -> None:
        self.before_sync(path)
        self._file(path).sync()

    def sync_dir(self, path: StrPath) -> None:
        self.before_sync(path)
        self._directory(path).sync()

    def rename(self, source: StrPath, target: StrPath) -> None:
        parent, name = self._parent(source)
        if name not in parent.entries:
            raise FileNotFoundError(errno.ENOENT, "no such file", os.fspath(source))
        target_parent, target_name = self._parent(target)
        assert parent is target_parent, "storage renames within a directory only"
        entries = parent.changing()
        entries[target_name] = entries.pop(name)

    def unlink(self, path: StrPath, *, missing_ok: bool = True) -> None:
        parent, name = self._parent(path)
        if name in parent.entries:
            del parent.changing()[name]
        elif not missing_ok:
            raise FileNotFoundError(errno.ENOENT, "no such file", os.fspath(path))

    def makedirs(self, path: StrPath) -> None:
        directory = self._root
        for part in PurePosixPath(os.fspath(path)).parts:
            if part not in directory.entries:
                directory.changing()[part] = MemoryDirectory()
                directory.sync()  # the directories above a log directory are not its business
            child = directory.entries[part]
            assert isinstance(child, MemoryDirectory)
            directory = child

    def mkdir(self, path: StrPath) -> None:
        parent, name = self._parent(path)
        if name in parent.entries:
            raise FileExistsError(errno.EEXIST, "exists", os.fspath(path))
        parent.changing()[name] = MemoryDirectory()

    def rmdir(self, path: StrPath) -> None:
        parent, name = self._parent(path)
        if name in parent.entries:
            del parent.changing()[name]

    def listdir(self, path: StrPath) -> list[str]:
        return list(self._directory(path).entries)

    def list_directories(self, path: StrPath) -> list[str]:
        entries = self._directory(path).entries
        return [name for name, node in entries.items() if isinstance(node, MemoryDirectory)]

    def exists(self, path: StrPath) -> bool:
        try:
            parent, name = self._parent(path)
        except FileNotFoundError:
            return False
        return name in parent.entries

    def size(self, path: StrPath) -> int:
        return len(self._file(path).data)

    def modified_ms(self, path: StrPath) -> int:
        return self._file(path).modified_ms

    def set_modified_ms(self, path: StrPath, modified_ms: int) -> None:
        self._file(path).modified_ms = modified_ms

    def rmtree(self, path: StrPath) -> None:
        parent, name = self._parent(path)
        if name in parent.entries:
            del parent.changing()[name]

    def disk_usage(self, path: StrPath) -> DiskUsage:
        return DiskUsage(1 << 40, 1 << 39)

    def device(self, path: StrPath) -> int:
        return 0

    def lock(self, path: StrPath) -> DirectoryLock | None:
        name = os.fspath(path)
        if name in self._locks:
            return None
        self._locks.add(name)
        return _MemoryLock(self._locks, name)

    # ---- lookup

    def _parent(self, path: StrPath) -> tuple[MemoryDirectory, str]:
        pure = PurePosixPath(os.fspath(path))
        return self._directory(pure.parent), pure.name

    def _directory(self, path: StrPath) -> MemoryDirectory:
        directory = self._root
        for part in PurePosixPath(os.fspath(path)).parts:
            child = directory.entries.get(part)
            if not isinstance(child, MemoryDirectory):
                raise FileNotFoundError(errno.ENOENT, "no such directory", os.fspath(path))
            directory = child
        return directory

    def _file(self, path: StrPath) -> MemoryNode:
        parent, name = self._parent(path)
        node = parent.entries.get(name)
        if not isinstance(node, MemoryNode):
            raise FileNotFoundError(errno.ENOENT, "no such file", os.fspath(path))
        return node
