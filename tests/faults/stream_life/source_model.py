"""What the source topic holds, as the model knows it: numbered records, by partition and offset."""

from dataclasses import dataclass, field
from typing import NamedTuple


class Record(NamedTuple):
    number: int
    is_poison: bool = False


@dataclass(frozen=True, slots=True)
class Position:
    """How far a stream has planned to read."""

    incarnation: int
    ends: tuple[int, ...]
    """The next offset, by partition."""

    def end_of(self, partition: int) -> int:
        return self.ends[partition] if partition < len(self.ends) else 0


@dataclass(slots=True)
class SourceModel:
    incarnation: int = 0
    """How often the topic was created anew."""
    partitions: list[list[Record]] = field(default_factory=lambda: [[], []])
    starts: list[int] = field(default_factory=lambda: [0, 0])
    """Log start offsets: what was before has expired."""
    count: int = 0

    def append(self, partition: int, amount: int, *, is_poison: bool = False) -> list[Record]:
        fresh = [Record(self.count + number, is_poison) for number in range(amount)]
        self.count += amount
        self.partitions[partition] += fresh
        return fresh

    def recreate(self) -> None:
        self.incarnation += 1
        self.partitions, self.starts = [[], []], [0, 0]

    def grow(self) -> None:
        self.partitions.append([])
        self.starts.append(0)

    @property
    def position(self) -> Position:
        """Of a stream that plans to read everything."""
        return Position(self.incarnation, tuple(map(len, self.partitions)))

    def between(self, start: Position | None, end: Position) -> set[Record]:
        """What a reader from `start` to `end` finds now; nothing of an earlier incarnation."""
        if end.incarnation != self.incarnation:
            return set()
        found: set[Record] = set()
        for partition, records in enumerate(self.partitions):
            begin = self._begin(start, partition)
            found.update(records[max(begin, self.starts[partition]) : end.end_of(partition)])
        return found

    def lost(self, start: Position | None, end: Position) -> bool:
        """Whether records between the two have expired, or went with their topic."""
        if start is None:
            return False  # a stream without a checkpoint begins with what is there
        if start.incarnation != self.incarnation or end.incarnation != self.incarnation:
            return True
        return any(
            self._begin(start, partition) < min(self.starts[partition], end.end_of(partition))
            for partition in range(len(self.partitions))
        )

    def _begin(self, start: Position | None, partition: int) -> int:
        is_same = start is not None and start.incarnation == self.incarnation
        return start.end_of(partition) if start is not None and is_same else 0
