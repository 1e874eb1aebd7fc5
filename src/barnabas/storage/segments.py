"""The segments of a log in the order of their offsets. The last one is active, the others are sealed."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator

from barnabas.storage.segment import Segment


class Segments:
    def __init__(self) -> None:
        self._bases: list[int] = []
        self._segments: list[Segment] = []

    def __len__(self) -> int:
        return len(self._segments)

    def __iter__(self) -> Iterator[Segment]:
        return iter(list(self._segments))

    @property
    def first(self) -> Segment:
        return self._segments[0]

    @property
    def active(self) -> Segment:
        return self._segments[-1]

    @property
    def base_offsets(self) -> list[int]:
        return list(self._bases)

    @property
    def size(self) -> int:
        return sum(segment.size for segment in self._segments)

    def add(self, segment: Segment) -> None:
        """Insert a segment, replacing one with the same base offset."""
        slot = bisect_left(self._bases, segment.base_offset)
        if slot < len(self._bases) and self._bases[slot] == segment.base_offset:
            self._segments[slot] = segment
        else:
            self._bases.insert(slot, segment.base_offset)
            self._segments.insert(slot, segment)

    def remove(self, segment: Segment) -> None:
        slot = bisect_left(self._bases, segment.base_offset)
        del self._bases[slot]
        del self._segments[slot]

    def floor(self, offset: int) -> Segment | None:
        """The segment that would hold `offset`: the last that starts at or before it."""
        slot = bisect_right(self._bases, offset)
        return self._segments[slot - 1] if slot else None

    def after(self, segment: Segment) -> Segment | None:
        slot = bisect_right(self._bases, segment.base_offset)
        return self._segments[slot] if slot < len(self._segments) else None

    def before(self, segment: Segment) -> Segment | None:
        slot = bisect_left(self._bases, segment.base_offset)
        return self._segments[slot - 1] if slot else None

    def from_offset(self, offset: int) -> list[Segment]:
        """The segment that holds `offset` and all later ones."""
        slot = max(0, bisect_right(self._bases, offset) - 1)
        return self._segments[slot:]
