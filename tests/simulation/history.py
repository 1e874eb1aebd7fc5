"""What clients of a simulation did and what they got: the material of `history_checks`.

A value is written once in a simulation, so it says who wrote it. Times are virtual seconds.
"""

from dataclasses import dataclass, field
from enum import Enum

from barnabas.base.ids import TopicPartition

ALL = -1
"""acks=all."""
NEVER = float("inf")


class Outcome(Enum):
    UNKNOWN = "unknown"
    """No answer: it may have happened, or may happen yet."""
    DONE = "done"
    FAILED = "failed"
    """The answer says that it did not happen, and will not."""


@dataclass(slots=True)
class Transaction:
    number: int
    commit: Outcome = Outcome.FAILED
    """UNKNOWN from the moment a commit was requested, until its answer."""


@dataclass(slots=True)
class Write:
    client: str
    partition: TopicPartition
    values: tuple[bytes, ...]
    acks: int
    began: float
    is_idempotent: bool = True
    transaction: Transaction | None = None
    outcome: Outcome = Outcome.UNKNOWN
    offset: int = -1
    """Of the first value, if the answer says it."""
    ended: float = NEVER

    def acknowledge(self, offset: int, now: float) -> None:
        self.outcome, self.offset, self.ended = Outcome.DONE, offset, now

    def fail(self, now: float) -> None:
        self.outcome, self.ended = Outcome.FAILED, now


@dataclass(frozen=True, slots=True)
class Read:
    """One record that a consumer got."""

    client: str
    partition: TopicPartition
    offset: int
    value: bytes
    is_committed: bool
    """Read with isolation level read_committed."""
    time: float


@dataclass(slots=True)
class GroupCommit:
    """A committed offset. Clients of one group commit ever greater offsets of a partition."""

    group: str
    partition: TopicPartition
    offset: int
    began: float
    outcome: Outcome = Outcome.UNKNOWN
    ended: float = NEVER
    is_repeated: bool = True
    """Whether an attempt got no answer: it may arrive late, behind a greater offset, as in Kafka."""


@dataclass(frozen=True, slots=True)
class GroupRead:
    """The committed offset of a group as a client got it; -1 if there is none."""

    group: str
    partition: TopicPartition
    offset: int
    began: float
    time: float


@dataclass(slots=True)
class History:
    writes: list[Write] = field(default_factory=list)
    reads: list[Read] = field(default_factory=list)
    transactions: list[Transaction] = field(default_factory=list)
    commits: list[GroupCommit] = field(default_factory=list)
    group_reads: list[GroupRead] = field(default_factory=list)
    _unsettled: list[Write] = field(default_factory=list)
    _committed: dict[TopicPartition, list[Write]] = field(default_factory=dict)

    def begin_transaction(self) -> Transaction:
        self.transactions.append(Transaction(len(self.transactions)))
        return self.transactions[-1]

    def begin_write(self, write: Write) -> Write:
        self.writes.append(write)
        self._unsettled.append(write)
        return write

    def begin_commit(self, commit: GroupCommit) -> GroupCommit:
        self.commits.append(commit)
        return commit

    def acknowledged(self) -> list[Write]:
        return [write for write in self.writes if write.outcome is Outcome.DONE]

    def committed(self, partition: TopicPartition) -> list[Write]:
        """The acknowledged writes with acks=all of a partition: more with each call, in the same order."""
        still = []
        for write in self._unsettled:
            if write.outcome is Outcome.UNKNOWN:
                still.append(write)
            elif write.outcome is Outcome.DONE and write.acks == ALL:
                self._committed.setdefault(write.partition, []).append(write)
        self._unsettled = still
        return self._committed.get(partition, [])
