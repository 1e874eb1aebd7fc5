"""What a driver has decided: which transactions are a batch, before it ends the first of them.

A batch has a transaction for each task, and a driver may die between two commits. The decision is one record,
written at once, so a batch that runs again finds out what it consists of: its transactions are ended then as
it was decided, whatever rows the second run has. It is kept as an offset of a group (the batch) and its
metadata (the transactions); nothing here does I/O.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

MOST_CHARACTERS = 4000
"""Of the metadata of an offset; brokers take 4096 (`offset.metadata.max.bytes`). Some 300 tasks."""


class Owner(NamedTuple):
    """Who may end a transaction."""

    producer_id: int
    epoch: int


@dataclass(frozen=True, slots=True)
class Decision:
    batch: int
    owners: Mapping[int, Owner]
    """By the number of the task; tasks that are not here have no rows in this batch."""

    def __str__(self) -> str:
        return " ".join(
            f"{task}:{each.producer_id}:{each.epoch}" for task, each in sorted(self.owners.items())
        )

    @classmethod
    def parsed(cls, batch: int, text: str) -> "Decision | None":
        """None for a text that is none of ours, and for one that leaves it open."""
        owners: dict[int, Owner] = {}
        for word in text.split():
            numbers = word.split(":")
            if len(numbers) != 3 or not all(each.isdecimal() for each in numbers):
                return None
            task, producer_id, epoch = map(int, numbers)
            if producer_id >= 1 << 63 or epoch >= 1 << 15:
                return None
            owners[task] = Owner(producer_id, epoch)
        return cls(batch, owners) if owners else None
