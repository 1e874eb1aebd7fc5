"""The disk of one broker: a file system in memory with an age, that can lose power, be slow, full or lost.

A kill and a loss of power give a new disk with what is left (`image`, `image_after_power_cut`): what a
process that has ended still does to its files reaches nothing.

Files have negative descriptors, which only `send_file` understands: it stands in for `os.sendfile`.
"""

import errno
import itertools
import os
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path, PurePosixPath

from tests.fakes.faulty_filesystem import MemoryFile
from tests.faults.topic_life.kept_files import KeptFiles

from barnabas.base.clock import Clock
from barnabas.base.filesystem import Buffer, LogFile, StrPath

_descriptors = itertools.count(-2, -1)
_open_files: "weakref.WeakValueDictionary[int, SimulatedFile]" = weakref.WeakValueDictionary()


class SimulatedFile(MemoryFile):
    """A file that knows whether its directory is lost."""

    __slots__ = ("_disk",)

    def __init__(self, disk: "SimulatedDisk", file: MemoryFile) -> None:
        super().__init__(file.fs, file.node, file.path)
        self._disk: SimulatedDisk = disk
        self.fd = next(_descriptors)
        _open_files[self.fd] = self

    def write_at(self, position: int, buffers: Sequence[Buffer], size: int | None = None) -> int:
        self._disk.check(self.path)
        return super().write_at(position, buffers, size)

    def truncate(self, size: int) -> None:
        self._disk.check(self.path)
        super().truncate(size)


class SimulatedDisk(KeptFiles):
    def __init__(self, clock: Clock) -> None:
        super().__init__(clock)
        self.sync_seconds: float = 0.0
        """How long a sync takes, or a read by a thread."""
        self.spend: Callable[[float], None] = _spend_nothing
        """Called with the time that an operation takes, on the thread that waits for it."""
        self.spend_reading: Callable[[float], None] = _spend_nothing
        self._lost: dict[PurePosixPath, None] = {}

    # --- what goes wrong --------------------------------------------------------------------------------

    def fill(self) -> None:
        """No byte fits any more."""
        self.fail_write(0)

    def lose(self, directory: Path) -> None:
        """Every operation below the directory fails, until `heal`."""
        self._lost[PurePosixPath(directory)] = None

    def heal(self) -> None:
        super().heal()
        self._lost.clear()
        self.sync_seconds = 0.0

    def check(self, path: StrPath) -> None:
        if self._lost:
            pure = PurePosixPath(os.fspath(path))
            if any(pure.is_relative_to(lost) for lost in self._lost):
                raise OSError(errno.EIO, os.strerror(errno.EIO), os.fspath(path))

    def content(self, path: Path) -> bytes:
        """What is in a file, whatever goes wrong: for those who look on."""
        return bytes(self._file(path).data)

    # --- the interface ----------------------------------------------------------------------------------

    def before_sync(self, path: StrPath) -> None:
        self.check(path)
        self.spend(self.sync_seconds)
        super().before_sync(path)

    def before_read(self, path: StrPath) -> None:
        self.check(path)
        self.spend_reading(self.sync_seconds)
        super().before_read(path)

    def open(self, path: StrPath, *, create: bool = False, read_only: bool = False) -> LogFile:
        self.check(path)
        file = super().open(path, create=create, read_only=read_only)
        assert isinstance(file, MemoryFile)
        return SimulatedFile(self, file)

    def rename(self, source: StrPath, target: StrPath) -> None:
        self.check(source)
        super().rename(source, target)

    def mkdir(self, path: StrPath) -> None:
        self.check(path)
        super().mkdir(path)

    def listdir(self, path: StrPath) -> list[str]:
        self.check(path)
        return super().listdir(path)

    def list_directories(self, path: StrPath) -> list[str]:
        self.check(path)
        return super().list_directories(path)


def read_open_file(descriptor: int, position: int, size: int) -> bytes:
    """What `os.sendfile` would read."""
    return _open_files[descriptor].read_at(position, size)


def _spend_nothing(seconds: float) -> None:
    """No thread waits."""
