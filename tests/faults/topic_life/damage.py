"""Damage to files that a broker could make anew, while no broker runs.

What is only a hint or derived from the records may be deleted, emptied, cut, flipped or filled with nonsense:
no record may be lost by it. Text is damaged so that it can be seen: a digit that became another one cannot be
distinguished from a right one, here as in Apache Kafka.
"""

import random
from collections.abc import Callable
from pathlib import Path

from barnabas.base.filesystem import FileSystem

INDEX, TIME_INDEX, TXN_INDEX, SNAPSHOT = ".index", ".timeindex", ".txnindex", ".snapshot"
RECOVERY_POINTS, LOG_STARTS = "recovery-point-offset-checkpoint", "log-start-offset-checkpoint"
HIGH_WATERMARKS, CLEANER_OFFSETS = "replication-offset-checkpoint", "cleaner-offset-checkpoint"
LEADER_EPOCHS, PARTITION_METADATA = "leader-epoch-checkpoint", "partition.metadata"
BINARY = (INDEX, TIME_INDEX, TXN_INDEX, SNAPSHOT)
TEXT = (RECOVERY_POINTS, LOG_STARTS, HIGH_WATERMARKS, CLEANER_OFFSETS, LEADER_EPOCHS)
STRAY_FILE = "notes.log"


def _flip(data: bytes, rng: random.Random) -> bytes:
    position = rng.randrange(len(data)) if data else 0
    return (
        data[:position] + bytes([data[position] ^ (1 << rng.randrange(8))]) + data[position + 1 :]
        if data
        else b""
    )


def _spoil(data: bytes, rng: random.Random) -> bytes:
    """A character of a text that can be none of it."""
    position = rng.randrange(len(data)) if data else 0
    return data[:position] + rng.choice((b"#", b"\0", b"\xff")) + data[position + 1 :]


def _cut(data: bytes, rng: random.Random) -> bytes:
    return data[: rng.randrange(len(data))] if data else b""


def _garbage_line(data: bytes, rng: random.Random) -> bytes:
    lines = data.splitlines(keepends=True)
    lines.insert(rng.randrange(len(lines) + 1), b"neither topic nor offset\n")
    return b"".join(lines)


WAYS: dict[str, Callable[[bytes, random.Random], bytes] | None] = {
    "delete": None,
    "empty": lambda data, rng: b"",
    "cut": _cut,
    "flip": _flip,
    "spoil": _spoil,
    "garbage": _garbage_line,
}


def ways_for(kind: str) -> tuple[str, ...]:
    if kind in BINARY:
        return ("delete", "empty", "cut", "flip")
    return ("delete", "empty", "cut", "spoil", "garbage")


def apply(fs: FileSystem, paths: list[Path], way: str, rng: random.Random) -> None:
    change = WAYS[way]
    for path in paths:
        if change is None:
            fs.unlink(path)
        else:
            fs.write_bytes(path, change(fs.read_bytes(path), rng), sync=True)


def partition_directories(fs: FileSystem, log_dirs: list[Path]) -> list[Path]:
    found = [
        root / name
        for root in log_dirs
        if fs.exists(root)
        for name in fs.list_directories(root)
        if name.rpartition("-")[2].isdigit()
    ]
    return sorted(found)


def tear(fs: FileSystem, directory: Path, rng: random.Random) -> None:
    """The beginning of a batch that a crash kept from being written whole."""
    logs = sorted(name for name in fs.listdir(directory) if name.endswith(".log") and name[:1].isdigit())
    if logs:
        path = directory / logs[-1]
        fs.write_bytes(path, fs.read_bytes(path) + rng.randbytes(rng.randrange(1, 80)), sync=True)
