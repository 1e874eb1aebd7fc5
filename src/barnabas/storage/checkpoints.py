"""Small text files: offsets per partition, and start offsets per leader epoch.

Format: a line with the version (0), a line with the number of entries, a line per entry: `<topic>
<partition> <offset>` or `<epoch> <start offset>`. Files are replaced whole, after a sync, so that a reader
finds the old or the new one.

A checkpoint is a hint: what it says can be derived from the logs, at a cost. So a damaged line is left out
with a warning and the other lines count; `is_intact` says whether a partition without an entry had none.
"""

import logging
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from barnabas.base.filesystem import FileSystem
from barnabas.base.ids import TopicPartition

VERSION = 0
RECOVERY_POINTS = "recovery-point-offset-checkpoint"
LOG_START_OFFSETS = "log-start-offset-checkpoint"
HIGH_WATERMARKS = "replication-offset-checkpoint"
_LARGEST = 2**63 - 1
_logger = logging.getLogger(__name__)


class MalformedCheckpoint(OSError):
    """A checkpoint file that is damaged or incomplete."""


def encode_lines(entries: Iterable[str]) -> bytes:
    lines = list(entries)
    return "".join(f"{line}\n" for line in (str(VERSION), str(len(lines)), *lines)).encode()


def decode_lines(data: bytes, path: Path) -> list[str]:
    """The entries of a file that has to be whole; an empty file has none."""
    lines = data.decode("utf-8", "replace").splitlines()
    if len(lines) < 2:
        return []
    try:
        version, count = int(lines[0]), int(lines[1])
    except ValueError:
        raise MalformedCheckpoint(f"{path} starts with {lines[:2]}") from None
    if version != VERSION:
        raise MalformedCheckpoint(f"{path} has version {version}, expected {VERSION}")
    entries = [line for line in lines[2:] if line]
    if len(entries) != count:
        raise MalformedCheckpoint(f"{path} has {len(entries)} entries, expected {count}")
    return entries


@dataclass(frozen=True, slots=True)
class CheckpointedOffsets:
    offsets: dict[TopicPartition, int] = field(default_factory=dict)
    is_intact: bool = False
    """False if the file is missing, empty or damaged: a partition without an entry may have had one."""


def read_checkpoint(fs: FileSystem, path: Path) -> CheckpointedOffsets:
    """Every entry that can be read; each line that cannot be is reported and left out."""
    try:
        data = fs.read_bytes(path)
    except FileNotFoundError:
        return CheckpointedOffsets()
    *lines, rest = data.decode("utf-8", "replace").split("\n")
    flaws = [f"the last line {rest!r} is not complete"] if rest else []
    if len(lines) < 2 or lines[0] != str(VERSION) or not _is_number(lines[1]):
        flaws.append(f"it starts with {lines[:2]}")
    offsets: dict[TopicPartition, int] = {}
    for line in lines[2:]:
        entry = _parse(line)
        if entry is None or entry[0] in offsets:
            flaws.append(f"the line {line[:300]!r} is damaged")
        if entry is not None and offsets.setdefault(*entry) != entry[1]:
            del offsets[entry[0]]
    if not flaws and int(lines[1]) != len(offsets):
        flaws.append(f"it has {len(offsets)} entries, expected {lines[1]}")
    for flaw in flaws:
        _logger.warning("%s: %s; the missing offsets are derived from the logs", path, flaw)
    return CheckpointedOffsets(offsets, not flaws)


def _parse(line: str) -> tuple[TopicPartition, int] | None:
    parts = line.split(" ")
    if len(parts) != 3 or not parts[0] or not _is_number(parts[1]) or not _is_number(parts[2]):
        return None
    topic, partition, offset = parts[0], int(parts[1]), int(parts[2])
    return (TopicPartition(topic, partition), offset) if offset <= _LARGEST else None


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 19


def read_offsets(fs: FileSystem, path: Path) -> dict[TopicPartition, int]:
    """The offsets in a checkpoint file, as far as it can be read; empty if there is none."""
    return read_checkpoint(fs, path).offsets


def encode_offsets(offsets: Mapping[TopicPartition, int]) -> bytes:
    return encode_lines([f"{topic} {partition} {offset}" for (topic, partition), offset in offsets.items()])


class CheckpointFile:
    """One checkpoint of a directory: its content is made on the loop and may be written in a thread.

    A content that was made earlier never replaces a later one, whichever thread is quicker.
    """

    def __init__(self, fs: FileSystem, path: Path) -> None:
        self.path: Path = path
        self._fs: FileSystem = fs
        self._lock: threading.Lock = threading.Lock()
        self._made: int = 0
        self._written: int = 0
        self._last_content: bytes | None = None
        self._last_keys: frozenset[TopicPartition] = frozenset()
        """The partitions in the content that was prepared last."""
        self._keys_on_disk: frozenset[TopicPartition] = frozenset()

    def read(self) -> CheckpointedOffsets:
        found = read_checkpoint(self._fs, self.path)
        self._keys_on_disk = frozenset(found.offsets)
        return found

    def mentions(self, key: TopicPartition) -> bool:
        """Whether a crash may find an entry of this partition: in the file, or in what is being written."""
        return key in self._keys_on_disk or key in self._last_keys

    def prepare(
        self, offsets: Mapping[TopicPartition, int], *, force: bool = False
    ) -> "CheckpointWrite | None":
        """What has to be written; None if it is what was prepared last, unless `force` is set."""
        content = encode_offsets(offsets)
        if content == self._last_content and not force:
            return None
        self._last_content = content
        self._last_keys = frozenset(offsets)
        self._made += 1
        return CheckpointWrite(self, self._made, content, self._last_keys)

    def write(self, number: int, content: bytes, keys: frozenset[TopicPartition]) -> None:
        with self._lock:
            if number > self._written:
                try:
                    self._fs.write_atomically(self.path, content)
                except OSError:
                    self._last_content = None  # the next one is written, also if it says the same
                    raise
                self._written = number
                self._keys_on_disk = keys


@dataclass(frozen=True, slots=True)
class CheckpointWrite:
    file: CheckpointFile
    number: int
    content: bytes
    keys: frozenset[TopicPartition]

    def run(self) -> None:
        self.file.write(self.number, self.content, self.keys)
