"""Groups at the target: where a consumer that moves there goes on.

A group's offset at the target is the translation of the one at the source. It is set only while the group
has no members there, and never set back: once consumers have moved, the target's own offsets count.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from barnabas.client.admin.group_offsets import commit_offsets, committed_offsets
from barnabas.client.admin.groups import list_groups
from barnabas.client.cluster import Cluster
from barnabas.client.errors import BrokerError
from barnabas.pipelines.mirror.offset_map import OffsetMap, TopicPartition

_WITHOUT_MEMBERS = {"Empty", "Dead", "Unknown"}
_OF_SPARK = ("spark-kafka-source-", "spark-sink-")
"""Groups that only show the progress of a query: it has its own checkpoint."""


@dataclass(frozen=True, slots=True)
class GroupRule:
    pattern: str
    prefix: str
    """Of the target's topics."""

    def covers(self, group: str) -> bool:
        return not group.startswith(_OF_SPARK) and re.fullmatch(self.pattern, group) is not None


def translate_groups(source: Cluster, target: Cluster, offsets: OffsetMap, rule: GroupRule) -> dict[str, int]:
    """Commit what is known at the target. Returns how many partitions of which group moved."""
    at_target = {group.id: group.state for group in list_groups(target)}
    moved = {}
    for group in list_groups(source):
        if not group.is_of_consumers or not rule.covers(group.id):
            continue
        if at_target.get(group.id, "Empty") not in _WITHOUT_MEMBERS:
            continue
        wanted = _translated(source, group.id, offsets, rule.prefix)
        known = (
            {
                topic_partition: each.offset
                for topic_partition, each in committed_offsets(target, group.id).items()
            }
            if wanted
            else {}
        )
        ahead = forward(wanted, known)
        if ahead and _commit(target, group.id, ahead):
            moved[group.id] = len(ahead)
    return moved


def forward(
    wanted: Mapping[TopicPartition, int], known: Mapping[TopicPartition, int]
) -> dict[TopicPartition, int]:
    """Those that are beyond what is there."""
    return {
        topic_partition: offset
        for topic_partition, offset in wanted.items()
        if offset > known.get(topic_partition, -1)
    }


def _translated(source: Cluster, group: str, offsets: OffsetMap, prefix: str) -> dict[TopicPartition, int]:
    found = {}
    for (topic, partition), committed in committed_offsets(source, group).items():
        offset = offsets.translate((topic, partition), committed.offset)
        if offset is not None:
            found[f"{prefix}{topic}", partition] = offset
    return found


def _commit(target: Cluster, group: str, offsets: Mapping[TopicPartition, int]) -> bool:
    try:
        commit_offsets(target, group, offsets, metadata="mirrored")
    except BrokerError as error:
        # A member has joined since the group was looked at: its own offsets count from now on.
        if error.name in ("unknown_member_id", "illegal_generation", "rebalance_in_progress"):
            return False
        raise
    return True
