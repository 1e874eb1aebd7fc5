"""Which offset at the target belongs to an offset at the source. Numbers only, no I/O.

Offsets of a mirror differ from the original's: the source may have gaps (compaction, aborted transactions),
and each batch leaves a commit marker at the target. So every batch leaves a `Stretch` per partition: which
source offsets it has, as runs without gaps, and where its records lie at the target, without gaps always.
"""

import json
from bisect import bisect_right, insort
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

TopicPartition = tuple[str, int]
MOST_RUNS = 1000
"""Of a stretch. What is torn into more pieces is kept coarser: a translated offset may then lie before the
right one, never behind it."""


class OffsetRun(NamedTuple):
    start: int
    length: int


@dataclass(frozen=True, slots=True, order=True)
class Stretch:
    source_first: int
    source_next: int
    """After the last record."""
    target_first: int
    target_end: int
    """After the last record and the marker behind it: where a reader that has read all of it stands."""
    runs: tuple[OffsetRun, ...]

    def translate(self, offset: int) -> int:
        """Of an offset that is not before the stretch."""
        if offset >= self.source_next:
            return self.target_end
        before = 0
        for run in self.runs:
            if offset <= run.start:
                break
            before += min(run.length, offset - run.start)
        return self.target_first + before


class OffsetMap:
    """The stretches of all partitions, as far as they are remembered."""

    def __init__(self) -> None:
        self._stretches: dict[TopicPartition, list[Stretch]] = {}

    def add(self, topic_partition: TopicPartition, stretch: Stretch) -> None:
        known = self._stretches.setdefault(topic_partition, [])
        if stretch not in known[-1:]:
            insort(known, stretch)

    def translate(self, topic_partition: TopicPartition, offset: int) -> int | None:
        """The target's offset of the first record that is not before the source's `offset`.

        Returns None if it is unknown: the partition is not mirrored, or its stretch has expired.
        Beyond what is mirrored it is the end of what is mirrored.
        """
        known = self._stretches.get(topic_partition, [])
        index = bisect_right(known, offset, key=lambda stretch: stretch.source_first) - 1
        if index < 0:
            return None
        stretch = known[index]
        if offset >= stretch.source_next and index + 1 < len(known):
            return known[index + 1].target_first
        return stretch.translate(offset)

    @property
    def topic_partitions(self) -> set[TopicPartition]:
        return set(self._stretches)


def thinned(runs: Sequence[OffsetRun]) -> tuple[OffsetRun, ...]:
    """No more than MOST_RUNS; neighbours are put together as if the gap lay behind both of them."""
    if len(runs) <= MOST_RUNS:
        return tuple(runs)
    size = -(-len(runs) // MOST_RUNS)
    groups = (runs[number : number + size] for number in range(0, len(runs), size))
    return tuple(_joined(group) for group in groups)


def _joined(runs: Sequence[OffsetRun]) -> OffsetRun:
    """Starts so late that no offset in it is translated too far."""
    count = sum(run.length for run in runs)
    last = runs[-1]
    return OffsetRun(last.start + last.length - count, count)


def to_json(topic_partition: TopicPartition, stretch: Stretch) -> str:
    return json.dumps(
        {
            "topic": topic_partition[0],
            "partition": topic_partition[1],
            "source": [stretch.source_first, stretch.source_next],
            "target": [stretch.target_first, stretch.target_end],
            "runs": stretch.runs,
        },
        separators=(",", ":"),
    )


def of_json(text: str | bytes) -> tuple[TopicPartition, Stretch]:
    raw = json.loads(text)
    runs = tuple(OffsetRun(*run) for run in raw["runs"])
    first, following = raw["source"]
    target_first, target_end = raw["target"]
    return (raw["topic"], raw["partition"]), Stretch(first, following, target_first, target_end, runs)
