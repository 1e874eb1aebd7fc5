"""A streaming query as its user sees it, and what the model says its targets must hold."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from tests.faults.stream_life.checkpoint import Checkpoint
from tests.faults.stream_life.source_model import Record


@dataclass(slots=True)
class Expectation:
    """Rows of one stream in one target, by the number of their record. Each is there once."""

    must: set[int] = field(default_factory=set)
    may: set[int] = field(default_factory=set)
    """Of batches that began: they are there or not, until the batch is done."""


@dataclass(slots=True)
class Stream:
    label: str
    """In front of every row, so that rows of several streams in one topic are distinguishable."""
    checkpoint: Checkpoint
    targets: tuple[str, ...]
    application: str | None = None
    """A `txnAppId`: rows are written by the batch writer then, as from `foreachBatch`."""
    fails_on_data_loss: bool = True
    skips_poison: bool = False
    """Whether the user has mended the query since a poison record stopped it."""
    suspicion: str = ""
    """Why its batches may not be what the sink takes them for; such a query may be refused."""
    expectations: dict[str, Expectation] = field(default_factory=dict)

    def begun(self, records: Iterable[Record]) -> None:
        for target in self.targets:
            self._of(target).may.update(each.number for each in records)

    def done(self, records: Iterable[Record]) -> None:
        for target in self.targets:
            self._of(target).must.update(each.number for each in records if not each.is_poison)

    def _of(self, target: str) -> Expectation:
        return self.expectations.setdefault(target, Expectation())
