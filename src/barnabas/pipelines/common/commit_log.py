"""The commit log of a Parquet table: changes of the set of files that happen wholly or not at all.

On disk, in the table's directory:
    _staging/<name>/...          files of a change that is being prepared; never part of the table
    _commits/<name>.intent       JSON, the change: which staged files move where, which files go. Its
                                 appearance is the commit point
    _commits/<name>.json         the same, when all files have been moved

Crash promise: without an intent the table has nothing of the change, and preparing it again begins anew. With
one, `recover` moves what is left to move; doing so twice, or in two processes, is harmless. Names that
begin with `_` are hidden from Spark, pandas and pyarrow.
"""

import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

_DIGITS = 12
_KEPT = 200
"""Finished commits of a writer that stay to be looked at; only the newest one is needed."""


@dataclass(frozen=True, slots=True)
class Commit:
    name: str
    writer: str = ""
    """Who wrote: the query id of a stream. Batches of different writers never meet."""
    batch_id: int | None = None
    """None for a change that is not a batch of a stream: compaction."""
    rows: int = 0
    added: tuple[str, ...] = ()
    """Relative to the table's directory."""
    removed: tuple[str, ...] = ()
    moves: tuple[tuple[str, str], ...] = ()
    """(file in staging, file in the table)"""
    properties: Mapping[str, str] = field(default_factory=dict)
    """Whatever the writer wants to remember with the change."""


class CommitLog:
    def __init__(self, table: Path) -> None:
        self._table: Path = table
        self._commits: Path = table / "_commits"
        self._staging: Path = table / "_staging"

    def stage(self, name: str) -> Path:
        """An empty directory for the files of a change; what an earlier attempt left there is gone."""
        directory = self._staging / name
        shutil.rmtree(directory, ignore_errors=True)
        directory.parent.mkdir(parents=True, exist_ok=True)
        return directory

    def commit(self, commit: Commit) -> None:
        """Make a change whose files are staged."""
        for staged, _ in commit.moves:
            _sync(self._staging / commit.name / staged)
        self._commits.mkdir(parents=True, exist_ok=True)
        intent = self._commits / f"{commit.name}.intent"
        draft = intent.with_suffix(".draft")
        with draft.open("w") as file:
            json.dump(asdict(commit), file)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(intent)
        _sync(self._commits)
        self._finish(commit)
        self._forget(commit.writer)

    def recover(self) -> list[Commit]:
        """Finish the changes that were decided but not done. Returns them."""
        unfinished = []
        for path in sorted(self._commits.glob("*.intent")):
            try:
                commit = _read(path)
            except FileNotFoundError:
                continue  # its writer lives, and has just finished it
            self._finish(commit)
            unfinished.append(commit)
        return unfinished

    def finished(self, writer: str | None = None) -> list[Commit]:
        """The newest commits, of one writer or of all, by name."""
        commits = [_read(path) for path in sorted(self._commits.glob("*.json"))]
        return [each for each in commits if writer is None or each.writer == writer]

    def last_batch(self, writer: str) -> int | None:
        """The highest batch of a writer that is in the table. A stream commits its batches in order."""
        numbers = [int(path.stem.rpartition("-")[2]) for path in self._batches(writer)]
        return max(numbers) if numbers else None

    def _finish(self, commit: Commit) -> None:
        staging = self._staging / commit.name
        directories = set()
        for staged, target in commit.moves:
            path = self._table / target
            path.parent.mkdir(parents=True, exist_ok=True)
            directories.add(path.parent)
            try:
                (staging / staged).replace(path)
            except FileNotFoundError:
                if not path.exists():  # neither here nor there: not a file we moved before
                    raise
        for gone in commit.removed:
            (self._table / gone).unlink(missing_ok=True)
            directories.add((self._table / gone).parent)
        for directory in directories:
            _sync(directory)
        intent = self._commits / f"{commit.name}.intent"
        with suppress(FileNotFoundError):  # another process may finish it at the same time
            intent.replace(intent.with_suffix(".json"))
        shutil.rmtree(staging, ignore_errors=True)

    def _forget(self, writer: str) -> None:
        for path in sorted(self._batches(writer))[:-_KEPT]:
            path.unlink(missing_ok=True)

    def _batches(self, writer: str) -> Iterator[Path]:
        return self._commits.glob(f"batch-{writer}-{'[0-9]' * _DIGITS}.json")


def batch_name(writer: str, batch_id: int) -> str:
    return f"batch-{writer}-{batch_id:0{_DIGITS}d}"


def _read(path: Path) -> Commit:
    raw = json.loads(path.read_text())
    return Commit(
        **{
            **raw,
            "added": tuple(raw["added"]),
            "removed": tuple(raw["removed"]),
            "moves": tuple((staged, target) for staged, target in raw["moves"]),
        }
    )


def _sync(path: Path) -> None:
    """To the disk; what a file is, or which names a directory has."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
