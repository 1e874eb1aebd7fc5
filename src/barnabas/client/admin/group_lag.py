"""The lag of a group: its committed offsets, the end offsets, and the assigned members.

The lag is None if the end offset is unknown (the partition was deleted, or has no leader) or if there is no
committed offset.
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
    """The member that the partition is assigned to. None if it is unassigned."""

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
    assigned = {topic_partition for member in group.members for topic_partition in member.assignment}
    return joined(group.members, committed, ends_of(cluster, assigned | committed.keys()))


def ends_of(cluster: Cluster, partitions: set[TopicPartition]) -> dict[TopicPartition, int]:
    """The end offsets that are known."""
    if not partitions:
        return {}
    found = list_offsets(cluster, dict.fromkeys(sorted(partitions), LATEST))
    return {
        topic_partition: each.offset
        for topic_partition, each in found.items()
        if isinstance(each, ListedOffset)
    }


def joined(
    members: Sequence[Member],
    committed: Mapping[TopicPartition, CommittedOffset],
    ends: Mapping[TopicPartition, int],
) -> list[PartitionLag]:
    """Members with most partitions first, then unassigned partitions. Each part is sorted by partition."""
    rows = []
    taken = set()
    for member in sorted(members, key=lambda each: -len(each.assignment)):
        for topic_partition in sorted(member.assignment):
            taken.add(topic_partition)
            rows.append(
                PartitionLag(
                    *topic_partition, committed.get(topic_partition), ends.get(topic_partition), member
                )
            )
    unassigned = sorted(committed.keys() - taken)
    return rows + [
        PartitionLag(*topic_partition, committed[topic_partition], ends.get(topic_partition), None)
        for topic_partition in unassigned
    ]


def total_lag(rows: Sequence[PartitionLag]) -> int | None:
    """The sum of the known lags. None if no lag is known."""
    known = [row.lag for row in rows if row.lag is not None]
    return sum(known) if known else None
