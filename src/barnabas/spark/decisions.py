"""What a driver has decided: which transactions are a batch, before it ends the first of them.

A batch has a transaction for each task, and a driver may die between two commits. The decision is one record,
written at once. A batch that runs again reads which transactions it consists of, and ends them as decided,
whatever rows the second run has. The decision also records where the batch came from (`lineage`), so that
the same batch number of another run or another checkpoint is recognised.

It is stored as an offset of a group (the batch) and its metadata (JSON). Nothing here does I/O.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

MOST_CHARACTERS = 4000
"""Of the metadata of an offset; brokers accept 4096 (`offset.metadata.max.bytes`). Some 300 tasks."""


class Owner(NamedTuple):
    """The producer id and epoch that may end a transaction."""

    producer_id: int
    epoch: int


@dataclass(frozen=True, slots=True)
class Decision:
    batch: int
    owners: Mapping[int, Owner]
    """By the number of the task; tasks that are not here have no rows in this batch. Empty if there are too
    many tasks to be recorded: progress groups alone say then what is committed."""
    run: str | None = None
    """Of the query that decided, or that took the decision over."""
    earlier_runs: tuple[str, ...] = ()
    """Those that decided before `run` took over, the newest last."""
    query: str | None = None
    """The streaming query, where it is not the application itself."""
    plan: str | None = None
    """A digest of what Spark planned for the batch."""
    end_offsets: str | None = None
    """Of the sources, as Spark's checkpoint has them; left out if they are too long."""
    topic: str | None = field(default=None, compare=False)
    """Whose offset this is."""

    def __str__(self) -> str:
        """At most MOST_CHARACTERS: end offsets are left out first, then the tasks."""
        fields: dict[str, Any] = {
            "tasks": " ".join(
                f"{task}:{each.producer_id}:{each.epoch}" for task, each in sorted(self.owners.items())
            ),
            "run": self.run,
            "earlier": " ".join(self.earlier_runs),
            "query": self.query,
            "plan": self.plan,
            "end": self.end_offsets,
        }
        for left_out in ({}, {"end": None}, {"end": None, "tasks": ""}):
            given = {name: value for name, value in {**fields, **left_out}.items() if value is not None}
            text = json.dumps(given, separators=(",", ":"))
            if len(text) <= MOST_CHARACTERS:
                return text
        raise ValueError(f"the lineage of batch {self.batch} is too long to be recorded")

    @classmethod
    def parsed(cls, batch: int, text: str, topic: str | None = None) -> "Decision | None":
        """None for a text that is no decision."""
        try:
            fields = json.loads(text)
        except ValueError:
            return None
        if not isinstance(fields, dict) or not isinstance(fields.get("tasks"), str):
            return None
        if not all(isinstance(each, str) for each in fields.values()):
            return None
        owners = _owners(fields["tasks"])
        if owners is None:
            return None
        return cls(
            batch,
            owners,
            fields.get("run"),
            tuple(fields.get("earlier", "").split()),
            fields.get("query"),
            fields.get("plan"),
            fields.get("end"),
            topic,
        )


def _owners(text: str) -> dict[int, Owner] | None:
    owners: dict[int, Owner] = {}
    for word in text.split():
        numbers = word.split(":")
        if len(numbers) != 3 or not all(each.isdecimal() for each in numbers):
            return None
        task, producer_id, epoch = map(int, numbers)
        if producer_id >= 1 << 63 or epoch >= 1 << 15:
            return None
        owners[task] = Owner(producer_id, epoch)
    return owners
