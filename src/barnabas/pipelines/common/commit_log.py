"""The commit log of a Parquet table: changes of the set of files that happen wholly or not at all.

On disk, in the table's directory:
    _staging/<name>/...          files of a change that is being prepared; never part of the table
    _commits/<name>.intent       JSON, the change: which staged files move where, which files go. Its
                                 appearance is the commit point
    _commits/<name>.json         the same, when all files have been moved: the newest few hundred, to look at
    _commits/record.json         the `TableRecord` after the newest change: all that a writer has to read

Crash promise: without an intent the table has nothing of the change, and preparing it again begins anew. With
one, `recover` moves what is left to move; doing so twice, or in two processes, is harmless. Changes exclude
each other by `table_lock`, so what lies in `_staging` without an intent was left by a crash. Names that begin
with `_` are hidden from Spark, pandas and pyarrow.
"""

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from barnabas.pipelines.common.table_record import TableRecord

_DIGITS = 12
_KEPT = 200
"""Finished commits that stay to be looked at, of a stream and of all other changes."""
_RECORD = "record"


@dataclass(frozen=True, slots=True)
class Commit:
    name: str
    writer: str = ""
    """The writer: the query id of a stream. Batches of different writers are independent."""
    batch_id: int | None = None
    """None for a change that is not a batch of a stream: compaction."""
    rows: int = 0
    added: tuple[str, ...] = ()
    """Relative to the table's directory."""
    removed: tuple[str, ...] = ()
    moves: tuple[tuple[str, str], ...] = ()
    """(file in staging, file in the table)"""
    record: str = ""
    """JSON of the `TableRecord` when the change is done."""


class CommitLog:
    def __init__(self, table: Path) -> None:
        self._table: Path = table
        self._commits: Path = table / "_commits"
        self._staging: Path = table / "_staging"

    def stage(self, name: str) -> Path:
        """An empty directory for the files of a change; files of an earlier attempt are removed."""
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
        self._put(intent, json.dumps(asdict(commit)))
        self._finish(commit)
        self._forget(commit)

    def recover(self) -> list[Commit]:
        """Finish the changes that were decided but not done, and returns them. Removes what a crash left of
        those not decided.
        """
        unfinished = []
        for path in sorted(self._commits.glob("*.intent")):
            try:
                commit = _read(path)
            except FileNotFoundError:
                continue  # its writer lives, and has just finished it
            self._finish(commit)
            unfinished.append(commit)
        shutil.rmtree(self._staging, ignore_errors=True)
        return unfinished

    def record(self) -> TableRecord:
        """As of the newest finished change."""
        try:
            return TableRecord.of_json((self._commits / f"{_RECORD}.json").read_text())
        except FileNotFoundError:
            return TableRecord()

    def finished(self, writer: str | None = None) -> list[Commit]:
        """The newest commits, of one writer or of all, by name."""
        paths = [path for path in sorted(self._commits.glob("*.json")) if path.stem != _RECORD]
        commits = [_read(path) for path in paths]
        return [each for each in commits if writer is None or each.writer == writer]

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
        for removed in commit.removed:
            (self._table / removed).unlink(missing_ok=True)
            directories.add((self._table / removed).parent)
        for directory in directories:
            _sync(directory)
        self._remember(commit)
        intent = self._commits / f"{commit.name}.intent"
        with suppress(FileNotFoundError):  # another process may finish it at the same time
            intent.replace(intent.with_suffix(".json"))
        shutil.rmtree(staging, ignore_errors=True)

    def _remember(self, commit: Commit) -> None:
        """An older change that is finished once more does not bring back its record."""
        record = TableRecord.of_json(commit.record) if commit.record else TableRecord()
        if record.sequence > self.record().sequence:
            self._put(self._commits / f"{_RECORD}.json", commit.record)

    def _put(self, path: Path, text: str) -> None:
        """Wholly or not at all, and on the disk."""
        draft = path.with_suffix(".draft")
        with draft.open("w") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
        _sync(path.parent)

    def _forget(self, commit: Commit) -> None:
        for path in list(self._like(commit))[:-_KEPT]:
            path.unlink(missing_ok=True)

    def _like(self, commit: Commit) -> Iterator[Path]:
        """Finished commits of the same stream, or of no stream; oldest first."""
        if commit.batch_id is not None:
            yield from sorted(self._commits.glob(f"batch-{commit.writer}-{'[0-9]' * _DIGITS}.json"))
            return
        paths = (path for path in self._commits.glob("*.json") if path.stem != _RECORD)
        others = [path for path in paths if not path.name.startswith("batch-")]
        yield from sorted(others, key=lambda path: path.stat().st_mtime_ns)


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
