"""A checkpoint as Spark keeps it: `metadata` with the query's id, `offsets/N` written before batch N runs,
`commits/N` after it. The model keeps beside it: `model/N`, where batch N ends, and `readable/N`, the records
that were there whenever batch N was planned or run.
"""

import itertools
import json
import shutil
from pathlib import Path
from typing import Any
from uuid import uuid4

from tests.faults.stream_life.source_model import Position, Record

_times = itertools.count(1_700_000_000_000)
"""Of planning, in milliseconds: no two batches are planned at the same time."""


class Checkpoint:
    def __init__(self, path: Path) -> None:
        self.path: Path = path

    @property
    def query_id(self) -> str:
        file = self.path / "metadata"
        if not file.exists():
            for name in ("offsets", "commits", "model"):
                (self.path / name).mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps({"id": str(uuid4())}))
        return str(json.loads(file.read_text())["id"])

    @property
    def last_logged(self) -> int:
        return self._last("offsets")

    @property
    def last_committed(self) -> int:
        return self._last("commits")

    @property
    def has_pending(self) -> bool:
        """Whether a batch was planned that is not known to be done."""
        return self.last_logged > self.last_committed

    def end_of(self, batch: int) -> Any:
        """As the source said it, or None before the first batch."""
        if batch < 0:
            return None
        return json.loads((self.path / "offsets" / str(batch)).read_text().splitlines()[2])

    def position(self, batch: int) -> Position | None:
        if batch < 0:
            return None
        incarnation, ends = json.loads((self.path / "model" / str(batch)).read_text())
        return Position(incarnation, tuple(ends))

    def log(self, batch: int, end: Any, position: Position) -> None:
        about = {"batchWatermarkMs": 0, "batchTimestampMs": next(_times), "conf": {}}
        text = f"v1\n{json.dumps(about)}\n{json.dumps(end)}"
        (self.path / "offsets" / str(batch)).write_text(text)
        self.note(batch, position)

    def note(self, batch: int, position: Position) -> None:
        """For the model: where a batch ends that was logged."""
        (self.path / "model").mkdir(exist_ok=True)
        (self.path / "model" / str(batch)).write_text(json.dumps([position.incarnation, position.ends]))

    def narrow(self, batch: int, records: set[Record]) -> set[Record]:
        """Those of the records that were readable each time. One that had expired when the batch was planned
        or decided, and came back with a killed broker, is in the target or not.
        """
        file = self.path / "readable" / str(batch)
        file.parent.mkdir(parents=True, exist_ok=True)
        if file.exists():
            known = set(json.loads(file.read_text()))
            records = {each for each in records if each.number in known}
        file.write_text(json.dumps([each.number for each in records]))
        return records

    def commit(self, batch: int) -> None:
        (self.path / "commits" / str(batch)).write_text('v1\n{"nextBatchWatermarkMs":0}')

    def uncommit(self, batch: int) -> None:
        """As if the driver had been killed before it wrote the file."""
        for name in (str(batch), f".{batch}.crc"):
            (self.path / "commits" / name).unlink(missing_ok=True)

    def copy_to(self, path: Path) -> "Checkpoint":
        shutil.rmtree(path, ignore_errors=True)
        shutil.copytree(self.path, path)
        return Checkpoint(path)

    def delete(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)

    def _last(self, directory: str) -> int:
        home = self.path / directory
        names = (each.name for each in home.iterdir()) if home.exists() else ()
        return max((int(name) for name in names if name.isdecimal()), default=-1)
