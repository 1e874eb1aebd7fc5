"""The workers of a broker's log directories: one each if they are on several devices, otherwise none.

On a single device, a disk that hangs holds up every partition anyway, and writes stay plain calls.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from barnabas.base.filesystem import FileSystem
from barnabas.storage.directory_worker import DirectoryWorker, Notify

T = TypeVar("T")


class DirectoryWorkers:
    def __init__(self, paths: Sequence[Path], fs: FileSystem) -> None:
        several = len(_devices(paths, fs)) > 1
        self._workers: dict[Path, DirectoryWorker] = {
            path: DirectoryWorker(path) for path in (paths if several else ())
        }

    def get(self, path: Path) -> DirectoryWorker | None:
        return self._workers.get(path)

    def start(self, notify: Notify) -> None:
        """From now on the calling thread, an event loop's, waits for no directory that hangs."""
        for worker in self._workers.values():
            worker.start(notify)

    def stop(self) -> None:
        """Carry out what is queued; for a thread."""
        for worker in self._workers.values():
            worker.stop()

    def check(self, path: Path) -> None:
        """Raise `DirectoryStalled` if a directory does not respond now."""
        worker = self._workers.get(path)
        if worker is not None:
            worker.check()

    def run(self, path: Path, action: Callable[[], T]) -> T:
        """Carry out an operation in a directory; raises `DirectoryStalled` if it does not respond."""
        worker = self._workers.get(path)
        return action() if worker is None else worker.run(action)

    def submit(self, path: Path, action: Callable[[], T]) -> T:
        """The same, for what must be carried out: it is queued if the directory does not respond."""
        worker = self._workers.get(path)
        return action() if worker is None else worker.submit(action)

    def is_stalled(self, path: Path) -> bool:
        worker = self._workers.get(path)
        return worker is not None and worker.is_stalled


def _devices(paths: Sequence[Path], fs: FileSystem) -> set[int]:
    """The devices of the directories; one that cannot be used goes offline when the logs are opened."""
    found = set()
    for path in paths:
        with suppress(OSError):
            found.add(fs.device(path))
    return found
