"""`TableRecord`: what a table knows of itself beside its rows, stored atomically with each change of them.

Both table formats keep it: Delta in the metadata of its commits, Parquet in `_commits/record.json`. It is
cumulative, so the newest one is all a writer reads, however many changes came before.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, NamedTuple

_SIZES = 5
"""Batches whose sizes are kept: the next ones are planned from them."""


class Backfilled(NamedTuple):
    """A range of offsets that a backfill has loaded, ahead of the stream."""

    topic_id: str
    """Of the topic at that time; empty where brokers have no ids. A topic created anew has another one."""
    partition: int
    start: int
    stop: int
    """The first offset after it."""


@dataclass(frozen=True, slots=True)
class Change:
    """What a writer says about the rows that it adds."""

    offsets: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """By topic and partition: the first offset that the stream has not read yet."""
    topic_ids: Mapping[str, str] = field(default_factory=dict)
    backfilled: tuple[Backfilled, ...] = ()
    raw_bytes: int = 0
    """Of the records, before they are encoded and compressed; 0 if it is not known."""
    plan: str = ""
    """A digest of what Spark planned for the batch; empty if it is not known."""


@dataclass(frozen=True, slots=True)
class TableRecord:
    sequence: int = -1
    """Counts the changes of rows; -1 for a table without one."""
    owner: str = ""
    """Which query's rows these are: `logs-lines`, or `offline-load of orders`."""
    writers: Mapping[str, int] = field(default_factory=dict)
    """The last batch of each stream, by the query's id."""
    plans: Mapping[str, str] = field(default_factory=dict)
    """The plan of that batch, by the query's id; missing if it is not known."""
    offsets: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    topic_ids: Mapping[str, str] = field(default_factory=dict)
    backfilled: tuple[Backfilled, ...] = ()
    sizes: tuple[tuple[int, int], ...] = ()
    """(raw bytes, bytes of files) of the last batches."""
    schema: str = ""
    """Spark's JSON of the columns; only where the format itself has no schema."""

    def has(self, writer: str, batch_id: int) -> bool:
        """A writer gives its batches in order: one not above its last is there already."""
        return batch_id <= self.writers.get(writer, -1)

    def is_stale(self, writer: str, batch_id: int, plan: str) -> bool:
        """Whether a batch that is there by its number is another one than that.

        After a crash Spark runs the last batch again, as it was planned. An older batch, or another plan for
        the last one, comes from a checkpoint that was restored or copied, and may have other rows.
        """
        last, known = self.writers.get(writer, -1), self.plans.get(writer, "")
        return batch_id < last or (batch_id == last and bool(plan and known) and plan != known)

    def after(
        self, change: Change, *, owner: str, size: int, writer: str = "", batch_id: int | None = None
    ) -> "TableRecord":
        """The record of the table when the change is in it."""
        current = self.of_topics(change.topic_ids)
        offsets = {
            topic: {**current.offsets.get(topic, {}), **change.offsets.get(topic, {})}
            for topic in sorted({*current.offsets, *change.offsets})
        }
        sizes = [*current.sizes, (change.raw_bytes, size)] if change.raw_bytes else current.sizes
        plans = {name: plan for name, plan in self.plans.items() if name != writer or batch_id is None}
        if batch_id is not None and change.plan:
            plans[writer] = change.plan
        return replace(
            current,
            sequence=self.sequence + 1,
            owner=owner or self.owner,
            writers=self.writers if batch_id is None else {**self.writers, writer: batch_id},
            plans=plans,
            offsets=offsets,
            backfilled=_ahead({*current.backfilled, *change.backfilled}, offsets),
            sizes=tuple(sizes[-_SIZES:]),
        )

    def of_topics(self, topic_ids: Mapping[str, str]) -> "TableRecord":
        """Without what belongs to a topic that was deleted, where one of the same name has another id."""
        anew = {
            name
            for name, topic_id in topic_ids.items()
            if topic_id and self.topic_ids.get(name, topic_id) != topic_id
        }
        deleted = {self.topic_ids[name] for name in anew}
        return replace(
            self,
            offsets={topic: ends for topic, ends in self.offsets.items() if topic not in anew},
            topic_ids={**self.topic_ids, **{name: each for name, each in topic_ids.items() if each}},
            backfilled=tuple(each for each in self.backfilled if each.topic_id not in deleted),
        )

    def to_json(self) -> str:
        return json.dumps({**asdict(self), "backfilled": [list(each) for each in self.backfilled]})

    @classmethod
    def of_json(cls, text: str) -> "TableRecord":
        raw: dict[str, Any] = json.loads(text)
        raw["backfilled"] = tuple(Backfilled(*each) for each in raw["backfilled"])
        raw["sizes"] = tuple((before, after) for before, after in raw["sizes"])
        return cls(**raw)


def _ahead(ranges: set[Backfilled], offsets: Mapping[str, Mapping[str, int]]) -> tuple[Backfilled, ...]:
    """Those that the stream has not passed. A table of several topics keeps all: a range names no topic."""
    ends = next(iter(offsets.values())) if len(offsets) == 1 else {}
    return tuple(sorted(each for each in ranges if ends.get(str(each.partition), -1) < each.stop))
