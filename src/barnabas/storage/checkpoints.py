"""Small text files: offsets per partition, and start offsets per leader epoch.

Format: a line with the version (0), a line with the number of entries, a line per entry: `<topic>
<partition> <offset>` or `<epoch> <start offset>`. Files are replaced whole, after a sync, so that a reader
finds the old or the new one; an empty file has no entries.
"""

import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from barnabas.base.filesystem import FileSystem
from barnabas.base.ids import TopicPartition

VERSION = 0
RECOVERY_POINTS = "recovery-point-offset-checkpoint"
LOG_START_OFFSETS = "log-start-offset-checkpoint"
HIGH_WATERMARKS = "replication-offset-checkpoint"


class MalformedCheckpoint(OSError):
    """A checkpoint file that nobody could have written whole."""


def encode_lines(entries: Iterable[str]) -> bytes:
    lines = list(entries)
    return "".join(f"{line}\n" for line in (str(VERSION), str(len(lines)), *lines)).encode()


def decode_lines(data: bytes, path: Path) -> list[str]:
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


def read_offsets(fs: FileSystem, path: Path) -> dict[TopicPartition, int]:
    """The offsets in a checkpoint file; empty if there is none."""
    try:
        data = fs.read_bytes(path)
    except FileNotFoundError:
        return {}
    offsets = {}
    for line in decode_lines(data, path):
        try:
            topic, partition, offset = line.split()
            offsets[TopicPartition(topic, int(partition))] = int(offset)
        except ValueError:
            raise MalformedCheckpoint(f"{path} has the line {line!r}") from None
    return offsets


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

    def read(self) -> dict[TopicPartition, int]:
        return read_offsets(self._fs, self.path)

    def prepare(self, offsets: Mapping[TopicPartition, int]) -> "CheckpointWrite | None":
        """What has to be written; None if it is what was prepared last."""
        content = encode_offsets(offsets)
        if content == self._last_content:
            return None
        self._last_content = content
        self._made += 1
        return CheckpointWrite(self, self._made, content)

    def write(self, number: int, content: bytes) -> None:
        with self._lock:
            if number > self._written:
                try:
                    self._fs.write_atomically(self.path, content)
                except OSError:
                    self._last_content = None  # the next one is written, also if it says the same
                    raise
                self._written = number


@dataclass(frozen=True, slots=True)
class CheckpointWrite:
    file: CheckpointFile
    number: int
    content: bytes

    def run(self) -> None:
        self.file.write(self.number, self.content)
