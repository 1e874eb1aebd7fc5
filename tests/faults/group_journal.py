"""What the journals of a group's members must say together, whatever happened to members and broker."""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Commit:
    """Acknowledged, somewhen between these times."""

    partition: int
    offset: int
    begun: float
    ended: float


class GroupJournal:
    def __init__(self, journals: Iterable[Path]) -> None:
        self._lines: list[tuple[str, dict[str, Any]]] = [
            (path.name, json.loads(line))
            for path in journals
            if path.exists()
            for line in path.read_text().splitlines()
        ]

    @property
    def commits(self) -> list[Commit]:
        return [
            Commit(int(partition), offset, line["begun"], line["at"])
            for _, line in self._lines
            if line["happening"] == "committed"
            for partition, offset in line["offsets"].items()
        ]

    def count(self, happening: str) -> int:
        return sum(line["happening"] == happening for _, line in self._lines)

    def assert_all_delivered(self, ends: Mapping[int, int]) -> None:
        """Every record of every partition, at least once."""
        delivered: defaultdict[int, set[int]] = defaultdict(set)
        for _, line in self._lines:
            if line["happening"] == "got":
                for partition, (first, last) in line["offsets"].items():
                    delivered[int(partition)].update(range(first, last + 1))
        for partition, end in ends.items():
            missing = set(range(end)) - delivered[partition]
            assert not missing, f"partition {partition} of {end}: {len(missing)} records are missing"

    def assert_no_partition_is_owned_twice(self) -> None:
        """In one generation, or epoch, by two members."""
        owners: defaultdict[tuple[int, int], set[str]] = defaultdict(set)
        for _, line in self._lines:
            if line["happening"] == "assigned":
                for partition in line["partitions"]:
                    owners[line["generation"], partition].add(line["member"])
        twice = {partition: found for partition, found in owners.items() if len(found) > 1}
        assert not twice, f"owned by several in one generation: {twice}"

    def assert_commits_never_go_back(self) -> None:
        """A commit that began when another had ended is not behind it."""
        for commits in _by_partition(self.commits).values():
            furthest = sorted(commits, key=lambda each: each.ended)
            position, highest = 0, 0
            for commit in sorted(commits, key=lambda each: each.begun):
                while position < len(furthest) and furthest[position].ended < commit.begun:
                    highest = max(highest, furthest[position].offset)
                    position += 1
                assert commit.offset >= highest, f"{commit} after one of {highest}"


def _by_partition(commits: Iterable[Commit]) -> dict[int, list[Commit]]:
    found: defaultdict[int, list[Commit]] = defaultdict(list)
    for commit in commits:
        found[commit.partition].append(commit)
    return found
