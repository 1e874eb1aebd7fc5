"""Logs that were deleted or set aside: renamed at once, and synced before their name is used again.

Crash guarantee: a rename that is not synced may be undone by a loss of power. So the name is noted, and a log
of that name is created only after its directory was synced; until then to delete thousands of logs syncs
nothing. Renames and syncs of a directory that may hang go through its worker, in order.

Belongs to the loop's thread; what the worker runs changes the notes by single steps only.
"""

from contextlib import suppress
from functools import partial
from pathlib import Path

from barnabas.base.errors import StorageError
from barnabas.base.filesystem import FileSystem
from barnabas.base.ids import TopicPartition
from barnabas.storage.directory_worker import DirectoryStalled
from barnabas.storage.directory_workers import DirectoryWorkers
from barnabas.storage.log_directory import LogDirectory

_MOST_RENAMED = 10_000


class RenamedLogs:
    def __init__(self, fs: FileSystem, workers: DirectoryWorkers) -> None:
        self._fs: FileSystem = fs
        self._workers: DirectoryWorkers = workers
        self._roots: dict[TopicPartition, LogDirectory] = {}
        """Deleted and set aside, and a loss of power may undo it."""

    def note(self, key: TopicPartition, root: LogDirectory) -> None:
        """The log of `key` in `root` is about to be renamed."""
        if len(self._roots) >= _MOST_RENAMED:
            with suppress(DirectoryStalled):  # then it is done when the directory responds again
                self._workers.submit(root.path, self._sync_of(root))
        self._roots[key] = root

    def rename(self, root: LogDirectory, source: Path, target: Path, action: str) -> None:
        """Here and now: for the directory's worker, where there is one."""
        try:
            self._fs.rename(source, target)
        except OSError as error:
            root.fail(error)
            raise StorageError(f"{action} failed: {error}") from error

    def make_durable(self, key: TopicPartition) -> None:
        """Before a log of this name is created: a crash must not restore the older one.

        Raises `DirectoryStalled` while the older log's directory does not respond.
        """
        root = self._roots.get(key)
        if root is not None:
            self._workers.run(root.path, self._sync_of(root))

    def _sync_of(self, root: LogDirectory) -> "partial[None]":
        # Later notes are not covered: their rename may come after this sync.
        return partial(self._sync, root, [key for key, each in self._roots.items() if each is root])

    def _sync(self, root: LogDirectory, keys: list[TopicPartition]) -> None:
        if root.is_online:
            try:
                self._fs.sync_dir(root.path)
            except OSError as error:
                root.fail(error)
        for key in keys:
            self._roots.pop(key, None)
