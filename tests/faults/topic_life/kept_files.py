"""The disk of a life of topics: in memory, with a clock, and with an image of it taken at any moment.

A process that is killed leaves what it had written; a machine that loses power leaves what was synced. Both
are images: a new file system that shares nothing with the old one, so that whatever a broker does while it is
being taken down in this process changes nothing for the next one.
"""

import random
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Self

from tests.fakes.faulty_filesystem import FaultyFileSystem, MemoryDirectory, MemoryFile, MemoryNode

from barnabas.base.clock import Clock
from barnabas.base.filesystem import LogFile, StrPath


class TimedNode(MemoryNode):
    """Knows when it was changed last, as retention asks for records that carry no timestamp."""

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self.clock: Clock = clock

    def write(self, position: int, data: bytes) -> None:
        super().write(position, data)
        self.modified_ms = self.clock.now_ms()

    def truncate(self, size: int) -> None:
        super().truncate(size)
        self.modified_ms = self.clock.now_ms()


class KeptFiles(FaultyFileSystem):
    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self._clock: Clock = clock
        self._names: threading.RLock = threading.RLock()
        """A rename is one change of two names: no image may fall between them."""

    def image(self) -> Self:
        """What a killed process leaves: everything that was written."""
        taken = type(self)(self._clock)
        with self._names:
            taken._root = _copied(self._root, self._clock)
        return taken

    def image_after_power_cut(self, log_dirs: Sequence[Path], rng: random.Random) -> Self:
        """What a loss of power leaves: what was synced, and of the rest what `rng` chooses.

        Each log directory is on a disk of its own, which keeps some of the rest, nothing, or all of it.
        """
        taken = self.image()
        for path in log_dirs:
            if not taken.exists(path):
                continue
            chance = rng.random()
            if chance < 0.2:
                _sync_all(taken._directory(path))
            else:
                taken._directory(path).lose_power(rng if chance < 0.7 else None)
        return taken

    def open(self, path: StrPath, *, create: bool = False, read_only: bool = False) -> LogFile:
        with self._names:
            if create and not self.exists(path):
                parent, name = self._parent(path)
                parent.changing()[name] = TimedNode(self._clock)
            file = super().open(path, create=create, read_only=read_only)
        assert isinstance(file, MemoryFile)
        return file

    def rename(self, source: StrPath, target: StrPath) -> None:
        with self._names:
            super().rename(source, target)

    def files(self, directory: Path) -> list[Path]:
        """Every file below `directory`, in the order of their names."""
        found: list[Path] = []
        for name in sorted(self.listdir(directory)):
            path = directory / name
            if name in self.list_directories(directory):
                found += self.files(path)
            else:
                found.append(path)
        return found


def _sync_all(directory: MemoryDirectory) -> None:
    directory.sync()
    for node in directory.entries.values():
        if isinstance(node, MemoryDirectory):
            _sync_all(node)
        else:
            node.sync()


def _copied(directory: MemoryDirectory, clock: Clock) -> MemoryDirectory:
    copies: dict[int, MemoryNode | MemoryDirectory] = {}

    def copy(node: MemoryNode | MemoryDirectory) -> MemoryNode | MemoryDirectory:
        known = copies.get(id(node))
        if known is None:
            known = copies[id(node)] = (
                copy_directory(node) if isinstance(node, MemoryDirectory) else _copied_file(node, clock)
            )
        return known

    def copy_entries(
        entries: dict[str, MemoryNode | MemoryDirectory],
    ) -> dict[str, MemoryNode | MemoryDirectory]:
        return {name: copy(node) for name, node in list(entries.items())}

    def copy_directory(source: MemoryDirectory) -> MemoryDirectory:
        return MemoryDirectory(
            copy_entries(source.entries),
            copy_entries(source.durable),
            [copy_entries(each) for each in list(source.history)],
        )

    return copy_directory(directory)


def _copied_file(node: MemoryNode, clock: Clock) -> TimedNode:
    taken = TimedNode(clock)
    taken.data, taken.durable, taken.pending = bytearray(node.data), node.durable, list(node.pending)
    taken.modified_ms = node.modified_ms
    return taken
