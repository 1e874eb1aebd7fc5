"""Which leader epoch wrote which part of a log: `leader-epoch-checkpoint`.

Entries (epoch, start offset) ascend in both. The file is written by a flush, before the recovery point
moves, and by a clean close; what a crash loses is found again in the batches of the segments that recovery
scans.
"""

from pathlib import Path
from typing import NamedTuple

from barnabas.base.filesystem import FileSystem
from barnabas.storage import names
from barnabas.storage.checkpoints import MalformedCheckpoint, decode_lines, encode_lines

UNDEFINED_EPOCH = -1
UNDEFINED_OFFSET = -1


class EpochEntry(NamedTuple):
    epoch: int
    start_offset: int


class LeaderEpochs:
    def __init__(self, directory: Path, fs: FileSystem) -> None:
        self.directory: Path = directory
        self._fs: FileSystem = fs
        self.entries: list[EpochEntry] = []
        self.latest_epoch: int = UNDEFINED_EPOCH
        self.is_dirty: bool = False

    @property
    def path(self) -> Path:
        return self.directory / names.LEADER_EPOCHS

    def load(self) -> None:
        try:
            data = self._fs.read_bytes(self.path)
        except FileNotFoundError:
            return
        for line in decode_lines(data, self.path):
            try:
                epoch, start_offset = map(int, line.split())
            except ValueError:
                raise MalformedCheckpoint(f"{self.path} has the line {line!r}") from None
            last = self.entries[-1] if self.entries else None
            if last is not None and (epoch <= last.epoch or start_offset <= last.start_offset):
                raise MalformedCheckpoint(f"{self.path} does not ascend at the line {line!r}")
            self.assign(epoch, start_offset)
        self.is_dirty = False

    def encode(self) -> bytes:
        return encode_lines([f"{epoch} {start_offset}" for epoch, start_offset in self.entries])

    def write(self, *, sync: bool = True) -> None:
        self._fs.write_atomically(self.path, self.encode(), sync=sync)
        self.is_dirty = False

    @property
    def earliest(self) -> EpochEntry | None:
        return self.entries[0] if self.entries else None

    def assign(self, epoch: int, start_offset: int) -> bool:
        """Note that `epoch` begins at `start_offset`; what contradicts it goes. Says whether it is news."""
        entries = self.entries
        if entries and entries[-1].epoch == epoch and start_offset >= entries[-1].start_offset:
            return False
        while entries and (entries[-1].epoch >= epoch or entries[-1].start_offset >= start_offset):
            entries.pop()
        entries.append(EpochEntry(epoch, start_offset))
        self._changed()
        return True

    def end_offset_for(self, epoch: int, log_end_offset: int) -> tuple[int, int] | None:
        """The largest known epoch up to the requested one and the offset where it ended; None if unknown."""
        if epoch == UNDEFINED_EPOCH or not self.entries:
            return None
        if epoch == self.latest_epoch:
            return epoch, log_end_offset
        higher = next((entry for entry in self.entries if entry.epoch > epoch), None)
        if higher is None:
            return None
        floor = max((entry.epoch for entry in self.entries if entry.epoch <= epoch), default=epoch)
        return floor, higher.start_offset

    def epoch_for_offset(self, offset: int) -> int:
        """The epoch that wrote `offset`, or -1."""
        found = UNDEFINED_EPOCH
        for epoch, start_offset in self.entries:
            if start_offset > offset:
                break
            found = epoch
        return found

    def truncate_from_end(self, end_offset: int) -> None:
        """Forget epochs that begin at or after the end of the log."""
        while self.entries and self.entries[-1].start_offset >= end_offset:
            self.entries.pop()
            self._changed()

    def truncate_from_start(self, start_offset: int) -> None:
        """Forget epochs that ended before the log starts; the one it starts in begins there."""
        covered = [entry for entry in self.entries if entry.start_offset <= start_offset]
        if covered and (len(covered) > 1 or covered[0].start_offset != start_offset):
            first = EpochEntry(covered[-1].epoch, start_offset)
            self.entries = [first, *self.entries[len(covered) :]]
            self._changed()

    def take_over(self, other: "LeaderEpochs") -> None:
        """Have the epochs of another log with the same records."""
        if self.entries != other.entries:
            self.entries = list(other.entries)
            self._changed()

    def clear(self) -> None:
        self.entries = []
        self._changed()

    def _changed(self) -> None:
        self.latest_epoch = self.entries[-1].epoch if self.entries else UNDEFINED_EPOCH
        self.is_dirty = True
