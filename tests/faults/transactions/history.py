"""What the clients of a run did, as values: the checker's only input.

A key is a topic and a partition, `source-3`. A value is a number that was sent once: the process that sent it
and its count, distinguished by `named`. Times are of CLOCK_MONOTONIC, which all processes of a machine share.

The outcome of a transaction is what its client may conclude. One whose commit was never requested is aborted,
whatever became of the client: no other client commits it. One whose commit was requested and not answered is
unknown: it may be committed or not, but wholly.
"""

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

VALUES_PER_PROCESS = 1_000_000


def named(value: int) -> str:
    return "{}.{}".format(*divmod(value, VALUES_PER_PROCESS))


class Outcome(Enum):
    COMMITTED = "committed"
    ABORTED = "aborted"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Send:
    key: str
    value: int
    offset: int = -1
    """-1: unknown."""
    has_failed: bool = False


@dataclass(frozen=True, slots=True)
class Reads:
    """What one poll got of one key, in the order in which the client handed it out."""

    offsets: Sequence[int]
    values: Sequence[int]

    @classmethod
    def compact(cls, offsets: Sequence[int], values: Sequence[int]) -> "Reads":
        """A long run has millions of them."""
        return cls(array("q", offsets), array("q", values))


@dataclass(frozen=True, slots=True)
class Poll:
    process: str
    begun: float
    ended: float
    reads: Mapping[str, Reads]
    transaction: int | None = None
    """The number of the transaction it was part of."""


@dataclass(frozen=True, slots=True)
class Reposition:
    """From here on the process reads these keys from these offsets; None: the position is unknown."""

    process: str
    at: float
    offsets: Mapping[str, int | None]


@dataclass(frozen=True, slots=True)
class Transaction:
    process: str
    number: int
    begun: float
    outcome: Outcome
    sends: tuple[Send, ...] = ()
    commit_requested: float | None = None
    ended: float | None = None
    polls: tuple[Poll, ...] = ()
    group: str | None = None
    """The group whose offsets it commits."""

    def __str__(self) -> str:
        requested = (
            "" if self.commit_requested is None else f", commit requested at {self.commit_requested:.6f}"
        )
        ended = "" if self.ended is None else f", ended at {self.ended:.6f}"
        name = f"{self.process}#{self.number}"
        return f"transaction {name} ({self.outcome.value}, begun at {self.begun:.6f}{requested}{ended})"


@dataclass(frozen=True, slots=True)
class History:
    transactions: Sequence[Transaction] = ()
    reading: Mapping[str, Sequence[Poll | Reposition]] = field(default_factory=dict)
    """By process, in its order; polls that are part of a transaction are here as well."""
    drained: Mapping[str, int] = field(default_factory=dict)
    """Keys that were read from 0 up to this end when every client had finished."""
