"""The request to clean a log and its results: values, and their JSON between broker and worker."""

from collections.abc import Mapping
from dataclasses import asdict, astuple, dataclass, field, fields
from typing import Any

from barnabas.storage.txn_index import AbortedTxn

NO_LIMIT = float("inf")


class CleaningAborted(Exception):
    """The broker no longer needs the result: the partition is deleted or the broker stops."""


@dataclass(frozen=True, slots=True)
class SourceSegment:
    """A sealed segment as it was when the job was made."""

    base_offset: int
    size: int


@dataclass(frozen=True, slots=True)
class LastBatch:
    """What is to be kept of a producer: its last batch, or (offset -1) the marker that has its epoch."""

    last_offset: int
    epoch: int


@dataclass(frozen=True, slots=True)
class CleaningJob:
    name: str
    directory: str
    segments: tuple[SourceSegment, ...]
    """All sealed segments below `end_offset`, clean ones too."""
    first_dirty_offset: int
    end_offset: int
    """The base offset of the first segment that is left alone."""
    now_ms: int
    delete_retention_ms: int
    segment_bytes: int
    segment_index_bytes: int
    index_interval_bytes: int
    memory: int
    """For the keys and what is noted of the records."""
    io_bytes: int
    bytes_per_second: float = NO_LIMIT
    producers: Mapping[int, LastBatch] = field(default_factory=dict)
    aborted: tuple[AbortedTxn, ...] = ()

    def to_json(self) -> dict[str, Any]:
        plain = {each.name: getattr(self, each.name) for each in fields(self)}
        plain["segments"] = [[segment.base_offset, segment.size] for segment in self.segments]
        plain["producers"] = [[key, last.last_offset, last.epoch] for key, last in self.producers.items()]
        plain["aborted"] = [list(astuple(txn)) for txn in self.aborted]
        plain["bytes_per_second"] = None if self.bytes_per_second == NO_LIMIT else self.bytes_per_second
        return plain

    @classmethod
    def from_json(cls, plain: dict[str, Any]) -> "CleaningJob":
        rate = plain["bytes_per_second"]
        values = plain | {
            "segments": tuple(SourceSegment(base, size) for base, size in plain["segments"]),
            "producers": {key: LastBatch(offset, epoch) for key, offset, epoch in plain["producers"]},
            "aborted": tuple(AbortedTxn(*txn) for txn in plain["aborted"]),
            "bytes_per_second": NO_LIMIT if rate is None else rate,
        }
        return cls(**values)


@dataclass(frozen=True, slots=True)
class CleanedSegment:
    """A segment whose `.cleaned` files are whole and synced, and the segments that it replaces."""

    base_offset: int
    size: int
    has_txn_index: bool
    replaced: tuple[int, ...]
    """Their base offsets, ascending; the first is the new segment's own."""


@dataclass(slots=True)
class CleaningStats:
    end_offset: int = 0
    """Below it every key has one record; the next cleaning's first dirty offset."""
    bytes_read: int = 0
    """Of the segments that were copied, over all rounds."""
    dirty_bytes: int = 0
    bytes_written: int = 0
    records_read: int = 0
    records_written: int = 0
    keyless_records: int = 0
    keys: int = 0
    """The most that were held at once."""
    rounds: int = 0
    judge_seconds: float = 0.0
    seconds: float = 0.0

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, plain: dict[str, Any]) -> "CleaningStats":
        return cls(**plain)
