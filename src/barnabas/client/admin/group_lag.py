"""How far a group is behind: its committed offsets, the ends of the partitions, and who reads which.

A partition that has no end to be found (it is gone, or has no leader) has a lag of None, as has one without
a committed offset.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from barnabas.client.admin.group_description import GroupDescription, Member
from barnabas.client.admin.group_offsets import CommittedOffset, committed_offsets
from barnabas.client.admin.leaders import TopicPartition
from barnabas.client.admin.offsets import LATEST, ListedOffset, list_offsets
from barnabas.client.cluster import Cluster


@dataclass(frozen=True, slots=True)
class PartitionLag:
    topic: str
    partition: int
    committed: CommittedOffset | None
    end: int | None
    member: Member | None
    """Who has the partition; None where nobody does."""

    @property
    def current(self) -> int | None:
        return None if self.committed is None else self.committed.offset

    @property
    def lag(self) -> int | None:
        if self.committed is None or self.end is None:
            return None
        return self.end - self.committed.offset


def lag_of(cluster: Cluster, group: GroupDescription) -> list[PartitionLag]:
    """Every partition that is assigned or has a committed offset."""
    committed = committed_offsets(cluster, group.id)
    assigned = {place for member in group.members for place in member.assignment}
    return joined(group.members, committed, ends_of(cluster, assigned | committed.keys()))


def ends_of(cluster: Cluster, partitions: set[TopicPartition]) -> dict[TopicPartition, int]:
    """The ends that can be found."""
    if not partitions:
        return {}
    found = list_offsets(cluster, dict.fromkeys(sorted(partitions), LATEST))
    return {place: each.offset for place, each in found.items() if isinstance(each, ListedOffset)}


def joined(
    members: Sequence[Member],
    committed: Mapping[TopicPartition, CommittedOffset],
    ends: Mapping[TopicPartition, int],
) -> list[PartitionLag]:
    """Members with most partitions first, then partitions that nobody has; each part by topic and number."""
    rows = []
    taken = set()
    for member in sorted(members, key=lambda each: -len(each.assignment)):
        for place in sorted(member.assignment):
            taken.add(place)
            rows.append(PartitionLag(*place, committed.get(place), ends.get(place), member))
    nobodys = sorted(committed.keys() - taken)
    return rows + [PartitionLag(*place, committed[place], ends.get(place), None) for place in nobodys]


def total_lag(rows: Sequence[PartitionLag]) -> int | None:
    """The sum of what is known; None where nothing is."""
    known = [row.lag for row in rows if row.lag is not None]
    return sum(known) if known else None
