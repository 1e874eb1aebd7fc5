"""The operating system's files, of which those below a directory hang until they are released."""

import errno
import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.patience import PATIENCE

from barnabas.base.filesystem import Buffer, FileSystem, LogFile, StrPath
from barnabas.storage.directory_worker import PATIENCE_SECONDS
from barnabas.storage.directory_workers import DirectoryWorkers


class BlockingFile(LogFile):
    __slots__ = ("_fs",)

    def __init__(self, fs: "BlockingFileSystem", fd: int, path: StrPath) -> None:
        super().__init__(fd, path)
        self._fs: BlockingFileSystem = fs

    def write_at(self, position: int, buffers: Sequence[Buffer], size: int | None = None) -> int:
        self._fs.pass_gate("write", self.path)
        return super().write_at(position, buffers, size)

    def truncate(self, size: int) -> None:
        self._fs.pass_gate("write", self.path)
        super().truncate(size)

    def sync(self) -> None:
        self._fs.pass_gate("sync", self.path)
        super().sync()


class BlockingFileSystem(FileSystem):
    """`hanging` says what hangs: "write" (and all that creates, renames or removes), "sync" or both."""

    def __init__(self) -> None:
        self._hanging: tuple[Path, frozenset[str]] | None = None
        self._open: threading.Event = threading.Event()
        self.devices: dict[Path, int] = {}
        """Directories that pose as mount points."""
        self.failing: Path | None = None
        """What is written below this directory fails."""
        self.blocked: list[str] = []
        """What waits at the gate, by thread."""

    @contextmanager
    def hanging(self, directory: Path, *kinds: str) -> Iterator[None]:
        self._open.clear()
        self._hanging = directory, frozenset(kinds or ("write", "sync"))
        try:
            yield
        finally:
            self._hanging = None
            self._open.set()

    def pass_gate(self, kind: str, path: StrPath) -> None:
        hanging = self._hanging
        if hanging is not None and kind in hanging[1] and Path(path).is_relative_to(hanging[0]):
            name = threading.current_thread().name
            self.blocked.append(name)
            self._open.wait(PATIENCE)  # a test that waits for what cannot happen fails instead of hanging
            self.blocked.remove(name)
        if self.failing is not None and Path(path).is_relative_to(self.failing):
            raise OSError(errno.EIO, os.strerror(errno.EIO), os.fspath(path))

    def open(self, path: StrPath, *, create: bool = False, read_only: bool = False) -> LogFile:
        if create:
            self.pass_gate("write", path)
        file = super().open(path, create=create, read_only=read_only)
        fd, file.fd = file.fd, -1
        return BlockingFile(self, fd, path)

    def write_bytes(self, path: StrPath, data: Buffer, *, sync: bool = False) -> None:
        self.pass_gate("write", path)
        if sync:
            self.pass_gate("sync", path)
        super().write_bytes(path, data, sync=sync)

    def sync_file(self, path: StrPath) -> None:
        self.pass_gate("sync", path)
        super().sync_file(path)

    def rename(self, source: StrPath, target: StrPath) -> None:
        self.pass_gate("write", source)
        super().rename(source, target)

    def unlink(self, path: StrPath, *, missing_ok: bool = True) -> None:
        self.pass_gate("write", path)
        super().unlink(path, missing_ok=missing_ok)

    def mkdir(self, path: StrPath) -> None:
        self.pass_gate("write", path)
        super().mkdir(path)

    def device(self, path: StrPath) -> int:
        for directory, number in self.devices.items():
            if Path(path).is_relative_to(directory):
                return number
        return 0


def be_patient(workers: DirectoryWorkers, *directories: Path) -> None:
    """Directories that do not hang never count as stalled, however busy the machine is."""
    _set_patience(workers, PATIENCE, *directories)


@contextmanager
def hanging_directory(
    fs: BlockingFileSystem, workers: DirectoryWorkers, directory: Path, *kinds: str
) -> Iterator[None]:
    """The directory hangs, and counts as stalled as soon as in a broker."""
    _set_patience(workers, PATIENCE_SECONDS, directory)
    with fs.hanging(directory, *kinds):
        yield
    be_patient(workers, directory)


def _set_patience(workers: DirectoryWorkers, seconds: float, *directories: Path) -> None:
    for directory in directories:
        worker = workers.get(directory)
        assert worker is not None
        worker.patience = seconds
