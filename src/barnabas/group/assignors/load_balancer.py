"""Selects the subscriber of a topic that takes the next partition, and the one that gives it up.

The subscribers are in a row, those with the fewest partitions first. Two ranges grow from its ends: the
takers, all at the low level, and the givers, all at the high level. A range is traversed once per level. Then
its level moves by one, and the range is extended by the members on the new level. When the levels differ by
at most one, moving a partition has no benefit. Each step costs O(1), so a topic costs a sort plus its moves.

The loads are shared with the caller, which changes them with every move. Only `heterogeneous_uniform.py` uses
this.
"""

from collections.abc import Iterable, Sequence


class LoadBalancer:
    def __init__(self, loads: Sequence[int], subscribers: Iterable[int]) -> None:
        """`subscribers` ascending: of equally loaded members the lowest index takes first and gives last."""
        self._loads: Sequence[int] = loads
        self._row: list[int] = sorted(subscribers, key=loads.__getitem__)
        self._low_level: int = loads[self._row[0]] - 1
        self._takers_end: int = 0
        self._next_taker: int = 0
        self._high_level: int = loads[self._row[-1]] + 1
        self._givers_start: int = len(self._row)
        self._givers_end: int = len(self._row)
        self._next_giver: int = len(self._row) - 1

    def balanced(self) -> bool:
        return self._high_level - self._low_level <= 1

    def taker(self) -> int:
        """Returns the member that gets the next partition."""
        row, loads = self._row, self._loads
        if self._next_taker >= self._takers_end:
            self._low_level += 1
            while self._takers_end < len(row) and loads[row[self._takers_end]] == self._low_level:
                self._takers_end += 1
            self._next_taker = 0
        member = row[self._next_taker]
        self._next_taker += 1
        return member

    def giver(self) -> int | None:
        """Returns the member that gives up the next partition, or None if no member is left."""
        row, loads = self._row, self._loads
        if self._next_giver < self._givers_start:
            if self._givers_end <= self._givers_start and self._givers_start > 0:
                # All members of the range were excluded: continue with the next of the row, at any level
                # below.
                self._high_level = loads[row[self._givers_start - 1]]
            else:
                self._high_level -= 1
            while self._givers_start > 0 and loads[row[self._givers_start - 1]] == self._high_level:
                self._givers_start -= 1
            self._next_giver = self._givers_end - 1
        if self._next_giver < 0:
            return None
        member = row[self._next_giver]
        self._next_giver -= 1
        return member

    def exclude_giver(self) -> None:
        """The last `giver` has no partition of this topic: it leaves the range."""
        row = self._row
        index, last = self._next_giver + 1, self._givers_end - 1
        row[index], row[last] = row[last], row[index]
        self._givers_end = last
